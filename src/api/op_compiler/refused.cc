// SPDX-License-Identifier: Apache-2.0
// libacl_op_compiler.so: what only a compiler for the NPU can do. The options are in options.cc.

#include "include/acl/acl_op_compiler.h"
#include "src/api/acl/refuse.h"

namespace {

constexpr char kNoCompile[] =
    "operators cannot be compiled in this release; use PyTorch with an operator that has an aclnn form, or the aclnn "
    "operators";
constexpr char kNoGraph[] =
    "an operator is one kernel here and has no graph to write; run with a trace instead (millpond run --trace FILE)";

}  // namespace

// Compile and run.
MP_REFUSE(aclError, aclopCompile,
          (const char*, int, const aclTensorDesc* const[], int, const aclTensorDesc* const[], const aclopAttr*,
           aclopEngineType, aclopCompileType, const char*),
          kNoCompile)
MP_REFUSE(aclError, aclopCompileAndExecute,
          (const char*, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
           const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclopEngineType, aclopCompileType,
           const char*, aclrtStream),
          kNoCompile)
MP_REFUSE(aclError, aclopCompileAndExecuteV2,
          (const char*, int, aclTensorDesc*[], aclDataBuffer*[], int, aclTensorDesc*[], aclDataBuffer*[], aclopAttr*,
           aclopEngineType, aclopCompileType, const char*, aclrtStream),
          kNoCompile)

// Graph dumps.
MP_REFUSE(aclGraphDumpOption*, aclCreateGraphDumpOpt, (), kNoGraph)
MP_REFUSE(aclError, aclGenGraphAndDumpForOp,
          (const char*, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
           const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclopEngineType, const char*,
           const aclGraphDumpOption*),
          kNoGraph)
MP_REFUSE(aclError, aclDestroyGraphDumpOpt, (const aclGraphDumpOption*), kNoGraph)
