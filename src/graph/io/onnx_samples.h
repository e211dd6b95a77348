// SPDX-License-Identifier: Apache-2.0
// ONNX models in bytes, for tests of the reader and of the import.
#ifndef MILLPOND_SRC_GRAPH_IO_ONNX_SAMPLES_H_
#define MILLPOND_SRC_GRAPH_IO_ONNX_SAMPLES_H_

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "src/graph/io/onnx_format.h"
#include "src/graph/io/wire.h"

namespace millpond::io {

struct SampleOnnx {
  using Part = std::function<Status(wire::Writer*)>;

  std::vector<Part> nodes;
  std::vector<Part> constants;
  std::vector<Part> inputs;
  std::vector<Part> outputs;
  std::vector<Part> functions;
  int64_t opset = 17;
  std::string name = "sample";

  static Part Node(std::string type, std::vector<std::string> inputs, std::vector<std::string> outputs,
                   std::string name = "", std::vector<Part> attributes = {}) {
    return [=](wire::Writer* w) -> Status {
      for (const std::string& input : inputs) w->TextAlways(kOnnxNodeInput, input);
      for (const std::string& output : outputs) w->TextAlways(kOnnxNodeOutput, output);
      w->Text(kOnnxNodeName, name);
      w->Text(kOnnxNodeType, type);
      for (const Part& attribute : attributes) {
        MP_RETURN_IF_ERROR(w->Message(kOnnxNodeAttr, [&] { return attribute(w); }));
      }
      return Ok();
    };
  }
  static Part IntAttr(std::string name, int64_t value) {
    return [=](wire::Writer* w) -> Status {
      w->Text(kOnnxAttrName, name);
      w->IntAlways(kOnnxAttrInt, value);
      w->IntAlways(kOnnxAttrType, static_cast<int64_t>(OnnxAttrKind::kInt));
      return Ok();
    };
  }
  static Part GraphAttr(std::string name, Part graph) {
    return [=](wire::Writer* w) -> Status {
      w->Text(kOnnxAttrName, name);
      w->IntAlways(kOnnxAttrType, static_cast<int64_t>(OnnxAttrKind::kGraph));
      return w->Message(kOnnxAttrGraph, [&] { return graph(w); });
    };
  }
  static Part Function(std::string name, std::vector<std::string> inputs, std::vector<std::string> outputs,
                       std::vector<Part> nodes) {
    return [=](wire::Writer* w) -> Status {
      w->Text(kOnnxFunctionName, name);
      for (const std::string& input : inputs) w->TextAlways(kOnnxFunctionInput, input);
      for (const std::string& output : outputs) w->TextAlways(kOnnxFunctionOutput, output);
      for (const Part& node : nodes) MP_RETURN_IF_ERROR(w->Message(kOnnxFunctionNode, [&] { return node(w); }));
      return Ok();
    };
  }
  static Part Value(std::string name, int64_t type, std::vector<int64_t> dims) {
    return [=](wire::Writer* w) -> Status {
      w->Text(kOnnxValueName, name);
      return w->Message(kOnnxValueType, [&] {
        return w->Message(kOnnxTensorType, [&] {
          w->Int(kOnnxElemType, type);
          return w->Message(kOnnxTypeShape, [&]() -> Status {
            for (const int64_t dim : dims) {
              MP_RETURN_IF_ERROR(w->Message(kOnnxShapeDim, [&] {
                w->IntAlways(kOnnxDimValue, dim);
                return Ok();
              }));
            }
            return Ok();
          });
        });
      });
    };
  }
  static Part Tensor(std::string name, int64_t type, std::vector<int64_t> dims, std::string raw) {
    return [=](wire::Writer* w) -> Status {
      w->PackedInts(kOnnxTensorDims, dims);
      w->Int(kOnnxTensorDataType, type);
      w->Text(kOnnxTensorName, name);
      w->TextAlways(kOnnxTensorRaw, raw);
      return Ok();
    };
  }
  static Part External(std::string name, std::vector<int64_t> dims, std::string location, std::string offset,
                       std::string length) {
    return [=](wire::Writer* w) -> Status {
      w->PackedInts(kOnnxTensorDims, dims);
      w->Int(kOnnxTensorDataType, 1);
      w->Text(kOnnxTensorName, name);
      const auto entry = [&](const char* key, const std::string& value) -> Status {
        if (value.empty()) return Ok();
        return w->Message(kOnnxTensorExternal, [&] {
          w->Text(kOnnxEntryKey, key);
          w->Text(kOnnxEntryValue, value);
          return Ok();
        });
      };
      MP_RETURN_IF_ERROR(entry("location", location));
      MP_RETURN_IF_ERROR(entry("offset", offset));
      MP_RETURN_IF_ERROR(entry("length", length));
      w->Int(kOnnxTensorLocation, 1);
      return Ok();
    };
  }

