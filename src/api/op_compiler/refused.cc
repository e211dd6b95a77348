// SPDX-License-Identifier: Apache-2.0
// libacl_op_compiler.so: operators compiled on the way.

#include "include/acl/acl_op_compiler.h"
#include "src/api/acl/refuse.h"

namespace {

constexpr char kNoCompile[] =
    "operators cannot be compiled in this release; use PyTorch with an operator that has an aclnn form, or the aclnn "
    "operators";
constexpr char kNoOptions[] = "there is no operator compiler to configure in this release";

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

// Options and graph dumps.
MP_REFUSE(aclError, aclGetCompileopt, (aclCompileOpt, char*, size_t), kNoOptions)
MP_REFUSE(aclError, aclSetCompileopt, (aclCompileOpt, const char*), kNoOptions)
MP_REFUSE(size_t, aclGetCompileoptSize, (aclCompileOpt), kNoOptions)
MP_REFUSE(aclError, aclopSetCompileFlag, (aclOpCompileFlag), kNoOptions)
MP_REFUSE(aclGraphDumpOption*, aclCreateGraphDumpOpt, (), kNoOptions)
MP_REFUSE(aclError, aclGenGraphAndDumpForOp,
          (const char*, int, const aclTensorDesc* const[], const aclDataBuffer* const[], int,
           const aclTensorDesc* const[], aclDataBuffer* const[], const aclopAttr*, aclopEngineType, const char*,
           const aclGraphDumpOption*),
          kNoOptions)
MP_REFUSE(aclError, aclDestroyGraphDumpOpt, (const aclGraphDumpOption*), kNoOptions)
