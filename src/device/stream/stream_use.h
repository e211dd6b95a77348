// SPDX-License-Identifier: Apache-2.0
// Streams in the middle of a call that runs client code. A run finds its stream, asks the client's allocator, and then
// launches: a callback that destroys that very stream, its context or its device in between would leave the run nothing
// to launch on. So such an end is refused while the call lasts, whichever thread asks for it.
#ifndef MILLPOND_SRC_DEVICE_STREAM_STREAM_USE_H_
#define MILLPOND_SRC_DEVICE_STREAM_STREAM_USE_H_

#include <cstdint>

#include "src/base/status.h"

namespace millpond {

class Context;
class Stream;

class StreamUse {
 public:
  // `who` is for the refusal, and lives as long as this: "graph 3". Null stream: nothing.
  StreamUse(const Stream* stream, const char* who);
  ~StreamUse();
  StreamUse(const StreamUse&) = delete;
  StreamUse& operator=(const StreamUse&) = delete;

 private:
  friend struct StreamUses;
  const Stream* const stream_;
  const char* const who_;
  const int32_t thread_;
  StreamUse* before_ = nullptr;
  StreamUse* after_ = nullptr;
};

// Refuse when a call uses the stream, or any of the context's. `end` is for the message: "destroyed".
Status CheckStreamUnused(const Stream* stream, const char* end);
Status CheckContextUnused(const Context* context, const char* end);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_STREAM_USE_H_
