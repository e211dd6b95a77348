// SPDX-License-Identifier: Apache-2.0
// What a parked operation looks at each time it finds that it must go on waiting for other ranks: have they ended, is
// the time over, is it time to say so. Used by one task at a time.
#ifndef MILLPOND_SRC_COMM_VIGIL_H_
#define MILLPOND_SRC_COMM_VIGIL_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "src/base/futex.h"
#include "src/base/status.h"
#include "src/comm/communicator.h"
#include "src/device/stream/stream.h"

namespace millpond::comm {

class Vigil {
 public:
  // The operation as messages name it, such as "HcclAllReduce".
  explicit Vigil(const char* what) : what_(what) {}
  ~Vigil() { WaitFor(nullptr, {}); }
  Vigil(const Vigil&) = delete;
  Vigil& operator=(const Vigil&) = delete;

  // Something happened: the time begins anew.
  void Progressed() {
    since_ = gone_since_ = Clock::time_point();
    if (waiter_ != nullptr) WaitFor(nullptr, {});
  }
  // Who is waited for; asked again before a rank is called gone, for it may have done its part before it went.
  using Awaited = std::function<std::vector<uint32_t>()>;
  // pre: `comm` is the same each time, and outlives this. OK: go on waiting. EI0002 when a rank that is waited for is
  // gone, or the time is over.
  Status Look(const Communicator& comm, const Awaited& awaited);

 private:
  // Whether what a rank has sent before it went may still be on its way.
  bool MayStillCome(const Communicator& comm, const std::vector<uint32_t>& ranks);
  Status Gone(const Communicator& comm, const std::vector<uint32_t>& ranks, const Awaited& awaited) const;
  std::string Report(const Communicator& comm, const std::vector<uint32_t>& ranks) const;
  // Lets the other ranks know: one that waits for this one can then say what for. Null: this one waits no more.
  void WaitFor(const Communicator* comm, const std::vector<uint32_t>& ranks);

  const char* const what_;
  Clock::time_point since_;  // the epoch: not waiting
  Clock::time_point look_at_;
  Clock::time_point gone_since_;  // the epoch: nobody who is waited for is gone
  bool told_ = false;
  const Communicator* waiter_ = nullptr;  // the communicator of which `waits_for_` was told
  std::vector<uint32_t> waits_for_;
};

// How a task that waits for other ranks is run: `advance` does what can be done and says whether that was anything;
// `look` is Vigil's, for when it was not. Spins for a moment, because what it waits for is usually a copy on another
// core, then parks: no thread waits.
enum class Advance : uint8_t { kNothing, kSomething, kOver };
TaskEnd RunParking(Stream& stream, const std::function<Advance(Status*)>& advance, const std::function<Status()>& look,
                   Status* out_status);
// The same for calls of the host that meet other ranks: the calling thread waits.
Status RunWaiting(const std::function<Advance(Status*)>& advance, const std::function<Status()>& look);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_VIGIL_H_
