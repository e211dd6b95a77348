// SPDX-License-Identifier: Apache-2.0
//
// A tensor's format as the program wrote it and as it lies in memory, and how the one's dimensions become the other's.
// 96 bytes.
#ifndef MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_STORAGE_FORMAT_H_
#define MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_STORAGE_FORMAT_H_

#include <memory>
#include <type_traits>

#include "exe_graph/runtime/expand_dims_type.h"
#include "graph/types.h"

namespace gert {

struct StorageFormat {
 public:
  StorageFormat() = default;
  StorageFormat(ge::Format written, ge::Format stored, const ExpandDimsType& expansion)
      : written_(written), stored_(stored), expansion_(expansion) {}

  ge::Format GetOriginFormat() const { return written_; }
  ge::Format GetStorageFormat() const { return stored_; }
  ExpandDimsType GetExpandDimsType() const { return expansion_; }
  void SetOriginFormat(ge::Format written) { written_ = written; }
  void SetStorageFormat(ge::Format stored) { stored_ = stored; }
  void SetExpandDimsType(const ExpandDimsType& expansion) { expansion_ = expansion; }
  ExpandDimsType& MutableExpandDimsType() { return expansion_; }

  // What is reserved takes no part.
  bool operator==(const StorageFormat& that) const {
    const bool same_formats = written_ == that.written_ && stored_ == that.stored_;
    return same_formats && expansion_ == that.expansion_;
  }
  bool operator!=(const StorageFormat& that) const { return !(*this == that); }

 private:
  ge::Format written_ = ge::FORMAT_ND;
  ge::Format stored_ = ge::FORMAT_ND;
  ExpandDimsType expansion_;
  uint8_t reserved_[40] = {};
};
static_assert(std::is_standard_layout<StorageFormat>::value && sizeof(StorageFormat) == 96, "frozen");

}  // namespace gert

#endif  // MILLPOND_INCLUDE_EXE_GRAPH_RUNTIME_STORAGE_FORMAT_H_
