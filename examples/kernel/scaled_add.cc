// SPDX-License-Identifier: Apache-2.0
// A vector kernel in Ascend C: z = a * x + y, in tiles, each block on its part. The same file compiles for a card with
// its compiler and for this machine with `./millpond kernel examples/kernel/scaled_add.cc -o scaled_add.so`.
#include "kernel_operator.h"

namespace {

constexpr uint32_t kTile = 256;

class ScaledAdd {
 public:
  __aicore__ inline void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, float a, uint32_t total) {
    length_ = total / static_cast<uint32_t>(AscendC::GetBlockNum());
    const uint64_t begin = static_cast<uint64_t>(AscendC::GetBlockIdx()) * length_;
    a_ = a;
    x_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(x) + begin, length_);
    y_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y) + begin, length_);
    z_.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(z) + begin, length_);
    // Two buffers each: on a card one is filled while the other is computed with.
    pipe_.InitBuffer(queue_x_, 2, kTile * sizeof(float));
    pipe_.InitBuffer(queue_y_, 2, kTile * sizeof(float));
    pipe_.InitBuffer(queue_z_, 2, kTile * sizeof(float));
  }

  __aicore__ inline void Process() {
    for (uint32_t at = 0; at < length_; at += kTile) {
      CopyIn(at);
      Compute();
      CopyOut(at);
    }
  }

 private:
  __aicore__ inline void CopyIn(uint32_t at) {
    AscendC::LocalTensor<float> x = queue_x_.AllocTensor<float>();
    AscendC::LocalTensor<float> y = queue_y_.AllocTensor<float>();
    AscendC::DataCopy(x, x_[at], kTile);
    AscendC::DataCopy(y, y_[at], kTile);
    queue_x_.EnQue(x);
    queue_y_.EnQue(y);
  }
  __aicore__ inline void Compute() {
    AscendC::LocalTensor<float> x = queue_x_.DeQue<float>();
    AscendC::LocalTensor<float> y = queue_y_.DeQue<float>();
    AscendC::LocalTensor<float> z = queue_z_.AllocTensor<float>();
    AscendC::Muls(z, x, a_, kTile);
    AscendC::Add(z, z, y, kTile);
    queue_z_.EnQue<float>(z);
    queue_x_.FreeTensor(x);
    queue_y_.FreeTensor(y);
  }
  __aicore__ inline void CopyOut(uint32_t at) {
    AscendC::LocalTensor<float> z = queue_z_.DeQue<float>();
    AscendC::DataCopy(z_[at], z, kTile);
    queue_z_.FreeTensor(z);
  }

  AscendC::TPipe pipe_;
  AscendC::TQue<AscendC::TPosition::VECIN, 2> queue_x_, queue_y_;
  AscendC::TQue<AscendC::TPosition::VECOUT, 2> queue_z_;
  AscendC::GlobalTensor<float> x_, y_, z_;
  float a_ = 0;
  uint32_t length_ = 0;
};

}  // namespace

extern "C" __global__ __aicore__ void scaled_add(GM_ADDR x, GM_ADDR y, GM_ADDR z, float a, uint32_t total) {
  ScaledAdd work;
  work.Init(x, y, z, a, total);
  work.Process();
}

// Tells what the parameters are. `./millpond kernel` writes this line where a source has none; a card's compiler does
// not know it.
#ifdef MILLPOND_KERNEL
MILLPOND_KERNEL(scaled_add);
#endif
