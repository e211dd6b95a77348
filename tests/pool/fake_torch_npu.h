// SPDX-License-Identifier: Apache-2.0
// The shape of torch_npu's stream class: same name, same layout, passed by hidden reference because of its destructor.
// It stands in for libtorch_npu.so, whose SONAME the library of fake_torch_npu.cc has.
#ifndef MILLPOND_TESTS_POOL_FAKE_TORCH_NPU_H_
#define MILLPOND_TESTS_POOL_FAKE_TORCH_NPU_H_

#include <cstdint>
#include <map>

namespace c10_npu {

class __attribute__((visibility("default"))) NPUStream {
 public:
  NPUStream(int8_t device, int64_t id) : device_index_(device), id_(id) {}
  ~NPUStream() {}  // NOLINT: not defaulted, which makes the class non-trivial
  NPUStream(const NPUStream&) = default;
  NPUStream& operator=(const NPUStream&) = default;

  void* stream() const;
  static std::map<int64_t, void*>& registered();

 private:
  int8_t device_type_ = 20;  // PrivateUse1
  int8_t device_index_;
  int64_t id_;
};

}  // namespace c10_npu

#endif  // MILLPOND_TESTS_POOL_FAKE_TORCH_NPU_H_
