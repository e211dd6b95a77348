// SPDX-License-Identifier: Apache-2.0
// What Guard needs, for the libraries beside libascendcl: messages and the last error are kept in one place, so a
// failure goes there through libascendcl's millpondReport.
#include "src/api/acl/guard.h"

#include <exception>
#include <new>

#include "src/api/acl/refuse.h"

namespace millpond::acl::internal {

aclError Report(const char* api, Status status) {
  return millpondReport(api, static_cast<int32_t>(status.code()), status.message().c_str());
}

aclError ReportCurrentException(const char* api) {
  const auto report = [api](Code code, const char* message) {
    return millpondReport(api, static_cast<int32_t>(code), message);
  };
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return report(Code::kHostOutOfMemory,
                  "the host is out of memory: an allocation of the library's own failed; free host memory or raise the "
                  "process's limit");
  } catch (const std::exception& error) {
    return report(Code::kInternal, error.what());
  } catch (...) {
    return report(Code::kInternal, "an exception that is no std::exception reached the API boundary");
  }
}

void EmitApi(const char* api, uint64_t start_ns, aclError result) {
  trace::Sink* sink = trace::Active();
  if (sink == nullptr) return;  // detached meanwhile
  sink->OnApi({api, trace::ThreadNumber(), start_ns, trace::NowNs(), result});
}

aclError ReportForked(const char* api) {
  return millpondReport(api, static_cast<int32_t>(Code::kForked),
                        "this process was forked from one that had already used the device; start the child with exec "
                        "(Python: the 'spawn' start method), or fork before the first acl call");
}

}  // namespace millpond::acl::internal
