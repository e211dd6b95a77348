/* SPDX-License-Identifier: Apache-2.0 */
/* Who gives out a core's own memory: TPipe, queues, buffers.
 *
 * A core has MILLPOND_ASCENDC_LOCAL_BYTES of it, 192 KiB unless the source's build says otherwise. Each block begins
 * with all of it set to 0xff, which reads as NaN: what a kernel does not write it cannot rely on. */
#ifndef MILLPOND_ASCENDC_PIPE_H_
#define MILLPOND_ASCENDC_PIPE_H_

#include "millpond/ascendc/tensor.h"

#ifndef MILLPOND_ASCENDC_LOCAL_BYTES
#define MILLPOND_ASCENDC_LOCAL_BYTES (192u * 1024u)
#endif

namespace millpond_kernel {

/* state[0]: the block's local memory; state[1]: bytes of it given out; state[2]: its TPipe. */
inline void*& BlockState(int which) {
  millpond_block* block = millpond_kernel_block();
  if (block == nullptr) millpond_kernel_fail("local memory belongs to the blocks of a launch");
  return block->state[which];
}

inline uint8_t* TakeLocal(uint32_t bytes, const char* what) {
  void*& base = BlockState(0);
  if (base == nullptr) {
    base = millpond_kernel_runtime->local_memory(MILLPOND_ASCENDC_LOCAL_BYTES);
    if (base == nullptr) Fail("%s: the host has no memory for the core's %u bytes", what, MILLPOND_ASCENDC_LOCAL_BYTES);
    std::memset(base, 0xff, MILLPOND_ASCENDC_LOCAL_BYTES);
  }
  const auto used = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(BlockState(1)));
  const uint64_t rounded = (uint64_t{bytes} + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
  if (bytes == 0 || rounded > MILLPOND_ASCENDC_LOCAL_BYTES - used) {
    Fail("%s: %u bytes of local memory asked for, %u of %u are taken", what, bytes, used, MILLPOND_ASCENDC_LOCAL_BYTES);
  }
  BlockState(1) = reinterpret_cast<void*>(static_cast<uintptr_t>(used + rounded));
  return static_cast<uint8_t*>(base) + used;
}

/* The buffers of a queue, what is in it, and whose turn it is. */
class Buffers {
 public:
  static constexpr uint8_t kMax = 64;

  void Init(uint8_t count, uint32_t bytes, const char* what) {
    if (count == 0 || count > kMax) Fail("%s: %u buffers; a queue has 1 to %u", what, unsigned{count}, unsigned{kMax});
    bytes_ = (bytes + kBlockBytes - 1) / kBlockBytes * kBlockBytes;
    for (uint8_t i = 0; i < count; ++i) memory_[i] = TakeLocal(bytes, what);
    count_ = count;
    queued_ = 0;
    for (uint8_t i = 0; i < count; ++i) taken_[i] = false;
  }
  uint8_t* Take() {
    for (uint8_t i = 0; i < count_; ++i) {
      const uint8_t at = static_cast<uint8_t>((next_ + i) % count_);
      if (taken_[at]) continue;
      taken_[at] = true;
      next_ = static_cast<uint8_t>((at + 1) % count_);
      return memory_[at];
    }
    if (count_ == 0) Fail("AllocTensor: the queue has no buffers; call TPipe::InitBuffer first");
    Fail(
        "AllocTensor: all %u buffers of the queue are in use, and a card would wait for ever; FreeTensor gives one "
        "back",
        unsigned{count_});
  }
  void Give(const void* memory, const char* what) {
    const int at = Find(memory, what);
    if (!taken_[at]) Fail("%s: the tensor's buffer is free already", what);
    taken_[at] = false;
  }
  void Push(const void* memory, uint32_t depth) {
    const int at = Find(memory, "EnQue");
    if (!taken_[at]) Fail("EnQue: the tensor's buffer was freed");
    if (queued_ >= kMax || (depth != 0 && queued_ >= depth && queued_ >= count_)) {
      Fail("EnQue: %u tensors are in the queue, as many as it takes; DeQue comes first", unsigned{queued_});
    }
    queue_[queued_++] = static_cast<uint8_t>(at);
  }
  uint8_t* Pop() {
    if (queued_ == 0) Fail("DeQue: the queue is empty, and a card would wait for ever; EnQue comes first");
    const uint8_t first = queue_[0];
    --queued_;
    std::memmove(queue_, queue_ + 1, queued_);
    return memory_[first];
  }
  uint32_t bytes() const { return bytes_; }
  uint8_t queued() const { return queued_; }
  uint8_t count() const { return count_; }
  bool has_free() const {
    for (uint8_t i = 0; i < count_; ++i) {
      if (!taken_[i]) return true;
    }
    return false;
  }

 private:
  int Find(const void* memory, const char* what) const {
    for (uint8_t i = 0; i < count_; ++i) {
      if (memory_[i] == memory) return i;
    }
    Fail("%s: the tensor is none of this queue's %u buffers", what, unsigned{count_});
  }

  uint8_t* memory_[kMax] = {};
  bool taken_[kMax] = {};
  uint8_t queue_[kMax] = {};
  uint32_t bytes_ = 0;
  uint8_t count_ = 0;
  uint8_t next_ = 0;
  uint8_t queued_ = 0;
};

}  // namespace millpond_kernel

