// SPDX-License-Identifier: Apache-2.0
// What the public values of graph building point to. Private to src/api/graph; others use access.h.
#ifndef MILLPOND_SRC_API_GRAPH_IMPL_H_
#define MILLPOND_SRC_API_GRAPH_IMPL_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "include/graph/tensor.h"
#include "src/api/common/acl_guard.h"
#include "src/base/status.h"
#include "src/graph/ir/value.h"

namespace millpond::api {

// The only friend of the public values.
struct ValueAccess {
  template <class T>
  static auto& Impl(T& object) {
    return object.impl;
  }
  static auto& Impl(ge::Shape& shape) { return shape.impl_; }
  static auto& Impl(const ge::Shape& shape) { return shape.impl_; }
};

// Building graphs has one number for all failures, and needs no device: a forked child may do it.
struct GraphAbi : RuntimeAbi {
  using Result = ge::graphStatus;
  static constexpr ge::graphStatus kSuccess = ge::GRAPH_SUCCESS;
  static constexpr ge::graphStatus kNoMemory = ge::GRAPH_FAILED;
  static ge::graphStatus Number(const Status&) { return ge::GRAPH_FAILED; }
  static bool Refuses() { return false; }
};

// For entry points that answer with a graphStatus.
template <class Body>
ge::graphStatus Answer(const char* api, Body&& body) {
  return Guard(GraphAbi(), api, body);
}

// For those that cannot answer: what the body returns, or `otherwise` after an exception, with the message left.
template <class Result, class Body>
Result Value(const char* api, Result otherwise, Body&& body) {
  static_cast<void>(Answer(api, [&]() -> Status {
    otherwise = body();
    return Status();
  }));
  return otherwise;
}

// The bytes of a tensor, on the host or the device.
class TensorMemory {
 public:
  // An empty deleter: not ours to free. `keep` is what else must live as long.
  TensorMemory(uint8_t* data, size_t size, ge::Tensor::DeleteFunc deleter, std::shared_ptr<const void> keep = nullptr)
      : data_(data), size_(size), deleter_(std::move(deleter)), keep_(std::move(keep)) {}
  ~TensorMemory();
  TensorMemory(const TensorMemory&) = delete;
  TensorMemory& operator=(const TensorMemory&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }
  // False where the caller may free the bytes while we hold them.
  bool owned() const { return deleter_ || keep_ != nullptr; }

  // A graph holds these bytes as a constant: nobody may write to them any more.
  bool constant() const { return constant_.load(std::memory_order_relaxed); }
  void SetConstant() { constant_.store(true, std::memory_order_relaxed); }

  // Lets go of the bytes without freeing them; the deleter frees them later and is never empty.
  std::unique_ptr<uint8_t[], ge::Tensor::DeleteFunc> Release();

 private:
  uint8_t* data_;
  size_t size_;
  ge::Tensor::DeleteFunc deleter_;
  std::shared_ptr<const void> keep_;
  std::atomic<bool> constant_{false};
};

// New memory with a copy of these bytes, which lie where `placement` says. pre: from != nullptr, size > 0.
Status CopyMemory(const uint8_t* from, size_t size, ir::Placement placement, std::shared_ptr<TensorMemory>* out);

}  // namespace millpond::api

namespace ge {

// The classes are pages of delegation: they read in our words, and a name of ge's own hides ours.
using namespace millpond;       // NOLINT
using namespace millpond::api;  // NOLINT

class ShapeImpl {
 public:
  millpond::ir::Dims dims;
};

class TensorDescImpl {
 public:
  TensorDescImpl() = default;
  explicit TensorDescImpl(millpond::ir::TensorDesc from) : desc(std::move(from)) {}
  TensorDescImpl(const TensorDescImpl& other);
  TensorDescImpl& operator=(const TensorDescImpl& other) = delete;

  millpond::ir::TensorDesc desc;
  std::unique_ptr<uint8_t[]> const_data;
  size_t const_bytes = 0;
};

class TensorImpl {
 public:
  millpond::ir::TensorDesc desc;
  std::shared_ptr<millpond::api::TensorMemory> memory;  // null: none
};

class AttrValueImpl {
 public:
  bool set = false;  // an Attr alone cannot say it: with nothing in it, it is an empty list
  millpond::ir::Attr attr;
};

class TensorTypeImpl {
 public:
  std::vector<DataType> types;
};

}  // namespace ge

namespace millpond::api {

// A part of what a public value points to; an empty one where the value was moved from.
template <class Object, class Impl, class Part>
const Part& Held(const Object& object, Part Impl::*part) {
  static const Part kNone;
  const auto& impl = ValueAccess::Impl(object);
  return impl == nullptr ? kNone : impl.get()->*part;
}
// The same for writing.
template <class Object, class Impl, class Part>
Part& MutableHeld(Object& object, Part Impl::*part) {
  auto& impl = ValueAccess::Impl(object);
  if (impl == nullptr) impl = std::make_shared<Impl>();
  return impl.get()->*part;
}

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_GRAPH_IMPL_H_
