// SPDX-License-Identifier: Apache-2.0
// Pages about compiled programs (src/report), for MILLPOND_GRAPH_REPORT. A page that cannot be written is
// logged: it is no reason not to run.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_REPORT_H_
#define MILLPOND_SRC_EXEC_PROGRAM_REPORT_H_

#include "src/exec/program/compiled.h"
#include "src/exec/program/place.h"
#include "src/report/page.h"

namespace millpond::program {

report::Page PageOfStatic(const Compiled& compiled, const Plan& plan, const FeaturePlan& feature);
// What is known without a run: nodes in their order, what was fused, constants.
report::Page PageOfDynamic(const Compiled& compiled);

// pre: options.report is set.
void DrawStatic(const Compiled& compiled, const Plan& plan, const FeaturePlan& feature, const CompileOptions& options);
void DrawDynamic(const Compiled& compiled, const CompileOptions& options);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_REPORT_H_
