// SPDX-License-Identifier: Apache-2.0
#include "src/graph/onnx/scores.h"

namespace millpond::onnx {

Val Features(Context& c) {
  Builder& b = c.b;
  Val x = b.Cast(c.In(0), DType::kDouble);
  const int64_t rank = c.KnownRank(x);
  if (rank == 1) x = b.Unsqueeze(x, {0});
  if (rank >= 0 && rank != 1 && rank != 2) c.Refuse("its input has %lld dimensions", static_cast<long long>(rank));
  return x;
}

std::vector<double> RealsOrTensor(Context& c, const std::string& name) {
  const std::vector<float> reals = c.Reals(name);
  std::vector<double> out(reals.begin(), reals.end());
  if (const ir::TensorPtr tensor = c.Tensor(name + "_as_tensor"); tensor != nullptr) {
    std::optional<std::vector<double>> values = c.b.RealsOf(c.b.Const(tensor));
    if (values) return *std::move(values);
    c.Refuse("%s_as_tensor is not of numbers", name.c_str());
  }
  return out;
}

Val Transformed(Context& c, const Val& scores, const std::string& how) {
  Builder& b = c.b;
  if (how == "NONE") return scores;
  if (how == "LOGISTIC") return b.Op("Sigmoid", {scores});
  if (how == "SOFTMAX") return b.Op("SoftmaxV2", {scores}, {{"axes", Ints{-1}}});
  if (how != "SOFTMAX_ZERO") {
    c.Refuse("post_transform \"%.40s\" is not supported; NONE, LOGISTIC, SOFTMAX and SOFTMAX_ZERO are", how.c_str());
    return {};
  }
  // As a softmax, but scores of zero stay zero.
  const auto real = [&](double value) { return b.ScalarLike(scores, value); };
  const Val most = b.Reduce("ReduceMax", scores, {-1}, true);
  const Val zero = b.Op("LessEqual", {b.Op("Abs", {scores}), real(1e-7)});
  const Val parts =
      b.Where(zero, b.Mul(scores, b.Op("Exp", {b.Op("Neg", {most})})), b.Op("Exp", {b.Sub(scores, most)}));
  const Val sum = b.Reduce("ReduceSum", parts, {-1}, true);
  return b.Where(b.Op("Equal", {sum, real(0)}), real(0.5), b.Div(parts, sum));
}

Val LabelOfGreatest(Context& c, const Val& scores, const Ints& labels) {
  Builder& b = c.b;
  const Val place = b.Op("ArgMaxV2", {scores, b.ConstInt(1)}, {{"dtype", DType::kInt64}});
  return b.Op("GatherV2", {b.ConstInts(labels), place, b.ConstInt(0)});
}

Ints LabelsOf(Context& c, const char* integers) {
  if (c.HasAttr("classlabels_strings") && !c.Texts("classlabels_strings").empty()) {
    c.Refuse("its labels are strings, which are not supported; export the model with whole numbers as labels");
    return {};
  }
  c.Ignore("classlabels_strings");
  Ints labels = c.List(integers);
  if (labels.empty()) c.Refuse("%s is missing", integers);
  return labels;
}

Val ReshapedConst(Builder& b, const std::vector<double>& values, const Ints& dims) {
  return b.Reshape(b.ConstReals(values), dims);
}

}  // namespace millpond::onnx
