// SPDX-License-Identifier: Apache-2.0
#include "src/exec/graph_memory.h"

#include <algorithm>
#include <bit>

#include "src/base/format.h"
#include "src/device/memory.h"
#include "src/exec/graph_variables.h"

namespace millpond::program {

Status JudgeRange(const std::string& what, const void* address, size_t given, size_t needed, size_t alignment) {
  if (needed == 0) return Ok();
  MP_REQUIRE(address != nullptr, "%s has no memory (its address is NULL); %zu bytes are needed", what.c_str(), needed);
  MP_REQUIRE(given >= needed, "%s has %zu bytes; %zu are needed", what.c_str(), given, needed);
  MP_RETURN_IF_ERROR(CheckRange("its memory", address, needed).Prefixed(what));
  const PointerInfo info = LookUp(address);
  MP_REQUIRE(
      info.kind != PointerKind::kPageable,
      "%s is at %p, which is ordinary host memory; graphs read and write device memory (aclrtMalloc), or pinned, "
      "registered or managed host memory; a tensor that lies on the host must say so by its placement",
      what.c_str(), address);
  MP_REQUIRE(reinterpret_cast<uintptr_t>(address) % alignment == 0,
             "%s is at %p, which is not a multiple of %zu; device blocks are 32-byte aligned at least", what.c_str(),
             address, alignment);
  return Ok();
}

Status JudgeTensor(const char* kind, size_t number, const GraphTensor& tensor, DType dtype, size_t needed) {
  const std::string what = Format("%s %zu", kind, number);
  if (tensor.placement == ir::Placement::kHost) {
    MP_REQUIRE(needed == 0 || tensor.data != nullptr, "%s has no memory (its address is NULL); %zu bytes are needed",
               what.c_str(), needed);
    MP_REQUIRE(tensor.bytes >= needed, "%s has %zu bytes; %zu are needed", what.c_str(), tensor.bytes, needed);
    return CheckRange("its memory", tensor.data, needed).Prefixed(what);
  }
  const auto alignment = std::bit_floor(static_cast<size_t>(std::clamp(BitsOf(dtype) / 8, 1, 8)));
  return JudgeRange(what, tensor.data, tensor.bytes, needed, alignment);
}

Status JudgeCounts(const RunArguments& run, size_t inputs, size_t outputs) {
  MP_REQUIRE(run.inputs.size() == inputs, "%zu inputs were given; the graph has %zu", run.inputs.size(), inputs);
  MP_REQUIRE(run.outputs.size() == outputs, "%zu outputs were given; the graph has %zu", run.outputs.size(), outputs);
  return Ok();
}

Status TakeBlock(MemorySource* source, const std::string& what, size_t bytes, GraphBlock* out) {
  MP_REQUIRE(source != nullptr, "%s has no memory, and the run has no allocator to take %zu bytes from", what.c_str(),
             bytes);
  const size_t asked = PaddedBytes(bytes);
  MP_RETURN_IF_ERROR(source->Take(asked, nullptr, out).Prefixed(what));
  MP_CHECK(out->address != nullptr, kOutOfMemory, "%s: the allocator gave no memory for %zu bytes", what.c_str(),
           asked);
  return Ok();
}

Status FindVariables(const Recipes& recipes, const RunArguments& run, Stream* stream, std::vector<void*>* out) {
  if (recipes.variables.empty()) return Ok();
  MP_REQUIRE(run.variables != nullptr, "the graph has %zu variables ('%s' ...), and the run has no store for them",
             recipes.variables.size(), recipes.variables[0].name.c_str());
  for (const VariableInfo& variable : recipes.variables) {
    out->push_back(nullptr);
    MP_RETURN_IF_ERROR(
        run.variables->Obtain(stream->device(), variable.name, variable.desc, variable.initial, &out->back()));
  }
  return Ok();
}

}  // namespace millpond::program
