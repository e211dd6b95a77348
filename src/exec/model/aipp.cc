// SPDX-License-Identifier: Apache-2.0
#include "src/exec/model/aipp.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "src/base/files.h"
#include "src/exec/model/types.h"
#include "src/exec/program/compiled.h"
#include "src/exec/session/error.h"
#include "src/graph/passes/fuse_tools.h"
#include "src/graph/passes/precision.h"

namespace millpond {

namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 20;
constexpr int32_t kFormatNhwc = 1;
constexpr int32_t kMaxSide = 4096;

bool Fits(int64_t wanted, int64_t given) { return wanted < 0 || wanted == given; }

Status CheckChannels(const aipp::Header& header, int64_t channels) {
  const bool converts = header.convert != 0;
  bool fits = channels < 0;
  switch (header.format) {
    case aipp::kGray:
      MP_REQUIRE(!converts, "the pictures are YUV400_U8, which have no colours for a matrix to convert");
      fits = fits || channels == 1;
      break;
    case aipp::kYuv420:
      fits = fits || channels == 3 || channels == 1;
      break;
    case aipp::kXrgb:
      fits = fits || channels == 3 || channels == (converts ? 1 : 4);
      break;
    default:
      fits = fits || channels == 3 || (converts && channels == 1);
      break;
  }
  MP_REQUIRE(fits, "the model reads %lld channels, and pictures of format %d %s do not give so many",
             static_cast<long long>(channels), header.format, converts ? "with a colour conversion" : "as they are");
  return Ok();
}

Status CheckPart(const aipp::Header& header, const aipp::Record& record) {
  if (record.crop == 0) return Ok();
  MP_REQUIRE(record.left >= 0 && record.top >= 0 && record.part_width > 0 && record.part_height > 0 &&
                 record.part_width <= header.width - record.left && record.part_height <= header.height - record.top,
             "the part to cut out is %d x %d (width x height) at (%d, %d), and the picture %d x %d", record.part_width,
             record.part_height, record.left, record.top, header.width, header.height);
  MP_REQUIRE(header.format != aipp::kYuv420 || (record.left % 2 == 0 && record.top % 2 == 0),
             "the part to cut out begins at (%d, %d); in a YUV420SP_U8 picture both must be even", record.left,
             record.top);
  return Ok();
}

// Which input a group is about.
Status FindInput(const io::AippConfig& config, const ir::Graph& graph, size_t* out) {
  if (config.input_name.empty()) {
    MP_REQUIRE(config.input < graph.inputs.size(), "related_input_rank is %zu; the model has %zu inputs, from 0",
               config.input, graph.inputs.size());
    *out = config.input;
    return Ok();
  }
  for (size_t i = 0; i < graph.inputs.size(); ++i) {
    if (graph.inputs[i]->name != config.input_name) continue;
    *out = i;
    return Ok();
  }
  return InvalidArgument(
      Format("related_input_name is \"%s\"; the model has no input of that name", config.input_name.c_str()));
}

Status CheckWanted(const ir::Node& input) {
  const ir::TensorDesc& desc = input.outputs.at(0);
  const char* const name = input.name.c_str();
  const bool has_rank = desc.has_shape && ir::IsKnownRank(desc.dims);
  MP_REQUIRE(has_rank && (desc.dims.size() == 3 || desc.dims.size() == 4),
             "input %s has shape %s; a picture has 3 dimensions or 4, with the batch", name,
             has_rank ? ir::TextOf(desc.dims).c_str() : "[-2]");
  MP_CHECK(desc.dtype == DType::kFloat || desc.dtype == DType::kHalf || desc.dtype == DType::kUint8, kUnsupported,
           "input %s is %s; AIPP makes floats, halves and uint8", name, DTypeName(desc.dtype));
  return Ok();
}

// One group, for the model's own size where that is fixed.
Status CheckConfig(const AippInput& input) {
  if (input.config.dynamic) return Ok();
  aipp::Header header = input.config.header;
  aipp::Record record = input.config.record;
  const AippSizes wanted = AippSizesOf(input.wanted, input.wanted.dims);
  if (wanted.size.height < 0 || wanted.size.width < 0) {
    MP_REQUIRE(record.crop == 0 && record.pad == 0 && header.width == 0 && header.height == 0,
               "the model's images have several sizes; then crop and padding must be off, and src_image_size_w and "
               "src_image_size_h 0");
    return CheckChannels(header, wanted.channels);
  }
  CompleteAipp(wanted, &header, &record);
  return CheckAipp(header, record, wanted);
}

ir::TensorDesc Described(const char* name, DType dtype, ir::Dims dims) {
  ir::TensorDesc desc;
  desc.name = name;
  desc.dtype = dtype;
  desc.dims = desc.origin_dims = std::move(dims);
  desc.has_shape = desc.has_origin_shape = true;
  return desc;
}

void Redescribe(const ir::TensorDesc& desc, ir::Node* data) {
  for (ir::TensorDesc& output : data->outputs) {
    const std::string name = std::move(output.name);
    output = desc;
    output.name = name;
  }
  for (ir::Input& input : data->inputs) {
    const std::string name = std::move(input.desc.name);
    input.desc = desc;
    input.desc.name = name;
  }
}

// An input more, for the parameters of a run.
Status AddParameterInput(int64_t pictures, ir::Graph* graph, ir::NodePtr* out) {
  auto data = std::make_shared<ir::Node>(passes::FreeName(*graph, kAippInput), "Data");
  data->outputs.push_back(
      Described("y", DType::kUint8, {static_cast<int64_t>(aipp::BlockBytes(static_cast<size_t>(pictures)))}));
  data->inputs.emplace_back().desc = data->outputs[0];
  data->inputs[0].desc.name = "x";
  data->attributes["index"].value = static_cast<int64_t>(graph->inputs.size());
  MP_RETURN_IF_ERROR(graph->AddNode(data));
  graph->inputs.push_back(data);
  *out = std::move(data);
  return Ok();
}

// The parameters of static AIPP, as a constant.
Status AddParameters(const AippInput& input, const AippSizes& wanted, const ir::NodePtr& data, passes::Fuser* fuser,
                     ir::NodePtr* out) {
  aipp::Header header = input.config.header;
  aipp::Record record = input.config.record;
  header.records = 1;
  CompleteAipp(wanted, &header, &record);
  MP_RETURN_IF_ERROR(CheckAipp(header, record, wanted));
  std::byte block[aipp::BlockBytes(1)];
  std::memcpy(block, &header, sizeof header);
  std::memcpy(block + sizeof header, &record, sizeof record);
  return fuser->NewConst(*data, DType::kUint8, {static_cast<int64_t>(sizeof block)}, block, out);
}

Status InsertOne(const AippInput& input, ir::Graph* graph) {
  const ir::NodePtr data = graph->inputs.at(input.input);
  const ir::TensorDesc wanted = data->outputs.at(0);
  MP_REQUIRE(ir::IsStatic(wanted.dims),
             "input %s has AIPP and shape %s; give it a shape or sizes to choose from, as a picture's must be known",
             data->name.c_str(), ir::TextOf(wanted.dims).c_str());
  const AippSizes sizes = AippSizesOf(wanted, wanted.dims);
  const auto reads = data->Reads();
  passes::Fuser fuser(graph);
  ir::NodePtr parameters;
  MP_RETURN_IF_ERROR(input.config.dynamic ? AddParameterInput(sizes.pictures, graph, &parameters)
                                          : AddParameters(input, sizes, data, &fuser, &parameters));
  ir::TensorDesc pictures = Described("", DType::kUint8, AippMemory(input, wanted.dims));
  if (input.config.dynamic) {  // a run says how large its pictures are, and may bring no more than those
    pictures.attributes = std::make_shared<ir::Attributes>();
    (*pictures.attributes)[program::kAnyLength].value = true;
  }
  Redescribe(pictures, data.get());
  // The card's results are halves; what the model itself reads may be wider.
  ir::TensorDesc made = wanted;
  made.dtype = wanted.dtype == DType::kUint8 ? DType::kUint8 : DType::kHalf;
  ir::Attributes attributes;
  attributes["shape"].value = wanted.dims;
  attributes["type"].value = made.dtype;
  attributes["shared"].value = !input.config.dynamic;
  attributes["channels_last"].value = sizes.channels_last;
  attributes["padding"].value = input.config.dynamic ? 0.0F : input.config.padding;
  ir::NodePtr aipp;
  const passes::Fuser::Operand operands[] = {{"images", {data, 0}}, {"params", {parameters, 0}}};
  MP_RETURN_IF_ERROR(fuser.NewNode("MillpondAipp", *data, operands, made, std::move(attributes), &aipp));
  if (made.dtype != wanted.dtype) MP_RETURN_IF_ERROR(passes::AddCast(graph, {aipp, 0}, wanted.dtype, &aipp));
  MP_RETURN_IF_ERROR(ReadInstead(graph, reads, data, aipp));
  fuser.Finish();
  return Ok();
}

}  // namespace

