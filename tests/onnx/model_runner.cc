// SPDX-License-Identifier: Apache-2.0
// Runs ONNX models one after the other, as node_tests.py asks: a model is parsed, compiled and run on host tensors in a
// session of its own number. Public headers only.
//
//   request   a line "MODEL INPUTS\n": two files. INPUTS holds for each tensor a line "type rank dims... bytes", then
//             the bytes.
//   answer    "ok COUNT\n" and the outputs in the same form, or "parse TEXT\n", "compile TEXT\n", "run TEXT\n".
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "ge/ge_api.h"
#include "graph/graph.h"
#include "graph/tensor.h"
#include "parser/onnx_parser.h"

namespace {

using Options = std::map<ge::AscendString, ge::AscendString>;

bool ReadTensors(const std::string& path, std::vector<ge::Tensor>* out) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    int type = 0;
    size_t rank = 0;
    words >> type >> rank;
    std::vector<int64_t> dims(rank);
    for (int64_t& dim : dims) words >> dim;
    size_t size = 0;
    words >> size;
    if (!words) return false;
    std::vector<uint8_t> bytes(size);
    if (size > 0 && !file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size))) return false;
    ge::TensorDesc desc(ge::Shape(dims), ge::FORMAT_ND, static_cast<ge::DataType>(type));
    out->emplace_back(desc, bytes.data(), size);
  }
  return file.eof();
}

std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

void Answer(const char* stage) { std::cout << stage << ' ' << OneLine(ge::GEGetErrorMsgV2().GetString()) << '\n'; }

void Run(ge::Session* session, uint32_t id, const std::string& model, const std::string& inputs_path) {
  std::vector<ge::Tensor> inputs;
  if (!ReadTensors(inputs_path, &inputs)) {
    std::cout << "run the test's own inputs cannot be read\n";
    return;
  }
  ge::Graph graph;
  if (ge::aclgrphParseONNX(model.c_str(), {}, graph) != ge::GRAPH_SUCCESS) return Answer("parse");
  if (session->AddGraph(id, graph) != ge::SUCCESS) return Answer("compile");
  std::vector<ge::Tensor> outputs;
  if (session->RunGraph(id, inputs, outputs) != ge::SUCCESS) {
    Answer("run");
    session->RemoveGraph(id);
    return;
  }
  std::cout << "ok " << outputs.size() << '\n';
  for (const ge::Tensor& output : outputs) {
    const ge::TensorDesc desc = output.GetTensorDesc();
    const std::vector<int64_t> dims = desc.GetShape().GetDims();
    std::cout << static_cast<int>(desc.GetDataType()) << ' ' << dims.size();
    for (const int64_t dim : dims) std::cout << ' ' << dim;
    std::cout << ' ' << output.GetSize() << '\n';
    std::cout.write(reinterpret_cast<const char*>(output.GetData()), static_cast<std::streamsize>(output.GetSize()));
  }
  session->RemoveGraph(id);
}

}  // namespace

int main() {
  if (ge::GEInitialize(Options{{"ge.exec.deviceId", "0"}}) != ge::SUCCESS) {
    std::fprintf(stderr, "GEInitialize: %s\n", ge::GEGetErrorMsgV2().GetString());
    return 1;
  }
  {
    ge::Session session(Options{});
    uint32_t id = 0;
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream words(line);
      std::string model;
      std::string inputs;
      words >> model >> inputs;
      Run(&session, ++id, model, inputs);
      std::cout.flush();
    }
  }
  ge::GEFinalize();
  return 0;
}
