// SPDX-License-Identifier: Apache-2.0
// Memory that a client gives a compiled graph. Every refusal is the caller's mistake in the sequence or the argument;
// which number that becomes is the door's business.
#include <algorithm>

#include "src/base/mutex.h"
#include "src/device/memory/memory.h"
#include "src/exec/session/error.h"
#include "src/exec/session/numbered_graph.h"

namespace millpond::session {

namespace {

Status Refused(uint32_t id, const char* reason) {
  return SequenceError(Code::kInvalidArgument, Format("graph %u %s", id, reason));
}

}  // namespace

Status NumberedGraph::CheckBaseState(bool may_be_loaded) const {
  if (running_ != 0) return Refused(id_, "is running; set memory between runs");
  if (loaded_ != nullptr && !may_be_loaded) {
    return Refused(id_, "is loaded; set this memory before LoadGraph or the first run");
  }
  if (program_ == nullptr) {
    return SequenceError(Code::kGraphNotBuilt, Format("graph %u is not compiled; call CompileGraph first", id_));
  }
  return Ok();
}

Status NumberedGraph::CheckBaseMemory(const char* what, const void* memory, size_t bytes, size_t needed) const {
  if (memory == nullptr) return Refused(id_, Format("cannot use a null pointer as %s memory", what).c_str());
  if (bytes < needed) {
    return SequenceError(Code::kInvalidArgument, Format("graph %u needs %zu bytes of %s memory, and %zu were given; "
                                                        "GetCompiledGraphSummary tells the size",
                                                        id_, needed, what, bytes));
  }
  if (needed == 0) return Ok();
  return GuardedAllocator::CheckDeviceMemory(memory, needed)
      .Prefixed(Format("the %s memory of graph %u is unusable", what, id_));
}

Status NumberedGraph::SetConstBase(const void* memory, size_t bytes) {
  Busy busy(this);
  MP_RETURN_IF_ERROR(busy.TakeStatus());
  MutexLock lock(mutex_);
  MP_RETURN_IF_ERROR(CheckBaseState(false));
  if (!program_->is_static()) return Refused(id_, "has unknown shapes: its memory is found as it runs");
  if (const_base_ != nullptr) return Refused(id_, "has const memory already; it can be set once").Breaks("MP313");
  MP_RETURN_IF_ERROR(CheckBaseMemory("const", memory, bytes, program_->const_bytes()));
  const_base_ = const_cast<void*>(memory);
  return Ok();
}

Status NumberedGraph::UpdateFeatureBase(const void* memory, size_t bytes) { return UpdateBase(false, memory, bytes); }
Status NumberedGraph::UpdateRefreshableBase(const void* memory, size_t bytes) {
  return UpdateBase(true, memory, bytes);
}

// Both are the memory that runs need; a graph has one or the other.
Status NumberedGraph::UpdateBase(bool refreshable_part, const void* memory, size_t bytes) {
  Busy busy(this);
  MP_RETURN_IF_ERROR(busy.TakeStatus());
  MutexLock lock(mutex_);
  MP_RETURN_IF_ERROR(CheckBaseState(true));
  if (!program_->is_static()) return Refused(id_, "has unknown shapes: its memory is found as it runs");
  const char* const what = refreshable_part ? "refreshable feature" : "feature";
  if ((refreshable_part ? feature_base_ : refreshable_base_) != nullptr) {
    return Refused(id_, Format("has %s memory; UpdateGraphFeatureMemoryBase and "
                               "UpdateGraphRefreshableFeatureMemoryBase exclude each other",
                               refreshable_part ? "feature" : "refreshable feature")
                            .c_str())
        .Breaks("MP314");
  }
  MP_RETURN_IF_ERROR(
      CheckBaseMemory(what, memory, bytes, std::max(program_->feature_bytes(), program::kMinFeatureBytes)));
  void*& base = refreshable_part ? refreshable_base_ : feature_base_;
  if (loaded_ != nullptr && !refreshable()) {
    return Refused(id_, "is loaded, and its feature memory cannot change: ge.featureBaseRefreshable is not 1");
  }
  if (base != nullptr && !refreshable()) {
    return Refused(id_, Format("has %s memory already: ge.featureBaseRefreshable is not 1", what).c_str());
  }
  base = const_cast<void*>(memory);
  if (loaded_ != nullptr) loaded_->GiveFeature(base);
  return Ok();
}

// No graph here has a part whose address may not change, so there is nothing to keep the memory for: after the checks
// the call is done, as it is for a type that a graph has no fixed memory of (docs/compat.md, "Rules of sessions").
Status NumberedGraph::SetFixedBase(MemoryType type, const void* memory, size_t bytes) {
  Busy busy(this);
  MP_RETURN_IF_ERROR(busy.TakeStatus());
  MutexLock lock(mutex_);
  MP_RETURN_IF_ERROR(CheckBaseState(false));
  const bool none = memory == nullptr && bytes == 0;
  if (type == MemoryType::kP2p && none) {
    return Refused(id_, "cannot do without fixed memory of type MEMORY_TYPE_P2P; give an address");
  }
  if (type == MemoryType::kDefault && feature_base_ != nullptr) {
    return Refused(id_, "has feature memory, which holds the fixed part; set the fixed part alone or neither")
        .Breaks("MP314");
  }
  if (none && OptionOr(options_, "ge.exec.staticMemoryPolicy", "0") == "4") {
    return Refused(id_, "cannot do without fixed memory: ge.exec.staticMemoryPolicy is 4");
  }
  if (type != MemoryType::kDefault && type != MemoryType::kP2p) {
    return OptionError("type", std::to_string(static_cast<int64_t>(type)),
                       "it must be MEMORY_TYPE_DEFAULT (0) or MEMORY_TYPE_P2P (1)");
  }
  if (memory == nullptr && bytes > 0) return Refused(id_, "cannot use a null pointer as fixed feature memory");
  return Ok();
}

}  // namespace millpond::session
