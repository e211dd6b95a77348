// SPDX-License-Identifier: Apache-2.0
#include "src/comm/transfer.h"

#include <utility>

#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"

namespace millpond::comm {

using trace::Mode;

Status LaunchTransfers(const char* name, Stream* stream, std::span<const Transfer> transfers) {
  std::vector<trace::Access> accesses;
  std::vector<Transfer> moves;
  for (const Transfer& transfer : transfers) {
    if (transfer.bytes == 0) continue;
    if (transfer.to == transfer.from) {
      accesses.push_back({transfer.to, transfer.bytes, Mode::kReadWrite});
      continue;
    }
    const auto flags = [&](Transfer::Far end) -> uint8_t { return transfer.far == end ? trace::kMayTouch : 0; };
    accesses.push_back({transfer.from, transfer.bytes, Mode::kRead, flags(Transfer::Far::kFrom)});
    accesses.push_back({transfer.to, transfer.bytes, Mode::kWrite, flags(Transfer::Far::kTo)});
    moves.push_back(transfer);
  }
  return stream->Launch<TaskKind::kCopy>(name, accesses, [moves = std::move(moves)]() -> Status {
    for (const Transfer& move : moves) CopyBytes(move.to, move.from, move.bytes);
    return Ok();
  });
}

Status PairMessages(std::span<const Message> messages, std::vector<Transfer>* out_transfers) {
  std::vector<Transfer> transfers;
  std::vector<Element> types;
  size_t sends = 0, receives = 0;
  for (const Message& message : messages) {
    const size_t index = message.sends ? sends++ : receives++;
    if (index == transfers.size()) {
      transfers.push_back({nullptr, nullptr, message.bytes});
      types.push_back(message.type);
    }
    Transfer& transfer = transfers[index];
    MP_REQUIRE(transfer.bytes == message.bytes, "send and receive number %zu of the batch differ: %zu and %zu bytes",
               index, transfer.bytes, message.bytes);
    MP_REQUIRE(types[index] == message.type, "send and receive number %zu of the batch differ: %s and %s", index,
               ElementName(static_cast<uint32_t>(types[index])).c_str(),
               ElementName(static_cast<uint32_t>(message.type)).c_str());
    if (message.sends) {
      transfer.from = message.buffer;
    } else {
      transfer.to = message.buffer;
    }
  }
  MP_REQUIRE(
      sends == receives,
      "%zu sends and %zu receives of this rank with itself: each send needs its receive in the same batch or group",
      sends, receives);
  *out_transfers = std::move(transfers);
  return Ok();
}

Group& Group::OfThread() {
  static thread_local Group group;
  return group;
}

}  // namespace millpond::comm