Status ReadAippFile(GraphOptions* options) {
  const auto named = options->extract(kAippFile);
  if (named.empty() || named.mapped().empty()) return Ok();
  const std::string& path = named.mapped();
  for (const char* other : {"ge.INPUT_NODES_SET_FP16", "ge.dynamicDims"}) {
    if (OptionOr(*options, other, "").empty()) continue;
    return OptionError(kAippFile, path, Format("%s is given too; they exclude each other", other));
  }
  std::string text;
  const Status read = files::Read(path, "the AIPP configuration", kMaxFileBytes, &text);
  if (!read.ok()) return OptionError(kAippFile, path, read.message());
  std::vector<io::AippConfig> configs;
  const Status parsed = io::ParseAippConfig(text, &configs);
  if (!parsed.ok()) return OptionError(kAippFile, path, "AIPP: " + parsed.message());
  (*options)[kAippText] = std::move(text);
  return Ok();
}

Status RefuseAipp(const GraphOptions& options) {
  if (OptionOr(options, kAippFile, "").empty()) return Ok();
  return UnsupportedError(
      Format("option %s asks for image preprocessing (AIPP), which offline models have (atc, aclgrphBuildModel) and "
             "graphs of a "
             "session do not",
             kAippFile));
}

Status FindAipp(const GraphOptions& options, const ir::Graph& graph, std::vector<AippInput>* out) {
  const std::string_view text = OptionOr(options, kAippText, "");
  if (text.empty()) return Ok();
  std::vector<io::AippConfig> configs;
  MP_RETURN_IF_ERROR(io::ParseAippConfig(text, &configs));
  for (io::AippConfig& config : configs) {
    AippInput input;
    MP_RETURN_IF_ERROR(FindInput(config, graph, &input.input));
    const ir::Node& node = *graph.inputs[input.input];
    for (const AippInput& other : *out) {
      MP_REQUIRE(other.input != input.input, "two groups are about input %s", node.name.c_str());
    }
    MP_RETURN_IF_ERROR(CheckWanted(node));
    input.config = std::move(config);
    input.wanted = node.outputs[0];
    MP_RETURN_IF_ERROR(CheckConfig(input).Prefixed("input " + node.name));
    out->push_back(std::move(input));
  }
  return Ok();
}

