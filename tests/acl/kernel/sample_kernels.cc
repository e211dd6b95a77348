// SPDX-License-Identifier: Apache-2.0
// Kernels that tests/acl/kernel loads: by names alone, with parameters known, and wrong ones.
#include <cmath>
#include <stdexcept>

#include "kernel_operator.h"
#include "millpond/kernel.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

// Tiles of half numbers through queues, as the usual sample does.
class Adder {
 public:
  void Init(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
    length_ = total / static_cast<uint32_t>(AscendC::GetBlockNum());
    const uint64_t begin = static_cast<uint64_t>(AscendC::GetBlockIdx()) * length_;
    x_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(x) + begin, length_);
    y_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(y) + begin, length_);
    z_.SetGlobalBuffer(reinterpret_cast<__gm__ half*>(z) + begin, length_);
    pipe_.InitBuffer(in_x_, 2, kTile * sizeof(half));
    pipe_.InitBuffer(in_y_, 2, kTile * sizeof(half));
    pipe_.InitBuffer(out_, 2, kTile * sizeof(half));
  }
  void Process() {
    for (uint32_t tile = 0; tile < length_ / kTile; ++tile) {
      CopyIn(tile);
      Compute();
      CopyOut(tile);
    }
  }

 private:
  static constexpr uint32_t kTile = 64;
  void CopyIn(uint32_t tile) {
    auto x = in_x_.AllocTensor<half>();
    auto y = in_y_.AllocTensor<half>();
    AscendC::DataCopy(x, x_[tile * kTile], kTile);
    AscendC::DataCopy(y, y_[tile * kTile], kTile);
    in_x_.EnQue(x);
    in_y_.EnQue(y);
  }
  void Compute() {
    auto x = in_x_.DeQue<half>();
    auto y = in_y_.DeQue<half>();
    auto z = out_.AllocTensor<half>();
    AscendC::Add(z, x, y, kTile);
    out_.EnQue<half>(z);
    in_x_.FreeTensor(x);
    in_y_.FreeTensor(y);
  }
  void CopyOut(uint32_t tile) {
    auto z = out_.DeQue<half>();
    AscendC::DataCopy(z_[tile * kTile], z, kTile);
    out_.FreeTensor(z);
  }

  AscendC::TPipe pipe_;
  AscendC::TQue<AscendC::TPosition::VECIN, 1> in_x_, in_y_;
  AscendC::TQue<AscendC::TPosition::VECOUT, 1> out_;
  AscendC::GlobalTensor<half> x_, y_, z_;
  uint32_t length_ = 0;
};

struct Shift {
  float by;
  int32_t times;
  double unused[3];
};

}  // namespace

extern "C" __global__ __aicore__ void add_halves(GM_ADDR x, GM_ADDR y, GM_ADDR z, uint32_t total) {
  Adder adder;
  adder.Init(x, y, z, total);
  adder.Process();
}
MILLPOND_KERNEL(add_halves);

// Parameters of several kinds, which only their declaration tells apart.
extern "C" __global__ __aicore__ void scale(GM_ADDR out, float factor, int8_t less, Shift shift, uint16_t count) {
  auto* numbers = reinterpret_cast<float*>(out);
  for (uint16_t i = 0; i < count; ++i) {
    numbers[i] = numbers[i] * factor - static_cast<float>(less) + shift.by * static_cast<float>(shift.times);
  }
}
MILLPOND_KERNEL(scale);

// A name that only the declaration of its parameters has.
void hidden_by_namespace(uint64_t* out) { out[millpond_block_index()] = 7; }
MILLPOND_KERNEL(hidden_by_namespace);

// By names alone: words.
EXPORTED void mark_blocks(uint64_t* out, uint64_t value) {
  out[millpond_block_index()] = value * 1000 + millpond_block_index() * 10 + millpond_block_count();
}
EXPORTED void many_words(uint64_t* out, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                         uint64_t h) {
  *out = b + 2 * c + 3 * d + 4 * e + 5 * f + 6 * g + 7 * h;
}
EXPORTED void no_parameters() {}
EXPORTED void sum_data(uint64_t* out, const uint32_t* data, uint64_t count) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < count; ++i) sum += data[i];
  *out = sum;
}
EXPORTED void follow(uint64_t** where) { *static_cast<uint64_t*>(millpond_kernel_reachable(*where)) = 42; }
EXPORTED void entry_17(uint64_t* out) { *out = 17; }
EXPORTED void other_entry_18(uint64_t* out) { *out = 18; }
EXPORTED void same_entry_18(uint64_t* out) { *out = 18; }

// Wrong ones.
EXPORTED void throws(uint64_t* out) {
  if (millpond_block_index() == 1) throw std::runtime_error("on purpose");
  out[millpond_block_index()] = 1;
}
EXPORTED void throws_a_number() { throw 5; }
EXPORTED void fails() { millpond_kernel_fail("it says so itself"); }
EXPORTED void reads_nowhere(const volatile uint64_t* address) { (void)*address; }
EXPORTED void follows_as_stored(uint64_t** where) { **where = 42; }
EXPORTED void takes_too_much() {
  AscendC::TPipe pipe;
  AscendC::TBuf<> buffer;
  pipe.InitBuffer(buffer, MILLPOND_ASCENDC_LOCAL_BYTES + 1);
}
EXPORTED void copies_an_odd_number(GM_ADDR in) {
  AscendC::TPipe pipe;
  AscendC::TBuf<> buffer;
  pipe.InitBuffer(buffer, 256);
  AscendC::GlobalTensor<float> from;
  from.SetGlobalBuffer(reinterpret_cast<float*>(in), 64);
  AscendC::DataCopy(buffer.Get<float>(), from, 7);
}
EXPORTED void waits_for_nobody() {
  AscendC::TPipe pipe;
  AscendC::TQue<AscendC::TPosition::VECIN, 1> queue;
  pipe.InitBuffer(queue, 1, 64);
  queue.DeQue<float>();
}
EXPORTED void passes_the_end(GM_ADDR in) {
  AscendC::GlobalTensor<float> from;
  from.SetGlobalBuffer(reinterpret_cast<float*>(in), 8);
  (void)from.GetValue(8);
}
EXPORTED void waits_for_all() { AscendC::SyncAll(); }
