// SPDX-License-Identifier: Apache-2.0
// Ours, through millpond/pool.h alone, as a client would use it.
#ifndef BENCH_POOL_OURS_POOL_H_
#define BENCH_POOL_OURS_POOL_H_

#include <millpond/pool.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/common/acl_session.h"

namespace millpond::bench {

inline void CheckPool(aclError code, const char* call) {
  if (code == ACL_SUCCESS) return;
  std::fprintf(stderr, "%s returned %d, expected 0: %s\n", call, code, millpondPoolLastError());
  std::exit(1);
}
#define MP_POOL(call) ::millpond::bench::CheckPool((call), #call)

// A fresh pool with the default settings; a lane is one of `streams`.
class OursPool {
 public:
  explicit OursPool(const std::vector<Stream>& streams) {
    for (const Stream& stream : streams) streams_.push_back(stream.get());
    MP_POOL(millpondPoolCreate(0, nullptr, 0, &pool_));
  }
  ~OursPool() { MP_POOL(millpondPoolDestroy(pool_)); }
  OursPool(const OursPool&) = delete;
  OursPool& operator=(const OursPool&) = delete;

  void* Allocate(std::size_t bytes, std::size_t lane) {
    void* block = nullptr;
    MP_POOL(millpondPoolMalloc(pool_, bytes, streams_[lane], &block));
    return block;
  }
  void Free(void* block, std::size_t lane) { MP_POOL(millpondPoolFree(pool_, block, streams_[lane])); }
  void EnterThread() { MP_ACL(aclrtSetDevice(0)); }

  [[nodiscard]] millpondPool get() const { return pool_; }
  [[nodiscard]] millpondPoolStatistics Statistics() const {
    millpondPoolStatistics statistics = {};
    statistics.size = sizeof(statistics);
    MP_POOL(millpondPoolGetStatistics(pool_, &statistics));
    return statistics;
  }
  // High-water mark of reserved bytes over the peak of live bytes.
  [[nodiscard]] double ReservedOver(std::size_t peak_live_bytes) const {
    return static_cast<double>(Statistics().reservedBytesHigh) / static_cast<double>(peak_live_bytes);
  }

 private:
  millpondPool pool_ = nullptr;
  std::vector<aclrtStream> streams_;
};

}  // namespace millpond::bench

#endif  // BENCH_POOL_OURS_POOL_H_
