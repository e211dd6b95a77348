// SPDX-License-Identifier: Apache-2.0
//
// A tensor's shape twice: as the program wrote it, and as it lies in memory in its format. 536 bytes.
#ifndef MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_STORAGE_SHAPE_H_
#define MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_STORAGE_SHAPE_H_

#include <type_traits>

#include "exe_graph/runtime/shape.h"

namespace gert {

struct StorageShape {
 public:
  StorageShape() = default;
  StorageShape(const std::initializer_list<int64_t>& written, const std::initializer_list<int64_t>& stored)
      : written_(written), stored_(stored) {}

  const Shape& GetOriginShape() const { return written_; }
  Shape& MutableOriginShape() { return written_; }
  const Shape& GetStorageShape() const { return stored_; }
  Shape& MutableStorageShape() { return stored_; }
  // Other names for the origin shape.
  const Shape& GetShape() const { return GetOriginShape(); }
  Shape& MutableShape() { return MutableOriginShape(); }

  bool operator==(const StorageShape& that) const { return written_ == that.written_ && stored_ == that.stored_; }
  bool operator!=(const StorageShape& that) const { return !(*this == that); }

 private:
  Shape written_;
  Shape stored_;
  uint8_t reserved_[40] = {};
};
static_assert(std::is_standard_layout<StorageShape>::value && sizeof(StorageShape) == 536, "frozen");

}  // namespace gert

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_STORAGE_SHAPE_H_
