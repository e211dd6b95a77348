// SPDX-License-Identifier: Apache-2.0
// Whether all ranks of a communicator were asked for the same operation. Every rank compares what every rank wrote, so
// all of them come to the same verdict, with the same words.
#ifndef MILLPOND_SRC_COMM_MATCH_H_
#define MILLPOND_SRC_COMM_MATCH_H_

#include <cstdint>
#include <string>

#include "src/base/status.h"
#include "src/comm/world.h"

namespace millpond::comm {

enum class Operation : uint32_t {
  kAllReduce,
  kReduce,
  kReduceScatter,
  kReduceScatterV,
  kBroadcast,
  kScatter,
  kAllGather,
  kAllGatherV,
  kAlltoAll,
  kAlltoAllV,
  kAlltoAllVC,
  kBarrier,
  // Of messages; never in a Descriptor.
  kSend,
  kReceive,
};
std::string OperationName(uint32_t operation);

// What the ranks' counts mean for an operation: nothing, one list that all must have, or what each sends to each.
enum class Counts : uint8_t { kNone, kOneList, kPairs };
Counts CountsOf(Operation operation);

// EI0005 naming each value and its ranks. pre: everybody has arrived at `sequence`.
Status Match(const World& world, const std::string& communicator, uint64_t sequence);

// The last thing a rank was asked for: "HcclAllReduce (10 of fp32, sum; its operation 7, under way) at train.cc:41 in
// Step()", or "no operation yet".
std::string LastOperation(const World& world, uint32_t rank);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_MATCH_H_
