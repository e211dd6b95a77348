// SPDX-License-Identifier: Apache-2.0
// Descriptions of single operators as `atc --singleop` takes them: a JSON list.
#ifndef MILLPOND_SRC_GRAPH_IO_SINGLE_OP_JSON_H_
#define MILLPOND_SRC_GRAPH_IO_SINGLE_OP_JSON_H_

#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/graph/io/om.h"

namespace millpond::io {

struct DescribedOp {
  OmSingleOp op;
  // From the description, or "0_Add_3_2_3_3_3_2_3_3_3_2_3_3": number, type, then type, format and shape of each
  // operand.
  std::string name;
};

// Errors name the operator by its place in the list, the operand and the member.
Status ReadSingleOps(std::string_view text, std::vector<DescribedOp>* out);

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_SINGLE_OP_JSON_H_
