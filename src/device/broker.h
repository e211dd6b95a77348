// SPDX-License-Identifier: Apache-2.0
// How one process hands a piece of a file (memory, the word of a notify) to another that knows its key.
//
// A process that exports runs one thread that answers on a Unix socket. An importer connects and names the key; the
// exporter looks at who is asking (the kernel says, SO_PEERCRED), compares with the pids it was told to allow, and
// passes the file descriptor. So a key alone opens nothing, and no file is left behind by a process that dies.
// Where the exporter must know how long it is in use, the importer keeps the connection: the kernel closes it
// whatever becomes of the importer.
#ifndef MILLPOND_SRC_DEVICE_BROKER_H_
#define MILLPOND_SRC_DEVICE_BROKER_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "src/base/status.h"
#include "src/device/vmm_physical.h"

namespace millpond {

enum class ShareKind : uint8_t { kMemory = 1, kPhysical, kNotify, kEvent };

inline constexpr size_t kShareKeyDigits = 64;
inline constexpr size_t kShareKeyBytes = kShareKeyDigits + 1;  // with the NUL
inline constexpr size_t kSharePayloadBytes = 64;

// What a key (64 hex digits) or a shareable handle (64 bits) says. `broker` names the exporter's socket.
struct ShareName {
  ShareKind kind = ShareKind::kMemory;
  uint32_t broker = 0;
  int32_t pid = 0;             // the exporter's, for messages; 0 when the short form left no room for it
  uint64_t high = 0, low = 0;  // drawn at random; the short form has 32 bits of low

  void Print(char key[kShareKeyBytes]) const;
  // 107000 when the text was never made by Print.
  static Status Parse(const char* key, ShareKind kind, ShareName* out_name);
  uint64_t ToHandle() const { return static_cast<uint64_t>(broker) << 32 | low; }
  static Status FromHandle(uint64_t handle, ShareKind kind, ShareName* out_name);
};

// What the exporter gives. `file` must stay open until Withdraw (or for ever).
struct ShareOffer {
  ShareKind kind = ShareKind::kMemory;
  int file = -1;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  bool any_pid = false;  // no list of allowed pids
  uint8_t payload[kSharePayloadBytes] = {};
  // When set, asked at each fetch, on the broker's thread: false when what was offered is gone.
  std::function<bool()> valid;
  // When set, every importer that is still using it holds one too.
  std::shared_ptr<void> lease;
};

// What the importer gets.
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

  // `abstract` false puts the socket in the runtime folder, as happens where the kernel has no abstract names.
  explicit Broker(bool abstract = true) : abstract_(abstract) {}
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
  struct Client {
    UniqueFd socket;
    std::shared_ptr<void> lease;
  };
  using EntryKey = std::pair<uint64_t, uint64_t>;

  Status StartLocked();
  Status ListenLocked();
  void Serve();
  bool Answer(Client* client);
  Entry* FindLocked(const ShareName& name);
  void DropStaleLocked();

  const bool abstract_;
  std::mutex mutex_;  // guards what follows
  uint32_t number_ = 0;
  UniqueFd listener_;
  UniqueFd stop_;
  std::string path_;  // set when the socket is a file
  std::map<EntryKey, Entry> entries_;
  size_t sweep_at_ = 64;
  std::vector<Client> clients_;  // the serving thread's alone
  std::thread thread_;
};

// Asks the exporter. 207006 when this process is not allowed, 507022 when the exporter is gone or has withdrawn it.
// Importing what this very process exported is refused, as documented.
Status FetchShare(const ShareName& name, ShareGrant* out_grant);

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_BROKER_H_
