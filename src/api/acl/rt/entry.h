// SPDX-License-Identifier: Apache-2.0
// How most of the runtime's entry points begin: what the handle or the calling thread stands for is found, then acted
// on or asked one question.
#ifndef MILLPOND_SRC_API_ACL_RT_ENTRY_H_
#define MILLPOND_SRC_API_ACL_RT_ENTRY_H_

#include "include/acl/acl_base_rt.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/status.h"
#include "src/device/runtime.h"
#include "src/device/stream/stream.h"

namespace millpond::acl {

// `act` on what `find` finds: RequireContext or RequireDevice, or a handle's lookup.
template <class Object, class Find, class Act>
aclError On(const char* api, Find&& find, Act&& act) {
  return Guard(api, [&]() -> Status {
    Object* found = nullptr;
    MP_RETURN_IF_ERROR(find(&found));
    return act(found);
  });
}

// The same where `argument` must be given; it is looked at first.
template <class Object, class Argument, class Find, class Act>
aclError OnGiven(const char* api, const char* parameter, Argument argument, Find&& find, Act&& act) {
  return Guard(api, [&]() -> Status {
    MP_RETURN_IF_ERROR(CheckGiven(parameter, argument));
    Object* found = nullptr;
    MP_RETURN_IF_ERROR(find(&found));
    return act(found);
  });
}

// One fact about what `find` finds.
template <class Object, class Fact, class Find, class Read>
aclError TellFact(const char* api, const char* parameter, Fact* out_fact, Find&& find, Read&& read) {
  return OnGiven<Object>(api, parameter, out_fact, find, [&](Object* found) {
    *out_fact = read(*found);
    return Ok();
  });
}

// The stream of the handle; null is the current context's default stream.
template <class Act>
aclError OnStream(const char* api, aclrtStream stream, Act&& act) {
  return On<Stream>(
      api, [&](Stream** out_stream) { return ResolveStream(stream, out_stream); }, act);
}
template <class Argument, class Act>
aclError OnStream(const char* api, aclrtStream stream, const char* parameter, Argument argument, Act&& act) {
  return OnGiven<Stream>(
      api, parameter, argument, [&](Stream** out_stream) { return ResolveStream(stream, out_stream); }, act);
}

// A visible device.
template <class Argument, class Act>
aclError OnDevice(const char* api, int64_t id, const char* parameter, Argument argument, Act&& act) {
  return OnGiven<Device>(
      api, parameter, argument, [&](Device** out_device) { return FindDevice(id, out_device); }, act);
}

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_ACL_RT_ENTRY_H_