AippSizes AippSizesOf(const ir::TensorDesc& wanted, const ir::Dims& dims) {
  AippSizes sizes;
  const size_t first = dims.size() - 3;  // after the batch, if there is one
  if (first == 1) sizes.pictures = dims[0];
  sizes.channels_last = wanted.format == kFormatNhwc;
  sizes.channels = dims[sizes.channels_last ? first + 2 : first];
  sizes.size.height = dims[sizes.channels_last ? first : first + 1];
  sizes.size.width = dims[sizes.channels_last ? first + 1 : first + 2];
  return sizes;
}

Status CheckAipp(const aipp::Header& header, const aipp::Record& record, const AippSizes& wanted) {
  MP_REQUIRE(aipp::BytesOfTwo(header.format) != 0, "the pictures have no format; aclmdlSetAIPPInputFormat says it");
  MP_REQUIRE(header.width >= 2 && header.width <= kMaxSide && header.height >= 1 && header.height <= kMaxSide,
             "the pictures are %d x %d (width x height); AIPP takes 2 x 1 to 4096 x 4096 (aclmdlSetAIPPSrcImageSize, "
             "src_image_size_w and src_image_size_h)",
             header.width, header.height);
  MP_REQUIRE(header.format != aipp::kYuv420 || (header.width % 2 == 0 && header.height % 2 == 0),
             "the pictures are %d x %d; those of format YUV420SP_U8 have an even width and height", header.width,
             header.height);
  MP_CHECK(record.resize == 0 && record.rotate == 0, kUnsupported,
           "AIPP resizes and turns no pictures: CANN's pages reserve it");
  MP_RETURN_IF_ERROR(CheckPart(header, record));
  const aipp::Size result = aipp::ResultOf(header, record);
  MP_REQUIRE(Fits(wanted.size.height, result.height) && Fits(wanted.size.width, result.width),
             "cropping and padding make %lld x %lld (width x height), and the model reads %lld x %lld",
             static_cast<long long>(result.width), static_cast<long long>(result.height),
             static_cast<long long>(wanted.size.width), static_cast<long long>(wanted.size.height));
  return CheckChannels(header, wanted.channels);
}

void CompleteAipp(const AippSizes& wanted, aipp::Header* header, aipp::Record* record) {
  if (record->pad != 0) return;
  if (record->crop == 0) {
    if (header->width == 0) header->width = static_cast<int32_t>(wanted.size.width);
    if (header->height == 0) header->height = static_cast<int32_t>(wanted.size.height);
    return;
  }
  if (record->part_width == 0) record->part_width = static_cast<int32_t>(wanted.size.width);
  if (record->part_height == 0) record->part_height = static_cast<int32_t>(wanted.size.height);
}

ir::Dims AippDims(const AippInput& input, const ir::Dims& dims) {
  if (input.config.dynamic) return dims;
  const AippSizes wanted = AippSizesOf(input.wanted, dims);
  aipp::Header header = input.config.header;
  aipp::Record record = input.config.record;
  CompleteAipp(wanted, &header, &record);
  const bool gray = header.format == aipp::kGray;
  return {wanted.pictures, header.height, header.width, gray ? 1 : header.format == aipp::kXrgb ? 4 : 3};
}

ir::Dims AippMemory(const AippInput& input, const ir::Dims& dims) {
  if (input.config.dynamic) return {input.config.max_bytes};
  ir::Dims memory = AippDims(input, dims);
  if (input.config.header.format != aipp::kYuv420) return memory;
  if (memory[1] >= 0) memory[1] = memory[1] * 3 / 2;
  memory[3] = 1;
  return memory;
}

Status InsertAipp(std::span<const AippInput> inputs, ir::Graph* graph) {
  for (const AippInput& input : inputs) MP_RETURN_IF_ERROR(InsertOne(input, graph));
  return Ok();
}

}  // namespace millpond