namespace AscendC {

class TPipe;

template <TPosition kFrom, TPosition kTo, int32_t kDepth, auto kMask = 0>
class TQueBind {
 public:
  template <class T>
  LocalTensor<T> AllocTensor() {
    return LocalTensor<T>(buffers_.Take(), buffers_.bytes());
  }
  template <class T>
  void AllocTensor(LocalTensor<T>& tensor) {
    tensor = AllocTensor<T>();
  }
  template <class T>
  bool EnQue(const LocalTensor<T>& tensor) {
    buffers_.Push(tensor.GetPhyAddr(), static_cast<uint32_t>(kDepth));
    return true;
  }
  template <TPosition kOne, TPosition kOther, class T>
  bool EnQue(const LocalTensor<T>& tensor) {
    return EnQue(tensor);
  }
  template <class T>
  LocalTensor<T> DeQue() {
    return LocalTensor<T>(buffers_.Pop(), buffers_.bytes());
  }
  template <TPosition kOne, TPosition kOther, class T>
  LocalTensor<T> DeQue() {
    return DeQue<T>();
  }
  template <class T>
  void DeQue(LocalTensor<T>& tensor) {
    tensor = DeQue<T>();
  }
  template <class T>
  void FreeTensor(const LocalTensor<T>& tensor) {
    buffers_.Give(tensor.GetPhyAddr(), "FreeTensor");
  }
  bool VacantInQue() const { return buffers_.queued() < buffers_.count(); }
  bool HasTensorInQue() const { return buffers_.queued() != 0; }
  bool HasIdleBuffer() const { return buffers_.has_free(); }
  int32_t GetTensorCountInQue() const { return buffers_.queued(); }
  void FreeAllEvent() {}

 private:
  friend class TPipe;
  millpond_kernel::Buffers buffers_;
};

template <TPosition kPosition, int32_t kDepth, auto kMask = 0>
class TQue : public TQueBind<kPosition, kPosition, kDepth, kMask> {};

template <TPosition kPosition = TPosition::LCM>
class TBuf {
 public:
  template <class T>
  LocalTensor<T> Get() {
    return LocalTensor<T>(Memory(), bytes_);
  }
  template <class T>
  LocalTensor<T> Get(uint32_t count) {
    LocalTensor<T> tensor = Get<T>();
    tensor.SetSize(count);
    return tensor;
  }
  template <class T>
  LocalTensor<T> GetWithOffset(uint32_t count, uint32_t offset_bytes) {
    LocalTensor<T> tensor = Get<uint8_t>()[offset_bytes].template ReinterpretCast<T>();
    tensor.SetSize(count);
    return tensor;
  }
  uint32_t GetBufLen() const { return bytes_; }

 private:
  friend class TPipe;
  uint8_t* Memory() const {
    if (memory_ == nullptr) millpond_kernel::Fail("TBuf::Get: the buffer has no memory; call TPipe::InitBuffer first");
    return memory_;
  }
  uint8_t* memory_ = nullptr;
  uint32_t bytes_ = 0;
};

class TPipe {
 public:
  TPipe() { Init(); }
  ~TPipe() {
    millpond_block* block = millpond_kernel_block();
    if (block != nullptr && block->state[2] == this) block->state[2] = nullptr;
  }
  void Init() { millpond_kernel::BlockState(2) = this; }
  template <TPosition kFrom, TPosition kTo, int32_t kDepth, auto kMask>
  bool InitBuffer(TQueBind<kFrom, kTo, kDepth, kMask>& queue, uint8_t count, uint32_t bytes) {
    queue.buffers_.Init(count, bytes, "TPipe::InitBuffer");
    return true;
  }
  template <TPosition kPosition>
  bool InitBuffer(TBuf<kPosition>& buffer, uint32_t bytes) {
    buffer.memory_ = millpond_kernel::TakeLocal(bytes, "TPipe::InitBuffer");
    buffer.bytes_ =
        (bytes + millpond_kernel::kBlockBytes - 1) / millpond_kernel::kBlockBytes * millpond_kernel::kBlockBytes;
    return true;
  }
  /* All buffers are given back; queues are initialised anew. */
  void Reset() { millpond_kernel::BlockState(1) = nullptr; }
  void Destroy() { Reset(); }
  TEventID FetchEventID(HardEvent) { return 0; }
  template <HardEvent kEvent>
  TEventID FetchEventID() {
    return 0;
  }
  template <HardEvent kEvent>
  TEventID AllocEventID() {
    return 0;
  }
  template <HardEvent kEvent>
  void ReleaseEventID(TEventID) {}
};

inline TPipe* GetTPipePtr() {
  auto* pipe = static_cast<TPipe*>(millpond_kernel::BlockState(2));
  if (pipe == nullptr) millpond_kernel::Fail("GetTPipePtr: the block has made no TPipe");
  return pipe;
}

enum class Hardware : uint8_t { GM, UB, L1, L0A, L0B, L0C, BIAS, FIXBUF, MAX };

/* Local memory without queues. */
template <Hardware kHardware = Hardware::UB>
class LocalMemAllocator {
 public:
  static_assert(kHardware == Hardware::UB, "only vector kernels run here: there is no other local memory");
  template <class T, uint32_t kCount>
  LocalTensor<T> Alloc() {
    return Alloc<T>(kCount);
  }
  template <TPosition kPosition, class T, uint32_t kCount>
  LocalTensor<T> Alloc() {
    return Alloc<T>(kCount);
  }
  template <class T>
  LocalTensor<T> Alloc(uint32_t count) {
    const uint32_t bytes = count * static_cast<uint32_t>(sizeof(T));
    return LocalTensor<T>(millpond_kernel::TakeLocal(bytes, "LocalMemAllocator::Alloc"), bytes);
  }
  template <TPosition kPosition, class T>
  LocalTensor<T> Alloc(uint32_t count) {
    return Alloc<T>(count);
  }
};

}  // namespace AscendC

#endif /* MILLPOND_ASCENDC_PIPE_H_ */
