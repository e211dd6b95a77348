// SPDX-License-Identifier: Apache-2.0
// How one process hands a piece of a file (memory, the word of a notify) to another that knows its key.
//
// A process that exports runs one thread that answers on a Unix socket. An importer connects and names the key; the
// exporter looks at who is asking (the kernel says, SO_PEERCRED), compares with the pids it was told to allow, and
// passes the file descriptor. So a key alone opens nothing, and no file is left behind by a process that dies.
// The importer looks as well: anybody may bind the name of a socket whose owner has died, so only the process and the
// user that the key names are believed. docs/security.md says what this holds against.
// Where the exporter must know how long it is in use, the importer keeps the connection: the kernel closes it
// whatever becomes of the importer.
#ifndef MILLPOND_SRC_DEVICE_SHARE_BROKER_H_
#define MILLPOND_SRC_DEVICE_SHARE_BROKER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/base/futex.h"
#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/memory/own_file.h"

namespace millpond {

enum class ShareKind : uint8_t { kMemory = 1, kPhysical, kNotify, kEvent, kRanks };

inline constexpr size_t kShareKeyDigits = 64;
inline constexpr size_t kShareKeyBytes = kShareKeyDigits + 1;  // with the NUL
inline constexpr size_t kSharePayloadBytes = 64;

// What a key (64 hex digits) or a shareable handle (64 bits) says. The exporter's pid and `broker` name its socket; pid
// and uid are what the kernel must say of whoever answers there. A handle has no room for the uid: it is good among the
// processes of one user only.
struct ShareName {
  static constexpr int kPidBits = 22, kBrokerBits = 20, kLowBits = 22;  // of a handle; Linux counts pids to 2^22

  ShareKind kind = ShareKind::kMemory;
  uint32_t broker = 0;
  int32_t pid = 0;
  uint32_t uid = 0;
  uint32_t high = 0;  // high and low are drawn at random, and never 0 both; a handle has kLowBits of low
  uint64_t low = 0;

  void Print(char key[kShareKeyBytes]) const;
  // 107000 when the text was never made by Print.
  static Status Parse(const char* key, ShareKind kind, ShareName* out_name);
  uint64_t ToHandle() const { return (static_cast<uint64_t>(pid) << kBrokerBits | broker) << kLowBits | low; }
  static Status FromHandle(uint64_t handle, ShareKind kind, ShareName* out_name);
};

// What the exporter gives: all of `file`, of which the range is what the key stands for. The offer ends with the file.
struct ShareOffer {
  ShareKind kind = ShareKind::kMemory;
  std::weak_ptr<const UniqueFd> file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool any_pid = false;  // no list of allowed pids
  uint8_t payload[kSharePayloadBytes] = {};
  // When set, asked at each fetch, on the broker's thread: false when what was offered is gone.
  std::function<bool()> valid;
  // When set, every importer that is still using it holds one too.
  std::shared_ptr<void> lease;
  // When set, called on the broker's thread with the connection by which an importer will hold the lease, before it is
  // told; where there is no room for another lease, such an importer gets none.
  std::function<void(int socket)> leased;
};

// What the importer gets: a file of fixed size that has the range.
struct ShareGrant {
  UniqueFd file;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint8_t payload[kSharePayloadBytes] = {};
  UniqueFd lease;  // keep open for as long as it is in use; empty when the exporter does not care
};

class Broker {
 public:
  // The process's own, started by its first Publish.
  static Broker& Get();

  // `abstract` false puts the socket in the runtime folder, as happens where the kernel has no abstract names. An
  // importer asks as soon as it is connected; a connection that has not within `patience` is closed.
  explicit Broker(bool abstract = true, std::chrono::milliseconds patience = std::chrono::seconds(10))
      : abstract_(abstract), patience_(patience) {}
  ~Broker();

  // `short_name`: one that ToHandle can express.
  Status Publish(const ShareOffer& offer, bool short_name, ShareName* out_name);
  // Adds to the pids that may fetch.
  Status Allow(const ShareName& name, std::span<const int32_t> pids);
  Status Withdraw(const ShareName& name);
  bool Owns(const ShareName& name);

 private:
  struct Entry {
    ShareOffer offer;
    std::set<int32_t> pids;
  };
  // A connection waits for its request until `deadline`, or lives on for its lease.
  struct Client {
    UniqueFd socket;
    int32_t pid = 0;
    Clock::time_point deadline;
    std::shared_ptr<void> lease;
  };
  using EntryKey = std::pair<uint32_t, uint64_t>;

  Status StartLocked() REQUIRES(mutex_);
  Status ListenLocked() REQUIRES(mutex_);
  void Serve();
  void Accept();
  void MakeRoom();
  int DropLate();
  bool Answer(Client* client);
  bool MayLease(int32_t pid) const;
  Entry* FindLocked(const ShareName& name) REQUIRES(mutex_);
  void DropStaleLocked() REQUIRES(mutex_);

  const bool abstract_;
  const std::chrono::milliseconds patience_;
  Mutex mutex_;
  uint32_t number_ GUARDED_BY(mutex_) = 0;
  int32_t pid_ GUARDED_BY(mutex_) = 0;  // who listens, as the kernel tells importers
  uint32_t uid_ GUARDED_BY(mutex_) = 0;
  std::map<EntryKey, Entry> entries_ GUARDED_BY(mutex_);
  size_t sweep_at_ GUARDED_BY(mutex_) = 64;
  // Written with the lock before the serving thread begins, and by nobody while it runs.
  UniqueFd listener_;
  UniqueFd stop_;
  std::string path_;  // set when the socket is a file
  std::thread thread_;
  std::vector<Client> clients_;  // the serving thread's alone
};

// Asks the exporter. 207006 when this process is not allowed, 507022 when the exporter is gone, has withdrawn it, or
// somebody else answers in its place.
// Importing what this very process exported is refused, as documented.
Status FetchShare(const ShareName& name, ShareGrant* out_grant);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_SHARE_BROKER_H_
