// SPDX-License-Identifier: Apache-2.0
// What a kernel that works with other ranks and whoever runs it say to each other. Such a kernel is called in steps: it
// computes what it can, asks for one operation of its group and returns; when that is over it is called again, until it
// asks for nothing. So no thread waits for another rank.
#ifndef MILLPOND_SRC_OPS_GROUP_STEPS_H_
#define MILLPOND_SRC_OPS_GROUP_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/dtype.h"
#include "src/ops/call.h"

namespace millpond {

// Of a buffer, in bytes.
struct GroupPart {
  size_t offset = 0;
  size_t bytes = 0;
};

// Memory that a rank has given to others, at its address here. Null: there is none.
struct GroupWindow {
  std::byte* address = nullptr;
  size_t bytes = 0;
};

// A word of memory that is 1 until the rank clears it.
struct GroupFlag {
  int64_t rank = 0;
  const int32_t* at = nullptr;
};

struct GroupRequest {
  enum class What : uint8_t {
    kNone,
    kAllReduce,
    kReduce,
    kReduceScatter,   // equal parts
    kReduceScatterV,  // parts as listed
    kAllGather,
    kAllGatherV,
    kAlltoAll,
    kAlltoAllV,
    kBroadcast,
    kSend,
    kReceive,
    kBarrier,
    kAwaitClear,  // until other ranks have cleared `flags`
  };
  What what = What::kNone;
  std::string group;
  DType type = DType::kUndefined;
  std::string reduction;  // sum, prod, max, min
  int64_t root = 0;       // or the other end of a message
  int64_t tag = 0;        // of a message
  const void* send = nullptr;
  void* receive = nullptr;
  size_t bytes = 0;                      // all of it, where there are no parts
  std::vector<GroupPart> send_parts;     // one for each rank
  std::vector<GroupPart> receive_parts;  // one for each rank
  std::vector<GroupFlag> flags;
};

struct GroupSteps {
  struct Member {
    std::string group;
    int64_t ranks = 1;
    int64_t rank = 0;
    std::function<GroupWindow(int64_t rank)> window;  // what HcclCommExchangeMem has made known; empty: nothing
  };
  std::vector<Member> members;  // the groups that the call names
  size_t step = 0;              // how often the kernel was called before
  // The call's first phase asks whether its arguments are good: the kernel is called once, refuses them or asks for its
  // first operation, and does not compute. What other ranks would miss is refused before it is promised.
  bool checking = false;
  GroupRequest request;        // what it asks for
  std::shared_ptr<void> kept;  // the kernel's own, from step to step
};

// Is this argument the name of a group? By its name, as CANN's interfaces have it: group, groupEp, groupTp.
inline bool NamesGroup(const ArgSpec& spec) {
  return spec.kind == ArgKind::kString && std::string_view(spec.name).starts_with("group");
}

}  // namespace millpond

#endif  // MILLPOND_SRC_OPS_GROUP_STEPS_H_
