// SPDX-License-Identifier: Apache-2.0
// Nodes of a recipe that no other node feeds: what they hold is told here, and judged.
#ifndef MILLPOND_SRC_EXEC_PROGRAM_RECIPE_SOURCES_H_
#define MILLPOND_SRC_EXEC_PROGRAM_RECIPE_SOURCES_H_

#include "src/base/status.h"
#include "src/exec/program/recipe.h"

namespace millpond::program {

// Const, Constant and FileConstant, whose bytes lie in a file.
Status MakeConstant(const ir::Node& node, Recipes* recipes, NodeInfo* info);
// ConstPlaceHolder: device memory of the client's, by its address.
Status MakeFixed(const ir::Node& node, NodeInfo* info);
// Variables of the same name are one.
Status MakeVariable(const ir::Node& node, Recipes* recipes, NodeInfo* info);

}  // namespace millpond::program

#endif  // MILLPOND_SRC_EXEC_PROGRAM_RECIPE_SOURCES_H_
