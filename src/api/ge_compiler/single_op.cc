// SPDX-License-Identifier: Apache-2.0
// Single operators: graphs of one, and files for aclopSetModelDir.
#include "src/exec/model/single_op.h"

#include <string>
#include <utility>

#include "include/ge/ge_ir_build.h"
#include "include/millpond/atc.h"
#include "src/api/ge_compiler/entry.h"
#include "src/exec/model/build.h"
#include "src/graph/io/files.h"
#include "src/graph/io/single_op_json.h"

namespace ge {

using millpond::Ok;
using millpond::compiler::Answer;

namespace {

millpond::Status ReadOps(const char* path, std::vector<millpond::io::DescribedOp>* out) {
  MP_REQUIRE(path != nullptr && *path != '\0', "the description file's name is missing");
  millpond::io::FileBytes file;
  MP_RETURN_IF_ERROR(millpond::io::ReadFile(path, &file));
  return millpond::io::ReadSingleOps({reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()}, out)
      .Prefixed(std::string("\"") + path + "\"");
}

}  // namespace

graphStatus aclgrphGenerateForOp(const AscendString& op_type, const std::vector<TensorDesc>& inputs,
                                 const std::vector<TensorDesc>& outputs, Graph& graph) {
  return Answer("aclgrphGenerateForOp", [&]() -> millpond::Status {
    millpond::io::OmSingleOp op;
    op.type = millpond::api::TextOf(op_type);
    for (const TensorDesc& desc : inputs) op.inputs.push_back(millpond::api::DescOf(desc));
    for (const TensorDesc& desc : outputs) op.outputs.push_back(millpond::api::DescOf(desc));
    millpond::ir::GraphPtr made;
    MP_RETURN_IF_ERROR(millpond::GraphOfOne(op, &made));
    graph = millpond::api::Wrap(made);
    return Ok();
  });
}

graphStatus aclgrphGenerateForOp(const AscendString& json_path, std::vector<Graph>& graphs) {
  return Answer("aclgrphGenerateForOp", [&]() -> millpond::Status {
    std::vector<millpond::io::DescribedOp> ops;
    MP_RETURN_IF_ERROR(ReadOps(json_path.GetString(), &ops));
    std::vector<Graph> made;
    for (const millpond::io::DescribedOp& described : ops) {
      millpond::ir::GraphPtr one;
      MP_RETURN_IF_ERROR(millpond::GraphOfOne(described.op, &one));
      made.push_back(millpond::api::Wrap(one));
    }
    graphs.insert(graphs.end(), made.begin(), made.end());
    return Ok();
  });
}

}  // namespace ge

extern "C" uint32_t millpondBuildSingleOps(const char* json_file, const char* folder, size_t* count) {
  return ge::Answer("atc --singleop", [&]() -> millpond::Status {
    std::vector<millpond::io::DescribedOp> ops;
    MP_RETURN_IF_ERROR(ge::ReadOps(json_file, &ops));
    const std::string where = folder == nullptr || *folder == '\0' ? "." : folder;
    for (const millpond::io::DescribedOp& described : ops) {
      MP_RETURN_IF_ERROR(millpond::CheckSingleOp(described.op).Prefixed(described.name));
    }
    for (const millpond::io::DescribedOp& described : ops) {
      std::string file;
      MP_RETURN_IF_ERROR(millpond::io::WriteOm(described.op, &file));
      MP_RETURN_IF_ERROR(
          millpond::io::WriteFile(where + "/" + described.name + ".om", file, millpond::files::Survives::kPowerLoss));
    }
    if (count != nullptr) *count = ops.size();
    return millpond::Ok();
  });
}
