/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: in device memory and in a core's own. */
#ifndef MILLPOND_ASCENDC_TENSOR_H_
#define MILLPOND_ASCENDC_TENSOR_H_

#include "millpond/ascendc/basics.h"

namespace AscendC {

struct ShapeInfo;

/* A piece of device memory. Its size is known when SetGlobalBuffer was told; then nothing passes its end. */
template <class T>
class GlobalTensor {
 public:
  using PrimType = T;

  void SetGlobalBuffer(__gm__ T* buffer, uint64_t count) {
    data_ = static_cast<T*>(millpond_kernel_reachable(buffer));
    size_ = count;
  }
  void SetGlobalBuffer(__gm__ T* buffer) { SetGlobalBuffer(buffer, kUnknown); }
  const __gm__ T* GetPhyAddr() const { return data_; }
  __gm__ T* GetPhyAddr(uint64_t offset) const { return data_ + offset; }
  T GetValue(uint64_t offset) const { return *At(offset, 1, "GetValue"); }
  void SetValue(uint64_t offset, T value) const { *At(offset, 1, "SetValue") = value; }
  T& operator()(uint64_t offset) const { return *At(offset, 1, "operator()"); }
  GlobalTensor operator[](uint64_t offset) const {
    if (size_ != kUnknown && offset > size_) {
      millpond_kernel::Fail("GlobalTensor[%llu]: the tensor has %llu elements", Number(offset), Number(size_));
    }
    GlobalTensor part;
    part.data_ = data_ + offset;
    part.size_ = size_ == kUnknown ? kUnknown : size_ - offset;
    return part;
  }
  uint64_t GetSize() const { return size_ == kUnknown ? 0 : size_; }
  void SetL2CacheHint(CacheMode) {}
  template <class... Hints>
  void SetL2CacheHint(Hints...) {}

  /* Where `count` elements from `offset` on lie. */
  T* At(uint64_t offset, uint64_t count, const char* what) const {
    if (data_ == nullptr) millpond_kernel::Fail("%s: the GlobalTensor has no buffer; call SetGlobalBuffer first", what);
    if (size_ != kUnknown && (offset > size_ || count > size_ - offset)) {
      millpond_kernel::Fail("%s: elements %llu to %llu of a GlobalTensor of %llu", what, Number(offset),
                            Number(offset + count - 1), Number(size_));
    }
    return data_ + offset;
  }

 private:
  static constexpr uint64_t kUnknown = ~uint64_t{0};
  static unsigned long long Number(uint64_t value) { return value; }

  T* data_ = nullptr;
  uint64_t size_ = 0;
};

/* A piece of a core's own memory. */
template <class T>
class LocalTensor {
 public:
  using PrimType = T;

  LocalTensor() = default;
  LocalTensor(void* data, uint32_t bytes) : data_(static_cast<T*>(data)), bytes_(bytes) {}

  __ubuf__ T* GetPhyAddr() const { return data_; }
  __ubuf__ T* GetPhyAddr(uint32_t offset) const { return data_ + offset; }
  T GetValue(uint32_t index) const { return *At(index, 1, "GetValue"); }
  template <class V>
  void SetValue(uint32_t index, V value) const {
    *At(index, 1, "SetValue") = static_cast<T>(value);
  }
  T& operator()(uint32_t index) const { return *At(index, 1, "operator()"); }
  LocalTensor operator[](uint32_t offset) const {
    At(offset, 0, "operator[]");
    return LocalTensor(data_ + offset, bytes_ - offset * static_cast<uint32_t>(sizeof(T)));
  }
  template <class U>
  LocalTensor<U> ReinterpretCast() const {
    return LocalTensor<U>(data_, bytes_);
  }
  uint32_t GetSize() const { return bytes_ / static_cast<uint32_t>(sizeof(T)); }
  uint32_t GetLength() const { return bytes_; }
  void SetSize(uint32_t size) {
    At(0, size, "SetSize");
    bytes_ = size * static_cast<uint32_t>(sizeof(T));
  }
  template <class... Anything>
  void SetShapeInfo(const Anything&...) {}

  /* Where `count` elements from `offset` on lie. */
  T* At(uint64_t offset, uint64_t count, const char* what) const {
    if (data_ == nullptr) {
      millpond_kernel::Fail("%s: the LocalTensor has no memory; AllocTensor, DeQue and TBuf::Get give some", what);
    }
    if (offset > GetSize() || count > GetSize() - offset) {
      millpond_kernel::Fail("%s: elements %llu to %llu of a LocalTensor of %u", what,
                            static_cast<unsigned long long>(offset),
                            static_cast<unsigned long long>(offset + count - 1), GetSize());
    }
    return data_ + offset;
  }

 private:
  T* data_ = nullptr;
  uint32_t bytes_ = 0;
};

}  // namespace AscendC

#endif /* MILLPOND_ASCENDC_TENSOR_H_ */
