// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/single_op_load.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>
#include <vector>

#include "src/base/folder.h"
#include "src/base/format.h"
#include "src/base/log.h"
#include "src/exec/op/single_op_models.h"
#include "src/graph/io/files.h"
#include "src/graph/passes/node_door.h"

namespace millpond {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLevels = 3;  // documented: the folder, and two below

SingleOpTensor DescribeTensor(const ir::TensorDesc& desc) {
  SingleOpTensor tensor;
  tensor.dtype = desc.dtype;
  tensor.format = desc.format;
  tensor.dims = desc.dims;
  tensor.ranges = desc.range;
  if (desc.attributes == nullptr) return tensor;
  const auto found = desc.attributes->find(io::kConstValue);
  const auto* value = found == desc.attributes->end() ? nullptr : found->second.As<ir::TensorPtr>();
  if (value != nullptr && *value != nullptr) {
    const auto* bytes = reinterpret_cast<const char*>((*value)->data.data);
    tensor.constant.assign(bytes, bytes + (*value)->data.size);
  }
  return tensor;
}

// The operator must be one that we have, with these operands and attributes.
Status ReadModel(std::span<const std::byte> file, SingleOpDesc* out) {
  io::OmSingleOp model;
  MP_RETURN_IF_ERROR(io::ReadOm(file, nullptr, &model));
  SingleOp op;
  SingleOpFault fault = SingleOpFault::kNone;
  MP_RETURN_IF_ERROR(FindSingleOp(DescribeModel(model), &op, &fault));
  MP_RETURN_IF_ERROR(TrySingleOp(op));
  *out = std::move(op.desc);
  return Ok();
}

Status ReadFolder(const fs::path& folder, int level, std::vector<SingleOpDesc>* out) {
  std::error_code error;
  std::vector<fs::path> entries;
  const bool read = ForEachName(folder.c_str(), [&](std::string_view name) { entries.push_back(folder / name); });
  MP_CHECK(read, kInvalidFile, "folder %s cannot be read: %s", folder.c_str(), std::strerror(errno));
  std::sort(entries.begin(), entries.end());
  for (const fs::path& path : entries) {
    if (fs::is_directory(path, error)) {
      if (level < kMaxLevels) MP_RETURN_IF_ERROR(ReadFolder(path, level + 1, out));
      continue;
    }
    if (path.extension() != ".om") continue;
    io::FileBytes read;
    MP_RETURN_IF_ERROR(io::ReadFile(path.string(), &read));
    const std::span<const std::byte> file = read.bytes;
    io::OmKind kind = io::OmKind::kModel;
    MP_RETURN_IF_ERROR(io::CheckOm(file, &kind).Prefixed(path.string()));
    if (kind != io::OmKind::kSingleOp) {
      log::Write(log::Level::kWarning, log::kAscendCl,
                 path.string() + " is not a model of a single operator; left alone");
      continue;
    }
    out->emplace_back();
    MP_RETURN_IF_ERROR(ReadModel(file, &out->back()).Prefixed(path.string()));
  }
  return Ok();
}

}  // namespace

SingleOpDesc DescribeModel(const io::OmSingleOp& model) {
  SingleOpDesc desc;
  desc.type = model.type;
  for (const ir::TensorDesc& input : model.inputs) desc.inputs.push_back(DescribeTensor(input));
  for (const ir::TensorDesc& output : model.outputs) desc.outputs.push_back(DescribeTensor(output));
  desc.attributes = passes::DoorAttributes(model.attributes);
  return desc;
}

Status LoadSingleOpModel(std::span<const std::byte> file) {
  SingleOpDesc desc;
  MP_RETURN_IF_ERROR(ReadModel(file, &desc));
  SingleOpModels::Get().AddLoaded(std::move(desc));
  return Ok();
}

Status LoadSingleOpModels(const std::string& folder) {
  std::error_code error;
  MP_CHECK(fs::is_directory(folder, error), kInvalidFile, "%s is not a folder that can be read", folder.c_str());
  std::vector<SingleOpDesc> models;
  MP_RETURN_IF_ERROR(ReadFolder(folder, 1, &models));
  for (SingleOpDesc& model : models) SingleOpModels::Get().AddLoaded(std::move(model));
  return Ok();
}

}  // namespace millpond
