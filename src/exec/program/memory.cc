// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/memory.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/base/format.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/device/stream/stream.h"
#include "src/exec/program/variables.h"

namespace millpond::program {

Status ValidateRange(const std::string& what, const void* address, size_t given, size_t needed, size_t alignment) {
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

Status ValidateTensor(const char* kind, size_t number, const Tensor& tensor, DType dtype, size_t needed) {
  const std::string what = Format("%s %zu", kind, number);
  if (tensor.placement == ir::Placement::kHost) {
    MP_REQUIRE(needed == 0 || tensor.data != nullptr, "%s has no memory (its address is NULL); %zu bytes are needed",
               what.c_str(), needed);
    MP_REQUIRE(tensor.bytes >= needed, "%s has %zu bytes; %zu are needed", what.c_str(), tensor.bytes, needed);
    return CheckRange("its memory", tensor.data, needed).Prefixed(what);
  }
  const auto alignment = std::bit_floor(static_cast<size_t>(std::clamp(BitsOf(dtype) / 8, 1, 8)));
  return ValidateRange(what, tensor.data, tensor.bytes, needed, alignment);
}

Status ValidateCounts(const RunArguments& run, size_t inputs, size_t outputs) {
  MP_REQUIRE(run.inputs.size() == inputs, "%zu inputs were given; the graph has %zu", run.inputs.size(), inputs);
  MP_REQUIRE(run.outputs.size() == outputs, "%zu outputs were given; the graph has %zu", run.outputs.size(), outputs);
  return Ok();
}

namespace {

Status CheckReach(const std::string& what, const void* address, const Stream& stream) {
  const int32_t owner = DeviceOfAddress(address), own = stream.device()->id();
  MP_CHECK(owner < 0 || owner == own || stream.device()->MayReach(owner), kRuntimeArgument,
           "%s is memory of device %d, and the graph runs on a stream of device %d, which may not reach it; call "
           "aclrtDeviceEnablePeerAccess(%d, 0) while device %d is current",
           what.c_str(), owner, own, owner, own);
  return Ok();
}

Status CheckReach(const char* kind, std::span<const Tensor> tensors, const Stream& stream) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].placement == ir::Placement::kHost || DeviceOfAddress(tensors[i].data) == stream.device()->id()) {
      continue;
    }
    MP_RETURN_IF_ERROR(CheckReach(Format("%s %zu", kind, i), tensors[i].data, stream));
  }
  return Ok();
}

}  // namespace

Status ValidateReach(const RunArguments& run, const Stream& stream) {
  MP_RETURN_IF_ERROR(CheckReach("input", run.inputs, stream));
  MP_RETURN_IF_ERROR(CheckReach("output", run.outputs, stream));
  MP_RETURN_IF_ERROR(CheckReach("constant memory", run.const_base, stream));
  return CheckReach("feature memory", run.feature_base, stream);
}

Status TakeBlock(MemorySource* source, const std::string& what, size_t bytes, Block* out) {
  MP_REQUIRE(source != nullptr, "%s has no memory, and the run has no allocator to take %zu bytes from", what.c_str(),
             bytes);
  const size_t asked = PaddedBytes(bytes);
  MP_RETURN_IF_ERROR(source->Take(asked, out).Prefixed(what));
  MP_CHECK(out->address != nullptr, kOutOfMemory, "%s: the allocator gave no memory for %zu bytes", what.c_str(),
           asked);
  return Ok();
}

Status TakeOutputs(const Program& program, const std::string& whose, MemorySource* source, MemorySource* for_empty,
                   std::span<Tensor> outputs) {
  const auto has_memory = [](const Tensor& output) { return output.data != nullptr; };
  if (std::all_of(outputs.begin(), outputs.end(), has_memory)) return Ok();
  const std::span<const ir::TensorDesc> made = program.outputs();
  std::vector<Block> taken(std::min(made.size(), outputs.size()));
  for (size_t i = 0; i < taken.size(); ++i) {
    if (outputs[i].data != nullptr) continue;
    const int64_t exact = ir::BytesOf(made[i].dtype, made[i].dims);
    MP_CHECK(exact >= 0, kUnsupported, "output %zu of %s has a type of no fixed size", i, whose.c_str());
    const auto bytes = static_cast<size_t>(exact);
    const std::string what = Format("no memory for output %zu of %s (%zu bytes)", i, whose.c_str(), PaddedBytes(bytes));
    MP_RETURN_IF_ERROR(TakeBlock(bytes == 0 ? for_empty : source, what, bytes, &taken[i]));
  }
  for (size_t i = 0; i < taken.size(); ++i) {
    if (!taken[i]) continue;
    outputs[i].placement = ir::Placement::kDevice;
    outputs[i].data = taken[i].address;
    outputs[i].bytes = taken[i].bytes;
    outputs[i].owner = std::move(taken[i].owner);
  }
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
