// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/runtime/scratch.h"

#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "src/base/mutex.h"

namespace millpond::kernels {
namespace {

// Four classes to each power of two: a block is at most a quarter larger than asked for.
constexpr size_t kClassesPerDoubling = 4;
constexpr size_t kFirstBit = std::bit_width(kMinScratch) - 1;
constexpr size_t kClasses = (std::bit_width(kMaxScratch) - std::bit_width(kMinScratch)) * kClassesPerDoubling + 1;
constexpr size_t kKeepBytes = size_t{256} << 20;

// The smallest class that holds `bytes`, and the size of a class.
size_t ClassOf(size_t bytes) {
  const size_t bit = std::bit_width(bytes) - 1;
  const size_t step = (size_t{1} << bit) / kClassesPerDoubling;
  const size_t above = (bytes - (size_t{1} << bit) + step - 1) / step;
  return (bit - kFirstBit) * kClassesPerDoubling + above;
}
size_t BytesOf(size_t number) {
  const size_t base = kMinScratch << (number / kClassesPerDoubling);
  return base + base / kClassesPerDoubling * (number % kClassesPerDoubling);
}

class Scratch {
 public:
  static Scratch& Get() {
    static auto* scratch = new Scratch;  // tensors of exiting threads may still come back
    return *scratch;
  }

  struct Block {
    size_t number;
    c10::DataPtr memory;
  };

  std::unique_ptr<Block> Take(size_t number, c10::Allocator* base) {
    {
      MutexLock lock(mutex_);
      auto& shelf = shelves_[number];
      if (!shelf.empty()) {
        std::unique_ptr<Block> block = std::move(shelf.back());
        shelf.pop_back();
        kept_ -= BytesOf(number);
        return block;
      }
    }
    return std::make_unique<Block>(Block{number, base->allocate(BytesOf(number))});
  }

  void Give(std::unique_ptr<Block> block) {
    MutexLock lock(mutex_);
    if (kept_ + BytesOf(block->number) > kKeepBytes) return;
    kept_ += BytesOf(block->number);
    shelves_[block->number].push_back(std::move(block));
  }

  void Drop() {
    MutexLock lock(mutex_);
    for (auto& shelf : shelves_) shelf.clear();
    kept_ = 0;
  }

 private:
  Mutex mutex_;
  std::array<std::vector<std::unique_ptr<Block>>, kClasses> shelves_ GUARDED_BY(mutex_);
  size_t kept_ GUARDED_BY(mutex_) = 0;
};

}  // namespace

c10::DataPtr TakeScratch(size_t bytes, c10::Allocator* base) {
  std::unique_ptr<Scratch::Block> block = Scratch::Get().Take(ClassOf(bytes), base);
  void* data = block->memory.get();
  return {data, block.release(),
          [](void* context) {
            Scratch::Get().Give(std::unique_ptr<Scratch::Block>(static_cast<Scratch::Block*>(context)));
          },
          c10::Device(c10::kCPU)};
}

void DropScratch() { Scratch::Get().Drop(); }

}  // namespace millpond::kernels
