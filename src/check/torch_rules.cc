// SPDX-License-Identifier: Apache-2.0
#include "src/check/torch_rules.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "src/base/format.h"

namespace millpond::check {

namespace {

uintptr_t Address(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

// Page "aclrtMallocAlign32": less than this no operator takes.
constexpr size_t kAlignment = 32;

// The host cannot reach memory of the device, and asking the kernel costs no fault.
bool HostCanRead(const void* address) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  const bool readable = write(ends[1], address, 1) == 1;
  close(ends[0]);
  close(ends[1]);
  return readable;
}

}  // namespace

Finding TorchRules::Make(Rule rule, std::string message) {
  return {.rule = rule, .message = std::move(message), .parts = {}, .things = {}, .lanes = {}, .memory = {}};
}

void TorchRules::OnInit(uint32_t stack) {
  if (first_use_ == 0 && ledger_.reporter.symbols().PassesThrough(stack, "libtorch_npu")) first_use_ = stack;
}

void TorchRules::OnSwapRefused(uint32_t stack, uint32_t thread) {
  if (first_use_ == 0) return;  // refused for another reason
  Finding finding = Make(Rule::MP401, "change_current_allocator comes too late: torch_npu has initialised its own");
  finding.parts = {{"later", "changed here", "change_current_allocator", stack, thread},
                   {"earlier", "torch_npu was first used here", "", first_use_, 0}};
  ledger_.reporter.Report(finding);
}

void TorchRules::OnThrown(const PluggableCall& call) {
  Finding finding = Make(Rule::MP210, Format("my_malloc threw when it was asked for %zu bytes", call.bytes));
  finding.parts = {{"later", "my_malloc was called here", "my_malloc", call.stack, call.thread}};
  ledger_.reporter.Report(finding);
}

// The piece of the same block that leaves too little room between the two.
const Piece* TorchRules::TooClose(const PluggableCall& call, const Block& block) const {
  if (!ledger_.reporter.Wants(Rule::MP203)) return nullptr;
  const uintptr_t begin = Address(call.address);
  if (const Piece* behind = ledger_.pieces.Overlapping(begin, begin + SpacedBytes(call.bytes))) {
    return behind->begin < block.end ? behind : nullptr;
  }
  const Piece* const before = ledger_.pieces.Overlapping(begin - SpacedBytes(1), begin);
  const bool close =
      before != nullptr && before->begin >= block.begin && begin - before->begin < SpacedBytes(before->bytes());
  return close ? before : nullptr;
}

void TorchRules::CheckPlace(const PluggableCall& call, const Block* block, Finding* out_finding) {
  const uintptr_t begin = Address(call.address);
  const bool on_host = block != nullptr ? block->kind == trace::MemoryKind::kPinned : HostCanRead(call.address);
  if (on_host) {
    out_finding->rule = Rule::MP205;
    out_finding->message = Format(
        "my_malloc was asked for %zu bytes of device %d and returned %p, which is memory of "
        "the host",
        call.bytes, call.device, call.address);
    return;
  }
  if (begin % kAlignment != 0) {
    out_finding->rule = Rule::MP202;
    out_finding->message = Format("my_malloc returned %p for %zu bytes, which is not a multiple of %zu", call.address,
                                  call.bytes, kAlignment);
    return;
  }
  const uintptr_t end = EndOf(begin, call.bytes);
  if (end < begin + call.bytes) {
    out_finding->rule = Rule::MP206;
    out_finding->message = Format("my_malloc was asked for %zu bytes and returned %p, where the memory ends after %zu",
                                  call.bytes, call.address, static_cast<size_t>(end - begin));
    out_finding->parts.push_back({"allocated", "allocated here", "", block->allocated, 0});
    out_finding->things.push_back(ledger_.ThingOf(*block, begin, std::min(end, block->end)));
    return;
  }
  const Piece* const close = block != nullptr ? TooClose(call, *block) : nullptr;
  if (close == nullptr) return;
  const bool first = begin < close->begin;
  const size_t bytes = first ? call.bytes : close->bytes();
  out_finding->rule = Rule::MP203;
  out_finding->message =
      Format("two pieces of one block begin %zu bytes apart, where %zu bytes of data need %zu",
             static_cast<size_t>(first ? close->begin - begin : begin - close->begin), bytes, SpacedBytes(bytes));
  out_finding->parts.push_back({"allocated", "the other was given out here", "my_malloc", close->allocated, 0});
}

// The first thing that is wrong with it: the rest follows.
void TorchRules::CheckAllocated(const PluggableCall& call) {
  const uintptr_t begin = Address(call.address);
  const Block* block = ledger_.blocks.Find(begin);
  Finding finding = Make(Rule::MP201, "");
  finding.parts = {{"later", "my_malloc was called here", "my_malloc", call.stack, call.thread}};
  if (begin == 0) {
    finding.message = Format("my_malloc returned null for %zu bytes; torch_npu uses it as it is", call.bytes);
  } else if (block == nullptr && call.failed != nullptr) {
    finding.rule = Rule::MP402;
    finding.message =
        Format("my_malloc returned %p for %zu bytes though %s failed in it with %d; there is no memory at that address",
               call.address, call.bytes, call.failed, call.failure);
    finding.parts.insert(finding.parts.begin(),
                         {"later", Format("%s failed here", call.failed), call.failed, call.failed_stack, call.thread});
  } else if (const Piece* other = ledger_.pieces.Overlapping(begin, EndOf(begin, call.bytes)); other != nullptr) {
    finding.rule = Rule::MP204;
    finding.message = Format("my_malloc returned %zu bytes at %p, and %zu bytes at 0x%llx are still in use", call.bytes,
                             call.address, other->bytes(), static_cast<unsigned long long>(other->begin));
    finding.parts.push_back({"allocated", "those were given out here", "my_malloc", other->allocated, 0});
  } else if (block != nullptr && block->device >= 0 && call.device >= 0 && block->device != call.device) {
    finding.rule = Rule::MP407;
    finding.message = Format("my_malloc was asked for %zu bytes of device %d and returned memory of device %d",
                             call.bytes, call.device, block->device);
    finding.parts.push_back({"allocated", "allocated here", "", block->allocated, 0});
    finding.things.push_back(ledger_.ThingOf(*block, begin, begin + call.bytes));
  } else {
    CheckPlace(call, block, &finding);
  }
  if (!finding.message.empty()) ledger_.reporter.Report(finding);
}

// Where the memory at `begin` ends, if that is before what was asked for: what lies behind it is somebody else's, and
// whoever gets it has done nothing wrong (MP206 told who has). Memory that is not known is taken at its word.
uintptr_t TorchRules::EndOf(uintptr_t begin, size_t bytes) {
  const uintptr_t wanted = begin + bytes;
  const Block* block = ledger_.blocks.Find(begin);
  if (block == nullptr) return wanted;
  // Neighbours that are mapped side by side are one piece of memory for whoever mapped them.
  const auto is_mapped = [](const Block* one) { return one != nullptr && one->kind == trace::MemoryKind::kPhysical; };
  uintptr_t end = block->end;
  while (end < wanted && is_mapped(block)) {
    block = ledger_.blocks.Find(end);
    if (is_mapped(block)) end = block->end;
  }
  return std::min(end, wanted);
}

void TorchRules::OnAllocated(const PluggableCall& call) {
  ++returned_[call.address];
  if (call.bytes == 0) return;
  CheckAllocated(call);
  if (call.address == nullptr) return;
  const uintptr_t begin = Address(call.address);
  ledger_.pieces.Add({.begin = begin,
                      .end = EndOf(begin, call.bytes),
                      .maker = Maker::kPluggable,
                      .sequence = ledger_.sequence,
                      .owner = ledger_.StreamOf(call.stream),
                      .allocated = call.stack,
                      .name = {},
                      .users = {},
                      .lost_records = {}});
}

void TorchRules::Foreign(const void* address, uint32_t stack, uint32_t thread) {
  Finding finding = Make(Rule::MP406, Format("%p is freed, which my_malloc did not return", address));
  finding.parts = {{"later", "freed here", "my_free", stack, thread}};
  const uintptr_t begin = Address(address);
  if (const Piece* inside = ledger_.pieces.FindTorchs(begin)) {
    finding.message +=
        Format(": it lies %zu bytes inside a block that it returned", static_cast<size_t>(begin - inside->begin));
    finding.parts.push_back({"allocated", "that one was given out here", "my_malloc", inside->allocated, 0});
  } else if (const Piece* former = ledger_.pieces.FindFormer(begin, UINT64_MAX);
             former != nullptr && former->begin == begin) {
    finding.message += " or that was freed already";
    finding.parts.push_back({"freed", "it was freed here before", "my_free", former->freed, 0});
  }
  ledger_.reporter.Report(finding);
}

std::optional<Piece> TorchRules::OnFreeBegins(const PluggableCall& call) {
  const auto known = returned_.find(call.address);
  if (known == returned_.end()) {
    Foreign(call.address, call.stack, call.thread);
    return std::nullopt;
  }
  if (--known->second == 0) returned_.erase(known);
  return ledger_.pieces.Remove(Address(call.address), false, call.stack);
}

void TorchRules::OnFreeRefused(const void* address, uint32_t stack, uint32_t thread) {
  if (address != nullptr && !returned_.contains(address)) Foreign(address, stack, thread);
}

void TorchRules::OnRecordLost(const void* address, const void* stream, uint32_t stack) {
  Piece* const piece = ledger_.pieces.FindTorchs(Address(address));
  const int32_t number = ledger_.StreamOf(stream);
  if (piece == nullptr || piece->maker != Maker::kPluggable || number < 0 || number == piece->owner) return;
  const bool known = std::any_of(piece->lost_records.begin(), piece->lost_records.end(),
                                 [&](const LostRecord& lost) { return lost.stream == number; });
  if (!known) piece->lost_records.push_back({number, stack});
}

// The record was lost; that matters when the allocator could have the memory back too early. One that waits in my_free,
// or whose own stream waits for the other, needs no record.
void TorchRules::OnFreeEnds(const Piece& piece, uint32_t stack, uint32_t thread) {
  // What went back to the system while it was in use is another rule's (MP403), and told.
  if (piece.lost_records.empty() || piece.owner < 0 || ledger_.blocks.Find(piece.begin) == nullptr) return;
  for (const LostRecord& lost : piece.lost_records) {
    const auto user = std::find_if(piece.users.begin(), piece.users.end(),
                                   [&](const Use& use) { return use.at.stream == lost.stream; });
    if (user == piece.users.end()) continue;
    if (ledger_.order.RelationTo(user->at, piece.owner) != Order::Relation::kUnordered) continue;
    Finding finding =
        Make(Rule::MP404, Format("record_stream of stream %d had no effect, because the allocator has no function for "
                                 "it: my_free has %zu bytes at 0x%llx back while %s may still use them",
                                 lost.stream, piece.bytes(), static_cast<unsigned long long>(piece.begin),
                                 ledger_.Where(*user).c_str()));
    finding.parts = {{"later", "record_stream is called here", "record_stream", lost.stack, thread},
                     ledger_.PartOf("earlier", *user),
                     {"freed", "my_free was called here", "my_free", stack, thread},
                     {"allocated", "my_malloc was called here", "my_malloc", piece.allocated, 0}};
    finding.things = {ledger_.ThingOf(*user)};
    ledger_.reporter.Report(finding);
    return;
  }
}

}  // namespace millpond::check