  Part Graph() const {
    return [copy = *this](wire::Writer* w) -> Status {
      const auto all = [&](uint32_t number, const std::vector<Part>& parts) -> Status {
        for (const Part& part : parts) MP_RETURN_IF_ERROR(w->Message(number, [&] { return part(w); }));
        return Ok();
      };
      MP_RETURN_IF_ERROR(all(kOnnxGraphNode, copy.nodes));
      w->Text(kOnnxGraphName, copy.name);
      MP_RETURN_IF_ERROR(all(kOnnxGraphConstant, copy.constants));
      MP_RETURN_IF_ERROR(all(kOnnxGraphInput, copy.inputs));
      return all(kOnnxGraphOutput, copy.outputs);
    };
  }
  std::string Bytes() const {
    std::string out;
    const Part graph = Graph();
    const Status status = wire::Writer::Write(
        [&](wire::Writer* w) -> Status {
          w->Int(kOnnxIrVersion, 9);
          MP_RETURN_IF_ERROR(w->Message(kOnnxModelGraph, [&] { return graph(w); }));
          for (const Part& function : functions) {
            MP_RETURN_IF_ERROR(w->Message(kOnnxFunctions, [&] { return function(w); }));
          }
          return w->Message(kOnnxOpsetImport, [&] {
            w->Int(kOnnxOpsetVersion, opset);
            return Ok();
          });
        },
        &out);
    EXPECT_TRUE(status.ok()) << status.message();
    return out;
  }
};

// y = relu(x w + b), and an If that reads x.
inline SampleOnnx SampleModel() {
  SampleOnnx model;
  model.inputs = {SampleOnnx::Value("x", 1, {2, 3}), SampleOnnx::Value("flag", 9, {})};
  model.constants = {SampleOnnx::Tensor("w", 1, {3, 4}, std::string(48, '\x3e')),
                     SampleOnnx::Tensor("b", 1, {4}, std::string(16, '\x3f'))};
  SampleOnnx branch;
  branch.nodes = {SampleOnnx::Node("Neg", {"x"}, {"negative"})};
  branch.outputs = {SampleOnnx::Value("negative", 1, {2, 3})};
  SampleOnnx other;
  other.nodes = {SampleOnnx::Node("Exp", {"x"}, {"grown"})};
  other.outputs = {SampleOnnx::Value("grown", 1, {2, 3})};
  model.nodes = {SampleOnnx::Node("Gemm", {"x", "w", "b"}, {"sum"}, "dense", {SampleOnnx::IntAttr("transB", 0)}),
                 SampleOnnx::Node("Relu", {"sum"}, {"y"}, "active"),
                 SampleOnnx::Node("If", {"flag"}, {"z"}, "choice",
                                  {SampleOnnx::GraphAttr("then_branch", branch.Graph()),
                                   SampleOnnx::GraphAttr("else_branch", other.Graph())})};
  model.outputs = {SampleOnnx::Value("y", 1, {2, 4}), SampleOnnx::Value("z", 1, {2, 3})};
  return model;
}

}  // namespace millpond::io

#endif  // MILLPOND_SRC_GRAPH_IO_ONNX_SAMPLES_H_
