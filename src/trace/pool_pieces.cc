// SPDX-License-Identifier: Apache-2.0
#include "src/trace/pool_pieces.h"

#include <atomic>

#include "src/trace/sink.h"
#include "src/trace/stack_depot.h"

namespace millpond::trace {

namespace {

constinit std::atomic<void (*)(const PoolPiece&)> g_piece_listener{nullptr};

}  // namespace

void SetPieceListener(void (*listener)(const PoolPiece& piece)) {
  g_piece_listener.store(listener, std::memory_order_release);
}

void TellPiece(bool begins, int32_t device, const void* address, size_t bytes) {
  auto* const listener = g_piece_listener.load(std::memory_order_acquire);
  if (listener == nullptr) return;
  listener({.begins = begins,
            .device = device,
            .address = address,
            .bytes = bytes,
            .thread = ThreadNumber(),
            .stack = CurrentStack()});
}

}  // namespace millpond::trace
