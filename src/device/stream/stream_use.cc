// SPDX-License-Identifier: Apache-2.0
#include "src/device/stream/stream_use.h"

#include "src/base/long_wait.h"
#include "src/base/mutex.h"
#include "src/device/stream/stream.h"

namespace millpond {

// All uses there are, linked through themselves: few at a time, and nothing is allocated for one.
struct StreamUses {
  static StreamUses& Get() {
    static auto& uses = *new StreamUses;  // leaked: streams are destroyed from static destructors too
    return uses;
  }
  void Add(StreamUse* use) {
    MutexLock lock(mutex);
    use->after_ = first;
    if (first != nullptr) first->before_ = use;
    first = use;
  }
  void Remove(StreamUse* use) {
    MutexLock lock(mutex);
    (use->before_ != nullptr ? use->before_->after_ : first) = use->after_;
    if (use->after_ != nullptr) use->after_->before_ = use->before_;
  }
  template <class Hit>
  Status Check(const char* end, Hit hit) {
    MutexLock lock(mutex);
    const StreamUse* use = first;
    while (use != nullptr && !hit(*use->stream_)) use = use->after_;
    MP_CHECK(use == nullptr, kRuntimeArgument,
             "stream %d cannot be %s now: %s is using it on %s, in a call that has not returned; a callback must leave "
             "the stream, context and device of the call that it serves alone: do it after that call",
             use->stream_->id(), end, use->who_,
             use->thread_ == SystemThreadId() ? "this very thread" : Format("thread %d", use->thread_).c_str());
    return Ok();
  }

  Mutex mutex;
  StreamUse* first GUARDED_BY(mutex) = nullptr;
};

StreamUse::StreamUse(const Stream* stream, const char* who) : stream_(stream), who_(who), thread_(SystemThreadId()) {
  if (stream_ != nullptr) StreamUses::Get().Add(this);
}

StreamUse::~StreamUse() {
  if (stream_ != nullptr) StreamUses::Get().Remove(this);
}

Status CheckStreamUnused(const Stream* stream, const char* end) {
  return StreamUses::Get().Check(end, [stream](const Stream& used) { return &used == stream; });
}

Status CheckContextUnused(const Context* context, const char* end) {
  return StreamUses::Get().Check(end, [context](const Stream& used) { return used.context() == context; });
}

}  // namespace millpond
