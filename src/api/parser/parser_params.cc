// SPDX-License-Identifier: Apache-2.0
#include "src/api/parser/parser_params.h"

#include "src/api/graph/access.h"
#include "src/base/format.h"

namespace millpond::api {
namespace {

std::vector<std::string> Parts(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    const std::string_view part = Trim(text.substr(0, end));
    if (!part.empty()) parts.emplace_back(part);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

// One dimension. A range such as 1~8 is open here: who compiles the graph keeps to its ends.
std::optional<int64_t> ReadDim(std::string_view text) {
  const size_t tilde = text.find('~');
  if (tilde == std::string_view::npos) return ParseInt(Trim(text));
  const std::optional<int64_t> low = ParseInt(Trim(text.substr(0, tilde)));
  const std::optional<int64_t> high = ParseInt(Trim(text.substr(tilde + 1)));
  if (!low || !high || *low < 0 || (*high < *low && *high != ir::kUnknownDim)) return std::nullopt;
  return *low == *high ? *low : ir::kUnknownDim;
}

// "name:1,3,224,224;other:-1,1~8"; names may have colons.
Status ReadShapes(std::string_view value, onnx::ImportOptions* out) {
  for (const std::string& part : Parts(value, ';')) {
    const size_t colon = part.rfind(':');
    MP_REQUIRE(colon != std::string_view::npos && colon > 0, "\"%.200s\" is not \"name:1,3,224,224\"", part.c_str());
    ir::Dims dims;
    for (const std::string& number : Parts(std::string_view(part).substr(colon + 1), ',')) {
      const std::optional<int64_t> dim = ReadDim(number);
      MP_REQUIRE(dim && *dim >= -1, "\"%.200s\": \"%.40s\" is not a dimension", part.c_str(), number.c_str());
      dims.push_back(*dim);
    }
    out->input_dims[std::string(Trim(std::string_view(part).substr(0, colon)))] = std::move(dims);
  }
  return Ok();
}

Status ReadOutputs(std::string_view value, onnx::ImportOptions* out) {
  for (const std::string& part : Parts(value, ';')) {
    const size_t colon = part.rfind(':');
    const std::optional<int64_t> place =
        colon == std::string_view::npos ? std::nullopt : ParseInt(Trim(std::string_view(part).substr(colon + 1)));
    MP_REQUIRE(place && *place >= 0, "\"%.200s\" is not \"node:0\"", part.c_str());
    out->outputs.emplace_back(part.substr(0, colon), *place);
  }
  return Ok();
}

Status MustBeOff(std::string_view value) {
  for (const std::string& part : Parts(value, ',')) {
    MP_CHECK(part == "false" || part == "0", kUnsupported,
             "\"%.40s\": the device's own five-dimensional layout is not supported here; leave it out", part.c_str());
  }
  return Ok();
}

Status ReadOne(const std::string& key, const std::string& value, onnx::ImportOptions* out) {
  if (key == "ge.INPUT_NODES_SET_FP16" || key == "input_fp16_nodes") {
    out->half_inputs = Parts(value, ';');
    return Ok();
  }
  if (key == "is_input_adjust_hw_layout" || key == "is_output_adjust_hw_layout") return MustBeOff(value);
  if (key == "output") {
    out->graph_name = value;
    return Ok();
  }
  if (key == "ge.outputNodeName" || key == "out_nodes") return ReadOutputs(value, out);
  if (key == "input_shape") return ReadShapes(value, out);
  if (key == "enable_scope_fusion_passes") return Ok();  // of TensorFlow's models
  if (key == "input_data_names") {
    // What it can say, the order of the inputs, is the model's own here; a name that is not an input is an error.
    for (const std::string& name : Parts(value, ',')) out->input_names.push_back(name);
    return Ok();
  }
  return InvalidArgument(
      "there is no such parameter; there are ge.INPUT_NODES_SET_FP16, is_input_adjust_hw_layout, "
      "is_output_adjust_hw_layout, output, ge.outputNodeName, enable_scope_fusion_passes, input_data_names, "
      "input_shape");
}

}  // namespace

Status OptionsFrom(const std::map<ge::AscendString, ge::AscendString>& params, onnx::ImportOptions* out) {
  for (const auto& [key, value] : params) {
    const std::string name = TextOf(key);
    MP_RETURN_IF_ERROR(ReadOne(name, TextOf(value), out).Prefixed(Format("parameter \"%.100s\"", name.c_str())));
  }
  return Ok();
}

}  // namespace millpond::api
