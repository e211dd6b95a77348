// SPDX-License-Identifier: Apache-2.0
// What torch_npu asks of programs: when its allocator may be changed, what a pluggable one returns, takes back and is
// told, and how long a tensor's memory lives.
#ifndef MILLPOND_SRC_CHECK_TORCH_RULES_H_
#define MILLPOND_SRC_CHECK_TORCH_RULES_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "src/check/ledger.h"

namespace millpond::check {

// One call of torch_npu into my_malloc or my_free. Stacks are as the checker numbers them.
struct PluggableCall {
  const void* address = nullptr;
  size_t bytes = 0;
  int32_t device = -1;
  const void* stream = nullptr;  // the client's handle
  uint32_t stack = 0, thread = 0;
  // The last allocation inside it that failed, if one did.
  const char* failed = nullptr;
  int failure = 0;
  uint32_t failed_stack = 0;
};

// Not safe from several threads.
class TorchRules {
 public:
  explicit TorchRules(Ledger* ledger) : ledger_(*ledger) {}

  // aclInit, by torch_npu or not.
  void OnInit(uint32_t stack);
  // torch_npu refused to change its allocator.
  void OnSwapRefused(uint32_t stack, uint32_t thread);
  // A pluggable allocator's pieces. A free is told before it begins and after it is over.
  void OnAllocated(const PluggableCall& call);
  std::optional<Piece> OnFreeBegins(const PluggableCall& call);
  void OnFreeEnds(const Piece& piece, uint32_t stack, uint32_t thread);
  // torch_npu refuses to give my_free a pointer that is none of my_malloc's.
  void OnFreeRefused(const void* address, uint32_t stack, uint32_t thread);
  // my_malloc threw.
  void OnThrown(const PluggableCall& call);
  // record_stream was called, and the allocator in use has no function for it.
  void OnRecordLost(const void* address, const void* stream, uint32_t stack);

 private:
  void CheckAllocated(const PluggableCall& call);
  // What is wrong with where the memory lies, if anything; else the rule of `out_finding` stays.
  void CheckPlace(const PluggableCall& call, const Block* block, Finding* out_finding);
  uintptr_t EndOf(uintptr_t begin, size_t bytes);
  const Piece* TooClose(const PluggableCall& call, const Block& block) const;
  void Foreign(const void* address, uint32_t stack, uint32_t thread);
  static Finding Make(Rule rule, std::string message);

  Ledger& ledger_;
  uint32_t first_use_ = 0;                              // stack: where torch_npu was initialised
  std::unordered_map<const void*, uint64_t> returned_;  // by my_malloc, and not freed: how often
};

}  // namespace millpond::check

#endif  // MILLPOND_SRC_CHECK_TORCH_RULES_H_
