// SPDX-License-Identifier: Apache-2.0
// The one map from our codes to aclnn's.
#include <exception>
#include <new>

#include "src/api/acl/refuse.h"
#include "src/api/aclnn/objects.h"

namespace millpond::aclnn {
namespace {

thread_local std::string t_last_failure;

aclnnStatus CodeOf(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kRuntimeArgument:
    case Code::kUnaligned:
      return kInvalidParameter;
    case Code::kUnsupported:
      return kNoKernel;
    case Code::kInternal:
      return kInnerError;
    default:
      return kRuntimeError;
  }
}

}  // namespace

const std::string& LastFailure() { return t_last_failure; }

aclnnStatus Fail(const std::string& api, aclnnStatus code, const std::string& message) {
  t_last_failure = message;
  const Code kind = code == kNullPointer || code == kInvalidParameter ? Code::kInvalidArgument : Code::kInternal;
  static_cast<void>(millpondReport(api.c_str(), static_cast<int32_t>(kind), message.c_str()));
  return code;
}

aclnnStatus Fail(const std::string& api, const Status& status) {
  t_last_failure = status.message();
  static_cast<void>(millpondReport(api.c_str(), static_cast<int32_t>(status.code()), status.message().c_str()));
  return CodeOf(status.code());
}

aclnnStatus FailCurrentException(const std::string& api) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Fail(api, kNoExecutor, "the host is out of memory");
  } catch (const std::exception& error) {
    return Fail(api, kInnerError, error.what());
  } catch (...) {
    return Fail(api, kInnerError, "an exception that is no std::exception reached the API boundary");
  }
}

}  // namespace millpond::aclnn
