// SPDX-License-Identifier: Apache-2.0
#include "src/exec/model/info.h"

#include <algorithm>

#include "src/exec/model/shapes.h"
#include "src/exec/program/constants.h"
#include "src/exec/session/numbered_graph.h"

namespace millpond {

namespace {

constexpr size_t kWeightAlignment = 512;
constexpr int32_t kFormatNhwc = 1;

// The most bytes a tensor can have: exactly, or by its ranges; 0 when one has no end.
size_t MaxBytes(const ModelTensor& tensor) {
  ir::Dims most = tensor.dims;
  if (!ir::IsStatic(most)) {
    if (tensor.range.size() != most.size()) return 0;
    for (size_t i = 0; i < most.size(); ++i) most[i] = tensor.range[i].second;
  }
  const int64_t bytes = ir::IsStatic(most) ? ir::BytesOf(tensor.dtype, most) : -1;
  return bytes < 0 ? 0 : static_cast<size_t>(bytes);
}

ModelTensor TensorFrom(std::string name, const ir::TensorDesc& desc) {
  ModelTensor tensor;
  tensor.name = std::move(name);
  tensor.dtype = desc.dtype;
  tensor.format = desc.format;
  tensor.dims = desc.has_shape ? desc.dims : ir::Dims{ir::kUnknownRank};
  if (!ir::IsStatic(tensor.dims) && desc.range.size() == tensor.dims.size()) tensor.range = desc.range;
  tensor.memory = tensor.dims;
  tensor.bytes = MaxBytes(tensor);
  return tensor;
}

// The graph with its inputs as they are in one gear.
ir::GraphPtr WithShapes(const ir::Graph& graph, std::span<const ir::Dims> shapes) {
  ir::GraphPtr copy = graph.Clone();
  for (size_t i = 0; i < shapes.size(); ++i) {
    for (ir::TensorDesc& desc : copy->inputs[i]->outputs) {
      desc.dims = desc.origin_dims = shapes[i];
      desc.range.clear();
    }
    for (ir::Input& input : copy->inputs[i]->inputs) {
      input.desc.dims = input.desc.origin_dims = shapes[i];
      input.desc.range.clear();
    }
  }
  return copy;
}

// The file's name stays, its folder becomes this one.
void FindWeightsIn(const std::string& folder, ir::Graph* graph) {
  for (const ir::NodePtr& node : graph->nodes()) {
    if (node->type != "FileConstant") continue;
    const ir::Attr* const attribute = node->FindAttr("file_path");
    const auto* const path = attribute != nullptr ? attribute->As<std::string>() : nullptr;
    if (path == nullptr) continue;
    node->attributes["file_path"].value = folder + "/" + path->substr(path->rfind('/') + 1);
  }
}

}  // namespace

Status ModelInfo::Read(std::span<const std::byte> file, std::shared_ptr<const void> keep,
                       std::shared_ptr<const ModelInfo>* out, const std::string& weights) {
  io::OmModel model;
  MP_RETURN_IF_ERROR(io::ReadOm(file, std::move(keep), &model));
  if (!weights.empty()) {
    FindWeightsIn(weights, model.graph.get());
    for (const ir::GraphPtr& subgraph : model.graph->subgraphs()) FindWeightsIn(weights, subgraph.get());
  }
  MP_RETURN_IF_ERROR(Make(model, out));
  program::DropConstants(model.graph.get());  // the programs have them; nobody else reads the file's graph for them
  return Ok();
}

Status ModelInfo::Make(const io::OmModel& model, std::shared_ptr<const ModelInfo>* out) {
  const std::shared_ptr<ModelInfo> info(new ModelInfo);
  info->name_ = model.name;
  info->graph_ = model.graph;
  info->gears_ = model.gears;
  info->graph_inputs_ = info->fed_inputs_ = model.graph->inputs.size();
  for (const ir::NodePtr& input : model.graph->inputs) {
    info->inputs_.push_back(TensorFrom(input->name, input->outputs.at(0)));
  }
  MP_RETURN_IF_ERROR(FindAipp(model.options, *model.graph, &info->aipp_).Prefixed("AIPP"));
  for (const AippInput& input : info->aipp_) info->fed_inputs_ += input.config.dynamic ? 1 : 0;
  MP_RETURN_IF_ERROR(info->CompileAll(model).Prefixed(Format("model %s cannot be compiled", model.name.c_str())));
  info->DescribeInputs();
  info->DescribePictures();
  info->DescribeOutputs(model.output_names);
  info->PlaceWeights();
  *out = info;
  return Ok();
}

// Takes the graph, whose inputs have their shapes.
Status ModelInfo::CompileOne(const io::OmModel& model, ir::GraphPtr graph) {
  if (!aipp_.empty()) {
    if (graph == graph_) graph = graph->Clone();
    MP_RETURN_IF_ERROR(InsertAipp(aipp_, graph.get()).Prefixed("AIPP"));
  }
  std::shared_ptr<const program::Program> program;
  MP_RETURN_IF_ERROR(
      program::Program::Compile(*graph, session::CompileOptionsFrom(model.options, 0, 0, nullptr), &program));
  programs_.push_back(std::move(program));
  return Ok();
}

Status ModelInfo::CompileAll(const io::OmModel& model) {
  if (!has_gears()) MP_RETURN_IF_ERROR(CompileOne(model, graph_));
  std::vector<ir::Dims> raw;
  raw.reserve(inputs_.size());
  for (const ModelTensor& input : inputs_) raw.push_back(input.dims);
  for (size_t gear = 0; gear < gears_.values.size(); ++gear) {
    std::vector<ir::Dims> shapes;
    MP_RETURN_IF_ERROR(GearShapes(gears_, gear, raw, &shapes));
    MP_RETURN_IF_ERROR(CompileOne(model, WithShapes(*graph_, shapes)));
    MP_CHECK(
        programs_.back()->is_static(), kUnsupported,
        "in gear %zu a shape is still unknown: the values of a tensor decide it, so gears cannot fix it; build the "
        "model with ranges in input_shape instead",
        gear);
    gear_inputs_.push_back(std::move(shapes));
  }
  for (const auto& program : programs_) {
    MP_CHECK(program->inputs().size() == fed_inputs_ && program->outputs().size() == model.output_names.size(),
             kParseFile, "the graph has %zu inputs and %zu outputs; its program %zu and %zu", fed_inputs_,
             model.output_names.size(), program->inputs().size(), program->outputs().size());
  }
  return Ok();
}

void ModelInfo::DescribeInputs() {
  if (!has_gears()) return;
  for (size_t i = 0; i < graph_inputs_; ++i) {
    inputs_[i].range.clear();
    for (const auto& shapes : gear_inputs_) {
      const int64_t bytes = ir::BytesOf(inputs_[i].dtype, shapes[i]);
      inputs_[i].bytes = std::max(inputs_[i].bytes, static_cast<size_t>(std::max<int64_t>(bytes, 0)));
    }
  }
  ModelTensor choice;
  choice.name = kGearInput;
  choice.dtype = DType::kInt64;
  choice.dims = choice.memory = {static_cast<int64_t>(gears_.values[0].size())};
  choice.bytes = gears_.values[0].size() * sizeof(int64_t);
  inputs_.push_back(std::move(choice));
}

// What clients see of inputs with AIPP; after the others, as there may be a gear input between.
void ModelInfo::DescribePictures() {
  int64_t most = 0;
  for (AippInput& input : aipp_) {
    ModelTensor& pictures = inputs_[input.input];
    const ir::Dims wanted = pictures.dims;
    pictures.dtype = DType::kUint8;
    if (!input.config.dynamic) pictures.format = kFormatNhwc;
    pictures.dims = AippDims(input, wanted);
    pictures.memory = AippMemory(input, wanted);
    pictures.bytes = 0;
    most = AippSizesOf(input.wanted, wanted).pictures;
    for (size_t gear = 0; gear < std::max<size_t>(gear_inputs_.size(), 1); ++gear) {
      const ir::Dims& shape = has_gears() ? gear_inputs_[gear][input.input] : wanted;
      const int64_t bytes = ir::BytesOf(DType::kUint8, AippMemory(input, shape));
      pictures.bytes = std::max(pictures.bytes, static_cast<size_t>(std::max<int64_t>(bytes, 0)));
      most = std::max(most, AippSizesOf(input.wanted, shape).pictures);
    }
    if (!input.config.dynamic) continue;
    input.parameters = inputs_.size();
    ModelTensor parameters;
    parameters.name = input.parameters == fed_input(graph_inputs_)
                          ? kAippInput
                          : Format("%s_%zu", kAippInput, input.parameters - fed_input(graph_inputs_));
    parameters.dtype = DType::kUint8;
    parameters.bytes = aipp::BlockBytes(static_cast<size_t>(most));
    parameters.dims = parameters.memory = {static_cast<int64_t>(parameters.bytes)};
    inputs_.push_back(std::move(parameters));
  }
}

void ModelInfo::DescribeOutputs(const std::vector<std::string>& names) {
  for (size_t i = 0; i < names.size(); ++i) {
    ModelTensor output = TensorFrom(names[i], programs_[0]->outputs()[i]);
    for (const auto& program : std::span(programs_).subspan(1)) {
      const ir::TensorDesc& desc = program->outputs()[i];
      output.bytes = std::max(output.bytes, TensorFrom("", desc).bytes);
      for (size_t d = 0; d < output.dims.size() && d < desc.dims.size(); ++d) {
        if (output.dims[d] != desc.dims[d]) output.dims[d] = ir::kUnknownDim;  // differs from gear to gear
      }
    }
    outputs_.push_back(std::move(output));
  }
}

void ModelInfo::PlaceWeights() {
  for (const auto& program : programs_) {
    const auto same = std::find_if(programs_.begin(), programs_.end(), [&](const auto& other) {
      return other == program || other->SameConstants(*program);
    });
    const auto first = static_cast<size_t>(same - programs_.begin());
    if (first < weight_offsets_.size()) {  // gears share what they have in common
      weight_offsets_.push_back(weight_offsets_[first]);
    } else {
      weight_offsets_.push_back(weight_bytes_);
      weight_bytes_ += (program->const_bytes() + kWeightAlignment - 1) / kWeightAlignment * kWeightAlignment;
    }
    work_bytes_ = std::max(work_bytes_, program->feature_bytes());
  }
}

size_t ModelInfo::FindGear(std::span<const int64_t> sizes) const {
  for (size_t gear = 0; gear < gears_.values.size(); ++gear) {
    if (std::equal(sizes.begin(), sizes.end(), gears_.values[gear].begin(), gears_.values[gear].end())) return gear;
    if (gears_.kind != io::OmGears::Kind::kDims) continue;
    const std::vector<int64_t> all = AllDims(gear);
    if (std::equal(sizes.begin(), sizes.end(), all.begin(), all.end())) return gear;
  }
  return kNoGear;
}

std::vector<int64_t> ModelInfo::AllDims(size_t gear) const {
  std::vector<int64_t> all;
  for (const ir::Dims& dims : gear_inputs_[gear]) all.insert(all.end(), dims.begin(), dims.end());
  return all;
}

const ir::Dims& ModelInfo::gear_output(size_t gear, size_t output) const {
  return programs_[gear]->outputs()[output].dims;
}

}  // namespace millpond
