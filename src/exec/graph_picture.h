// SPDX-License-Identifier: Apache-2.0
// Pages about compiled programs (src/graph/picture), for MILLPOND_GRAPH_PICTURE. A page that cannot be written is
// logged: it is no reason not to run.
#ifndef MILLPOND_SRC_EXEC_GRAPH_PICTURE_H_
#define MILLPOND_SRC_EXEC_GRAPH_PICTURE_H_

#include "src/exec/graph_compiled.h"
#include "src/exec/graph_place.h"
#include "src/graph/picture/page.h"

namespace millpond::program {

picture::Page PageOfStatic(const Compiled& compiled, const Plan& plan, const FeaturePlan& feature);
// What is known without a run: nodes in their order, what was fused, constants.
picture::Page PageOfDynamic(const Compiled& compiled);

// pre: options.picture is set.
void DrawStatic(const Compiled& compiled, const Plan& plan, const FeaturePlan& feature, const ProgramOptions& options);
void DrawDynamic(const Compiled& compiled, const ProgramOptions& options);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_GRAPH_PICTURE_H_
