// SPDX-License-Identifier: Apache-2.0
// libacl_op_compiler.so: what only a compiler for the NPU can do. The options are in options.cc.

#include "include/acl/acl_op_compiler.h"
#include "src/api/common/refuse.h"

namespace {

constexpr char kNoGraph[] =
    "an operator is one kernel here and has no graph to write; run with a trace instead (millpond run --trace FILE)";

}  // namespace

// Graph dumps.
MP_REFUSE(aclGraphDumpOption*, aclCreateGraphDumpOpt, (), kNoGraph)
MP_REFUSE(aclError, aclGenGraphAndDumpForOp,
          (const char*, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
           const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclopEngineType, const char*,
           const aclGraphDumpOption*),
          kNoGraph)
MP_REFUSE(aclError, aclDestroyGraphDumpOpt, (const aclGraphDumpOption*), kNoGraph)
