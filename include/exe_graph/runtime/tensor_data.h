// SPDX-License-Identifier: Apache-2.0
//
// A tensor's memory, owned or borrowed. Layout: address at 0, manager at 8, size at 16, placement at 24, then reserved:
// 72 bytes. Moves, but does not copy; ShareFrom makes a second owner.
#ifndef MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_TENSOR_DATA_H_
#define MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_TENSOR_DATA_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "graph/error_codes.h"

namespace gert {

using TensorAddress = void*;
using ConstTensorAddressPtr = const void*;

enum TensorPlacement : int32_t {
  kOnDeviceHbm = 0,
  kOnHost = 1,
  kFollowing = 2,  // on the host, right after the tensor object
  kOnDeviceP2p = 3,
  kTensorPlacementEnd = 4  // nowhere yet
};

class TensorPlacementUtils {
 public:
  static bool IsOnDevice(TensorPlacement placement) { return IsOnDeviceHbm(placement) || IsOnDeviceP2p(placement); }
  static bool IsOnDeviceHbm(TensorPlacement placement) { return placement == kOnDeviceHbm; }
  static bool IsOnDeviceP2p(TensorPlacement placement) { return placement == kOnDeviceP2p; }
  static bool IsOnHost(TensorPlacement placement) {
    return IsOnHostNotFollowing(placement) || IsOnHostFollowing(placement);
  }
  static bool IsOnHostFollowing(TensorPlacement placement) { return placement == kFollowing; }
  static bool IsOnHostNotFollowing(TensorPlacement placement) { return placement == kOnHost; }
};

enum TensorOperateType : int32_t {
  kGetTensorAddress = 0,  // *out becomes the address of the data
  kFreeTensor = 1,        // one owner fewer; out is null
  kPlusShareCount = 2,    // one owner more; out is null
  kTensorOperateType = 3
};

// Acts on what TensorData was given as its address, which may be an object that has the data.
using TensorAddrManager = ge::graphStatus (*)(TensorAddress addr, TensorOperateType operate_type, void** out);

class TensorData {
 public:
  // Without a manager `addr` is the data itself and stays the caller's.
  explicit TensorData(TensorAddress addr = nullptr, const TensorAddrManager manager = nullptr)
      : TensorData(addr, manager, 0, kTensorPlacementEnd) {}
  explicit TensorData(TensorAddress addr, const TensorAddrManager manager, size_t size, TensorPlacement placement)
      : addr_(addr), manager_(manager), size_(size), placement_(placement), reserved_0_(0), reserved_1_{} {}
  ~TensorData() noexcept { static_cast<void>(Free()); }

  TensorData(const TensorData&) = delete;
  TensorData& operator=(const TensorData& other) = delete;
  TensorData(TensorData&& other) noexcept : TensorData() { Take(other); }
  TensorData& operator=(TensorData&& other) noexcept {
    if (this != &other) {
      static_cast<void>(Free());
      Take(other);
    }
    return *this;
  }

  // Null also when the manager cannot tell.
  TensorAddress GetAddr() const {
    if (manager_ == nullptr || addr_ == nullptr) return addr_;
    TensorAddress data = nullptr;
    return manager_(addr_, kGetTensorAddress, &data) == ge::GRAPH_SUCCESS ? data : nullptr;
  }
  // Gives the old memory back first; when that fails nothing changes.
  ge::graphStatus SetAddr(const ConstTensorAddressPtr addr, TensorAddrManager manager) {
    const ge::graphStatus freed = Free();
    if (freed != ge::GRAPH_SUCCESS) return freed;
    addr_ = const_cast<TensorAddress>(addr);
    manager_ = manager;
    return ge::GRAPH_SUCCESS;
  }

  size_t GetSize() const { return size_; }
  void SetSize(const size_t size) { size_ = size; }
  TensorPlacement GetPlacement() const { return placement_; }
  void SetPlacement(const TensorPlacement placement) { placement_ = placement; }

  // Gives the memory back; borrowed memory is kept. When it fails nothing changes.
  ge::graphStatus Free() {
    if (manager_ == nullptr) return ge::GRAPH_SUCCESS;
    const ge::graphStatus freed = manager_(addr_, kFreeTensor, nullptr);
    if (freed == ge::GRAPH_SUCCESS) {
      addr_ = nullptr;
      manager_ = nullptr;
    }
    return freed;
  }

  bool IsSharedWith(const TensorData& other) const {
    return addr_ == other.addr_ && manager_ == other.manager_ && size_ == other.size_ && placement_ == other.placement_;
  }
  // Both own the memory afterwards. When the manager refuses, this one has none.
  ge::graphStatus ShareFrom(const TensorData& other) {
    if (IsSharedWith(other)) return ge::GRAPH_SUCCESS;
    const ge::graphStatus freed = Free();
    if (freed != ge::GRAPH_SUCCESS) return freed;
    addr_ = other.addr_;
    manager_ = other.manager_;
    size_ = other.size_;
    placement_ = other.placement_;
    if (manager_ == nullptr) return ge::GRAPH_SUCCESS;
    const ge::graphStatus shared = manager_(addr_, kPlusShareCount, nullptr);
    if (shared != ge::GRAPH_SUCCESS) Forget();
    return shared;
  }
  // The caller owns the memory from here on and frees it through `manager`, which is null for borrowed memory.
  TensorAddress Release(TensorAddrManager& manager) {
    const TensorAddress addr = addr_;
    manager = manager_;
    Forget();
    return addr;
  }

 private:
  void Forget() {
    addr_ = nullptr;
    manager_ = nullptr;
    size_ = 0;
    placement_ = kTensorPlacementEnd;
  }
  // pre: this owns nothing.
  void Take(TensorData& other) {
    size_ = other.size_;
    placement_ = other.placement_;
    reserved_0_ = other.reserved_0_;
    std::memcpy(reserved_1_, other.reserved_1_, sizeof(reserved_1_));
    addr_ = other.Release(manager_);
  }

  TensorAddress addr_;
  TensorAddrManager manager_;
  size_t size_;
  TensorPlacement placement_;
  uint32_t reserved_0_;
  uint8_t reserved_1_[40];
};
static_assert(sizeof(TensorData) == 72, "frozen");

}  // namespace gert

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_TENSOR_DATA_H_
