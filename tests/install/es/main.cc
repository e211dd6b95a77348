// SPDX-License-Identifier: Apache-2.0
// Prints the nodes of a graph made of generated functions: required, optional and dynamic operands, attributes of each
// kind, numbers in place of tensors.
#include <iostream>
#include <map>
#include <string>

#include "es_all_ops.h"

int main() {
  using namespace ge::es;  // NOLINT
  EsGraphBuilder builder("client");
  auto x = builder.CreateInput(0, "x", ge::DT_FLOAT, ge::FORMAT_ND, {8, 3, 4, 4});
  auto statistics = builder.CreateConst(std::vector<float>{1, 1, 1}, {3});
  auto normal = BatchNorm(x, statistics, statistics, nullptr, nullptr, 1e-4F, "NCHW", true);
  std::vector<EsTensorHolder> parts = Split(builder.CreateScalar(0), normal.y, 4, 4);
  auto joined = ConcatV2({parts[0], parts[3]}, builder.CreateScalar(0), 2);
  auto flat = Reshape(joined, std::vector<int64_t>{4, -1});
  auto [values, indices] = TopKV2(flat, builder.CreateScalar(2), true, -1, true, 3);
  auto sum = Add(Cast(indices, ge::DT_FLOAT), values) + Fill(ge::es::Shape(values), 1.0F);
  const auto graph = builder.BuildAndReset({sum, ReduceMean(x, std::vector<int64_t>{0, 1})});
  if (graph == nullptr) return 1;
  std::map<std::string, int> types;
  for (const ge::GNode& node : graph->GetDirectNode()) {
    ge::AscendString type;
    if (node.GetType(type) == ge::GRAPH_SUCCESS) ++types[type.GetString()];
  }
  for (const auto& [type, count] : types) std::cout << type << " " << count << "\n";
  return 0;
}
