// SPDX-License-Identifier: Apache-2.0
#include "src/exec/model/shapes.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "src/exec/session/error.h"

namespace millpond {

namespace {

constexpr size_t kMinGears = 2;
using io::kMaxGears;
constexpr int32_t kFormatNchw = 0;
constexpr int32_t kFormatNhwc = 1;

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t at = text.find(separator);
    parts.push_back(Trimmed(text.substr(0, at)));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

bool ToNumber(std::string_view text, int64_t* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

Status WrongShape(const std::string& key, std::string_view value, const std::string& reason) {
  return OptionError(key, std::string(value),
                     reason + "; write \"name:1,3,224,224;other:-1,1~8\", with -1 or low~high for what is not fixed");
}

Status ParseDim(const std::string& key, std::string_view whole, std::string_view text, NamedShape* out) {
  const size_t tilde = text.find('~');
  int64_t low = 0;
  int64_t high = 0;
  if (tilde == std::string_view::npos) {
    if (!ToNumber(text, &low) || low < -1) {
      return WrongShape(key, whole, Format("\"%s\" is not a dimension", std::string(text).c_str()));
    }
    out->dims.push_back(low);
    out->range.emplace_back(low == -1 ? 0 : low, low);
    return Ok();
  }
  const bool numbers =
      ToNumber(Trimmed(text.substr(0, tilde)), &low) && ToNumber(Trimmed(text.substr(tilde + 1)), &high);
  if (!numbers || low < 0 || (high != -1 && high < low)) {
    return WrongShape(key, whole, Format("\"%s\" is not a range", std::string(text).c_str()));
  }
  out->dims.push_back(low == high ? low : ir::kUnknownDim);
  out->range.emplace_back(low, high);
  return Ok();
}

Status GearError(const char* key, std::string_view text, const std::string& reason) {
  return OptionError(key, std::string(text), reason);
}

Status ParseGearList(const char* key, std::string_view text, char separator, size_t width,
                     std::vector<std::vector<int64_t>>* out) {
  std::set<std::vector<int64_t>> seen;
  for (const std::string_view gear : Split(text, separator)) {
    if (gear.empty() && separator == ';') continue;  // a trailing separator
    std::vector<int64_t> values;
    for (const std::string_view part : Split(gear, ',')) {
      int64_t value = 0;
      if (!ToNumber(part, &value) || value <= 0) {
        return GearError(key, text, Format("\"%s\" is not a positive number", std::string(part).c_str()));
      }
      values.push_back(value);
    }
    if (width != 0 && values.size() != width) {
      return GearError(
          key, text, Format("\"%s\" has %zu numbers; %zu are needed", std::string(gear).c_str(), values.size(), width));
    }
    if (!seen.insert(values).second) {
      return GearError(key, text, Format("\"%s\" is there twice", std::string(gear).c_str()));
    }
    out->push_back(std::move(values));
  }
  if (out->size() < kMinGears || out->size() > kMaxGears) {
    return GearError(key, text,
                     Format("it has %zu choices; %zu to %zu are possible", out->size(), kMinGears, kMaxGears));
  }
  return Ok();
}

// ONNX and AIR graphs name an input by its Data node.
Status FindInput(const std::string& key, const std::string& name, const ir::Graph& graph, ir::Node** out) {
  std::string known;
  for (const ir::NodePtr& input : graph.inputs) {
    if (input->name == name) {
      *out = input.get();
      return Ok();
    }
    known += (known.empty() ? "" : ", ") + input->name;
  }
  return OptionError(key, name, "the model has no input of that name; its inputs are " + known);
}

void SetShape(const NamedShape& shape, ir::Node* node) {
  for (ir::TensorDesc& desc : node->outputs) {
    desc.dims = desc.origin_dims = shape.dims;
    desc.has_shape = desc.has_origin_shape = true;
    desc.range = shape.range;
  }
  for (ir::Input& input : node->inputs) {
    std::string name = std::move(input.desc.name);
    input.desc = node->outputs[0];
    input.desc.name = std::move(name);
  }
}

Status ApplyNamed(const char* key, const GraphOptions& options, ir::Graph* graph) {
  const std::string_view text = OptionOr(options, key, "");
  if (text.empty()) return Ok();
  std::vector<NamedShape> shapes;
  MP_RETURN_IF_ERROR(ParseShapes(key, text, &shapes));
  for (const NamedShape& shape : shapes) {
    ir::Node* node = nullptr;
    MP_RETURN_IF_ERROR(FindInput(key, shape.name, *graph, &node));
    const ir::TensorDesc& desc = node->outputs[0];
    // What the model itself fixes stays fixed; only what it leaves open can be said.
    if (desc.has_shape && ir::IsKnownRank(desc.dims) && desc.dims.size() != shape.dims.size()) {
      return OptionError(key, ir::TextOf(shape.dims),
                         Format("input %s has %zu dimensions in the model: %s", shape.name.c_str(), desc.dims.size(),
                                ir::TextOf(desc.dims).c_str()));
    }
    SetShape(shape, node);
  }
  return Ok();
}

Status ApplyFormat(const GraphOptions& options, ir::Graph* graph) {
  const std::string_view text = OptionOr(options, "input_format", "");
  if (text.empty() || text == "ND") return Ok();
  if (text != "NCHW" && text != "NHWC" && text != "NCDHW" && text != "NDHWC") {
    return OptionError("input_format", std::string(text), "it can be ND, NCHW, NHWC, NCDHW or NDHWC");
  }
  if (text.size() != 4) return Ok();  // five dimensions: the operators say how they read them
  for (const ir::NodePtr& input : graph->inputs) {
    for (ir::TensorDesc& desc : input->outputs) {
      if (desc.has_shape && desc.dims.size() == 4) {
        desc.format = desc.origin_format = text == "NCHW" ? kFormatNchw : kFormatNhwc;
      }
    }
  }
  return Ok();
}

const char* GearKey(io::OmGears::Kind kind) {
  switch (kind) {
    case io::OmGears::Kind::kBatch:
      return "ge.dynamicBatchSize";
    case io::OmGears::Kind::kImage:
      return "ge.dynamicImageSize";
    case io::OmGears::Kind::kDims:
    case io::OmGears::Kind::kNone:
      break;
  }
  return "ge.dynamicDims";
}

size_t UnknownDims(const ir::Dims& dims) {
  return static_cast<size_t>(std::count_if(dims.begin(), dims.end(), [](int64_t dim) { return dim < 0; }));
}

Status ValidateGears(const GraphOptions& options, const io::OmGears& gears, const ir::Graph& graph) {
  if (gears.kind == io::OmGears::Kind::kNone) return Ok();
  const char* const key = GearKey(gears.kind);
  const std::string text(OptionOr(options, key, ""));
  const std::string_view format = OptionOr(options, "input_format", "");
  const size_t height = format == "NHWC" ? 1 : 2;
  size_t open = 0;
  for (const ir::NodePtr& input : graph.inputs) {
    const ir::Dims& dims = input->outputs[0].dims;
    const char* const name = input->name.c_str();
    if (!input->outputs[0].has_shape || !ir::IsKnownRank(dims)) {
      return GearError(key, text, Format("input %s has no shape; give it one with input_shape", name));
    }
    const size_t unknown = UnknownDims(dims);
    open += unknown;
    if (unknown == 0) continue;
    if (gears.kind == io::OmGears::Kind::kBatch && (unknown != 1 || dims[0] >= 0)) {
      return GearError(
          key, text,
          Format("input %s has shape %s; only its first dimension may be -1", name, ir::TextOf(dims).c_str()));
    }
    if (gears.kind == io::OmGears::Kind::kImage &&
        (dims.size() != 4 || unknown != 2 || dims[height] >= 0 || dims[height + 1] >= 0)) {
      return GearError(key, text,
                       Format("input %s has shape %s; height and width must be -1, and input_format say which they are "
                              "(NCHW or NHWC)",
                              name, ir::TextOf(dims).c_str()));
    }
  }
  if (open == 0) return GearError(key, text, "no dimension of any input is -1; say which with input_shape");
  if (gears.kind != io::OmGears::Kind::kDims) return Ok();
  for (const std::vector<int64_t>& gear : gears.values) {
    if (gear.size() == open) continue;
    return GearError(key, text,
                     Format("a choice has %zu numbers, and the inputs have %zu dimensions of -1", gear.size(), open));
  }
  return Ok();
}

}  // namespace

Status ParseShapes(const std::string& key, std::string_view text, std::vector<NamedShape>* out) {
  for (const std::string_view part : Split(text, ';')) {
    if (part.empty()) continue;
    const size_t colon = part.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
      return WrongShape(key, text, Format("\"%s\" names no input", std::string(part).c_str()));
    }
    NamedShape shape;
    shape.name = Trimmed(part.substr(0, colon));
    std::string_view dims = Trimmed(part.substr(colon + 1));
    if (dims.size() >= 2 && dims.front() == '[' && dims.back() == ']') dims = Trimmed(dims.substr(1, dims.size() - 2));
    if (!dims.empty()) {
      for (const std::string_view dim : Split(dims, ',')) MP_RETURN_IF_ERROR(ParseDim(key, text, dim, &shape));
    }
    if (UnknownDims(shape.dims) == 0) shape.range.clear();
    for (const NamedShape& other : *out) {
      if (other.name == shape.name) return WrongShape(key, text, "input " + shape.name + " is there twice");
    }
    out->push_back(std::move(shape));
  }
  if (out->empty()) return WrongShape(key, text, "it names no input");
  return Ok();
}

Status ParseGears(const GraphOptions& options, io::OmGears* out) {
  const std::string_view batch = OptionOr(options, "ge.dynamicBatchSize", "");
  const std::string_view image = OptionOr(options, "ge.dynamicImageSize", "");
  const std::string_view dims = OptionOr(options, "ge.dynamicDims", "");
  if (int{!batch.empty()} + int{!image.empty()} + int{!dims.empty()} > 1) {
    return OptionError("ge.dynamicBatchSize, ge.dynamicImageSize, ge.dynamicDims",
                       std::string(batch) + "|" + std::string(image) + "|" + std::string(dims),
                       "they exclude each other; give one");
  }
  *out = {};
  using Kind = io::OmGears::Kind;
  if (!batch.empty()) {
    out->kind = Kind::kBatch;
    return ParseGearList("ge.dynamicBatchSize", batch, ',', 1, &out->values);
  }
  if (!image.empty()) {
    out->kind = Kind::kImage;
    return ParseGearList("ge.dynamicImageSize", image, ';', 2, &out->values);
  }
  if (!dims.empty()) {
    out->kind = Kind::kDims;
    return ParseGearList("ge.dynamicDims", dims, ';', 0, &out->values);
  }
  return Ok();
}

Status ApplyShapes(const GraphOptions& options, const io::OmGears& gears, ir::Graph* graph) {
  const bool has_shape = !OptionOr(options, "input_shape", "").empty();
  const std::string_view range = OptionOr(options, "input_shape_range", "");
  if (has_shape && !range.empty()) {
    return OptionError("input_shape_range", std::string(range), "it excludes input_shape, which takes ranges too");
  }
  MP_RETURN_IF_ERROR(ApplyNamed("input_shape", options, graph));
  MP_RETURN_IF_ERROR(ApplyNamed("input_shape_range", options, graph));
  MP_RETURN_IF_ERROR(ApplyFormat(options, graph));
  return ValidateGears(options, gears, *graph);
}

Status GearShapes(const io::OmGears& gears, size_t gear, std::span<const ir::Dims> inputs, std::vector<ir::Dims>* out) {
  const std::vector<int64_t>& values = gears.values.at(gear);
  size_t next = 0;
  out->assign(inputs.begin(), inputs.end());
  for (ir::Dims& dims : *out) {
    if (gears.kind != io::OmGears::Kind::kDims) next = 0;  // each input has the same batch, or height and width
    for (int64_t& dim : dims) {
      if (dim >= 0) continue;
      MP_CHECK(dim == ir::kUnknownDim && next < values.size(), kParseFile,
               "gear %zu has %zu sizes, which do not fill the unknown dimensions of the inputs", gear, values.size());
      dim = values[next++];
    }
  }
  return Ok();
}

}  // namespace millpond
