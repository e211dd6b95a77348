// SPDX-License-Identifier: Apache-2.0
// Options of the operator compiler: kept for the process and told again, as documented. They choose among NPU
// implementations of an operator; here there is one, ATen's, so none changes a result.

#include <cstring>
#include <optional>
#include <string>

#include "include/acl/acl_op_compiler.h"
#include "include/acl/acl_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/api/common/soc.h"
#include "src/base/cann_options.h"
#include "src/exec/op/compile_options.h"

namespace {

using namespace millpond;       // NOLINT: a shim is a page of delegation
using namespace millpond::acl;  // NOLINT

constexpr int kOptions = ACL_OP_DEBUG_OPTION + 1;
// What the reference asks room for, whatever the value; clients put it on their stack.
constexpr size_t kJitRoom = 256;

// The product's own default: the older series compile, the newer have operators ready.
const char* JitDefault() {
  const char* soc = aclrtGetSocName();
  switch (millpond::acl::SeriesOf(soc != nullptr ? soc : "")) {
    case Series::kA2:
    case Series::kA3:
    case Series::k950:
      return "disable";
    case Series::k310P:
    case Series::kOther:
      return "enable";
  }
  return "enable";
}

// The documented default; nothing where the documents name none.
std::optional<std::string> Default(aclCompileOpt option) {
  switch (option) {
    case ACL_PRECISION_MODE:
      return "allow_fp32_to_fp16";
    case ACL_OP_SELECT_IMPL_MODE:
      return "high_precision";
    case ACL_OP_DEBUG_LEVEL:
    case ACL_OP_DETERMINISTIC:
      return "0";
    case ACL_OP_COMPILER_CACHE_MODE:
      return "disable";
    case ACL_OP_PERFORMANCE_MODE:
      return "normal";
    case ACL_OP_JIT_COMPILE:
      return JitDefault();
    case ACL_PRECISION_MODE_V2:
      return "fp16";
    case ACL_AICORE_NUM:
    case ACL_AUTO_TUNE_MODE:
    case ACL_OPTYPELIST_FOR_IMPLMODE:
    case ACL_DEBUG_DIR:
    case ACL_OP_COMPILER_CACHE_DIR:
    case ACL_CUSTOMIZE_DTYPES:
    case ACL_OP_PRECISION_MODE:
    case ACL_ALLOW_HF32:
    case ACL_OP_DEBUG_OPTION:
      return std::nullopt;
  }
  return std::nullopt;
}

// What was set, or the default.
std::optional<std::string> Find(aclCompileOpt option) {
  std::optional<std::string> value = CompileOptions::Get().Find(option);
  return value.has_value() ? value : Default(option);
}

bool Known(aclCompileOpt option) { return option >= 0 && static_cast<int>(option) < kOptions; }

}  // namespace

extern "C" aclError aclSetCompileopt(aclCompileOpt opt, const char* value) {
  return Guard("aclSetCompileopt", [&]() -> Outcome {
    MP_NOT_NULL(value);
    if (opt == ACL_AUTO_TUNE_MODE) {
      return {ACL_ERROR_FEATURE_UNSUPPORTED,
              Unsupported("ACL_AUTO_TUNE_MODE is no longer a part of CANN; leave the option out")};
    }
    MP_CHECK(Known(opt), kInternal, "option %d is not one of aclCompileOpt (0 to %d)", static_cast<int>(opt),
             kOptions - 1);
    const std::string text = value;
    if (opt == ACL_OP_JIT_COMPILE && text != "enable" && text != "disable") {
      return InvalidValue("value", text, "ACL_OP_JIT_COMPILE is enable or disable");
    }
    MP_RETURN_IF_ERROR(cann::Accept(cann::Options(cann::Door::kCompile)[static_cast<size_t>(opt)], text));
    CompileOptions::Get().Set(opt, text);
    return Ok();
  });
}

extern "C" size_t aclGetCompileoptSize(aclCompileOpt opt) {
  size_t size = 0;
  static_cast<void>(Guard("aclGetCompileoptSize", [&]() -> Status {
    if (!Known(opt)) return InvalidValue("opt", std::to_string(opt), "it is not one of aclCompileOpt");
    if (opt == ACL_OP_JIT_COMPILE) {
      size = kJitRoom;
    } else if (const auto value = Find(opt); value.has_value() && !value->empty()) {
      size = value->size() + 1;
    }
    return Ok();
  }));
  return size;
}

extern "C" aclError aclGetCompileopt(aclCompileOpt opt, char* value, size_t length) {
  return Guard("aclGetCompileopt", [&]() -> Outcome {
    MP_NOT_NULL(value);
    const std::optional<std::string> found = Known(opt) ? Find(opt) : std::nullopt;
    if (!found.has_value()) {
      return {
          ACL_ERROR_API_NOT_SUPPORT,
          Unsupported(Format("option %d has no value: it was not set and has no default; set it with aclSetCompileopt",
                             static_cast<int>(opt)))};
    }
    MP_CHECK(length > found->size(), kInternal,
             "the value of option %d needs %zu bytes and length is %zu; ask aclGetCompileoptSize",
             static_cast<int>(opt), found->size() + 1, length);
    std::memcpy(value, found->c_str(), found->size() + 1);
    return Ok();
  });
}

extern "C" aclError aclopSetCompileFlag(aclOpCompileFlag flag) {
  return Guard("aclopSetCompileFlag", [&]() -> Status {
    if (flag == ACL_OP_COMPILE_DEFAULT || flag == ACL_OP_COMPILE_FUZZ) return Ok();
    return InvalidValue("flag", std::to_string(flag), "it must be ACL_OP_COMPILE_DEFAULT or ACL_OP_COMPILE_FUZZ");
  });
}
