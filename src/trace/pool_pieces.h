// SPDX-License-Identifier: Apache-2.0
// Pieces that pools cut from their memory and give out: what a task may use inside a block. Pools tell them themselves
// (mstxMemRegionsRegister); one listener, the checker, hears of them. Not a sink's record: nothing of the runtime's own
// makes one, and nobody else wants them.
#ifndef MILLPOND_SRC_TRACE_POOL_PIECES_H_
#define MILLPOND_SRC_TRACE_POOL_PIECES_H_

#include <cstddef>
#include <cstdint>

namespace millpond::trace {

struct PoolPiece {
  bool begins;  // it was given out; else the pool has it back
  int32_t device;
  const void* address;
  size_t bytes;  // 0 when it ends: a piece is known by its beginning
  uint32_t thread;
  uint32_t stack;
};

// Called on the thread that tells, without a lock of ours. Never taken away again.
void SetPieceListener(void (*listener)(const PoolPiece& piece));

// Costs a load while nobody listens.
void TellPiece(bool begins, int32_t device, const void* address, size_t bytes);

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_POOL_PIECES_H_
