// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/recipe_sources.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "src/base/format.h"
#include "src/device/memory/memory.h"
#include "src/graph/io/files.h"
#include "src/graph/passes/kinds.h"

namespace millpond::program {
namespace {

int64_t IntegerOf(const ir::Node& node, std::string_view name) {
  const ir::Attr* attribute = node.FindAttr(name);
  const auto* value = attribute != nullptr ? attribute->As<int64_t>() : nullptr;
  return value != nullptr ? *value : 0;
}

// A constant whose bytes lie in a file, from an offset on.
Status ReadConstant(const ir::Node& node, ir::TensorPtr* out) {
  const ir::Attr* attribute = node.FindAttr("file_path");
  const auto* path = attribute != nullptr ? attribute->As<std::string>() : nullptr;
  MP_CHECK(path != nullptr && !path->empty(), kUnsupported,
           "its bytes are named by 'file_id' alone; give 'file_path', the file they lie in");
  io::FileBytes file;
  MP_RETURN_IF_ERROR(io::ReadFile(*path, &file));
  const int64_t offset = IntegerOf(node, "offset");
  MP_REQUIRE(offset >= 0 && static_cast<size_t>(offset) <= file.bytes.size(),
             "attribute 'offset' is %lld; %s has %zu bytes", static_cast<long long>(offset), path->c_str(),
             file.bytes.size());
  auto tensor = std::make_shared<ir::Tensor>();
  tensor->desc = node.outputs[0];
  const auto bytes = file.bytes.subspan(static_cast<size_t>(offset));
  tensor->data = {bytes.data(), bytes.size(), file.keep};
  *out = std::move(tensor);
  return Ok();
}

}  // namespace

Status MakeConstant(const ir::Node& node, Recipes* recipes, NodeInfo* info) {
  ir::TensorPtr tensor = passes::ConstantOf(node);
  if (node.type == "FileConstant") MP_RETURN_IF_ERROR(ReadConstant(node, &tensor));
  MP_REQUIRE(tensor != nullptr, "it has no attribute 'value' that is a tensor");
  const ir::TensorDesc& desc = tensor->desc;
  const int64_t needed = ir::IsStatic(desc.dims) ? ir::BytesOf(desc.dtype, desc.dims) : -1;
  MP_REQUIRE(needed >= 0, "its value of type %s and shape %s has no known size", DTypeName(desc.dtype),
             ir::TextOf(desc.dims).c_str());
  MP_REQUIRE(tensor->data.size >= static_cast<size_t>(needed), "its value has %zu bytes; shape %s of %s needs %lld",
             tensor->data.size, ir::TextOf(desc.dims).c_str(), DTypeName(desc.dtype), static_cast<long long>(needed));
  info->constant = tensor;
  info->position = static_cast<uint32_t>(recipes->constants.size());
  recipes->constants.push_back(std::move(tensor));
  return Ok();
}

Status MakeFixed(const ir::Node& node, NodeInfo* info) {
  const int64_t address = IntegerOf(node, "addr");
  const int64_t bytes = IntegerOf(node, "size");
  MP_REQUIRE(!node.outputs.empty() && node.outputs[0].is_static(), "its shape must be known");
  const int64_t needed = ir::BytesOf(node.outputs[0].dtype, node.outputs[0].dims);
  MP_REQUIRE(address != 0 || needed == 0,
             "attribute 'addr' is 0: it must be the address of the value in device memory");
  MP_REQUIRE(needed >= 0 && bytes >= needed, "attribute 'size' is %lld; shape %s of %s needs %lld bytes",
             static_cast<long long>(bytes), ir::TextOf(node.outputs[0].dims).c_str(), DTypeName(node.outputs[0].dtype),
             static_cast<long long>(needed));
  info->fixed = reinterpret_cast<void*>(static_cast<uintptr_t>(address));
  MP_RETURN_IF_ERROR(CheckRange("the memory at 'addr'", info->fixed, static_cast<size_t>(needed)));
  MP_REQUIRE(needed == 0 || LookUp(info->fixed).kind != PointerKind::kPageable,
             "attribute 'addr' is %p, which is ordinary host memory; it must be the address of the value in device "
             "memory",
             info->fixed);
  return Ok();
}

Status MakeVariable(const ir::Node& node, Recipes* recipes, NodeInfo* info) {
  MP_REQUIRE(!node.outputs.empty(), "it has no output");
  VariableInfo variable{node.name, node.outputs[0], nullptr};
  const ir::Attr* shared = node.FindAttr("shared_name");
  const auto* text = shared != nullptr ? shared->As<std::string>() : nullptr;
  if (text != nullptr && !text->empty()) variable.name = *text;
  const ir::Attr* value = node.FindAttr("value");
  if (value != nullptr && value->As<ir::TensorPtr>() != nullptr) variable.initial = *value->As<ir::TensorPtr>();
  if (variable.initial != nullptr && variable.initial->data.size == 0) variable.initial = nullptr;
  if (!variable.desc.is_static() && variable.initial != nullptr) {
    variable.desc.dims = variable.initial->desc.dims;
    variable.desc.dtype = variable.initial->desc.dtype;
    variable.desc.has_shape = true;
  }
  MP_REQUIRE(variable.desc.is_static() && ir::BytesOf(variable.desc.dtype, variable.desc.dims) >= 0,
             "a variable needs a known shape and type; shape %s of %s was given",
             ir::TextOf(variable.desc.dims).c_str(), DTypeName(variable.desc.dtype));
  const auto found = std::find_if(recipes->variables.begin(), recipes->variables.end(),
                                  [&](const VariableInfo& other) { return other.name == variable.name; });
  info->position = static_cast<uint32_t>(found - recipes->variables.begin());
  if (found == recipes->variables.end()) recipes->variables.push_back(std::move(variable));
  return Ok();
}

}  // namespace millpond::program
