// SPDX-License-Identifier: Apache-2.0
// Domain ai.onnx.ml without its trees: preparing features, linear models, support vectors.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "src/graph/onnx/scores.h"

namespace millpond::onnx {
namespace {

void Binarizer(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  c.Out(b.Cast(b.Wide("Greater", {x, b.ScalarLike(x, c.Real("threshold", 0))}), b.TypeOf(x)));
}

std::vector<double> Doubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

void Scaler(Context& c) {
  Builder& b = c.b;
  Val x = b.Cast(c.In(0), DType::kDouble);
  if (const std::vector<float> offset = c.Reals("offset"); !offset.empty()) x = b.Sub(x, b.ConstReals(Doubles(offset)));
  if (const std::vector<float> scale = c.Reals("scale"); !scale.empty()) x = b.Mul(x, b.ConstReals(Doubles(scale)));
  c.Out(b.Cast(x, DType::kFloat));
}

void Normalizer(Context& c) {
  Builder& b = c.b;
  const Val x = b.Cast(c.In(0), DType::kDouble);
  const int64_t rank = c.KnownRank(x);
  if (rank != 1 && rank != 2) return c.Refuse("its input has %lld dimensions", static_cast<long long>(rank));
  const std::string norm = c.Text("norm", "MAX");
  Val size;
  if (norm == "MAX") {
    size = b.Reduce("ReduceMax", b.Op("Abs", {x}), {-1}, true);
  } else if (norm == "L1") {
    size = b.Reduce("ReduceSum", b.Op("Abs", {x}), {-1}, true);
  } else if (norm == "L2") {
    size = b.Op("Sqrt", {b.Reduce("ReduceSum", b.Mul(x, x), {-1}, true)});
  } else {
    return c.Refuse("norm \"%.40s\" is not known; MAX, L1 and L2 are", norm.c_str());
  }
  c.Out(b.Cast(b.Div(x, b.Op("Maximum", {size, b.ScalarLike(size, 1e-30)})), DType::kFloat));  // rows of zeros stay
}

void Imputer(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const DType type = b.TypeOf(x);
  const std::vector<float> reals = c.Reals("imputed_value_floats");
  const Ints whole = c.List("imputed_value_int64s");
  const double missing = c.Real("replaced_value_float", 0);
  const int64_t missing_whole = c.Int("replaced_value_int64", 0);
  if (reals.empty() == whole.empty()) return c.Refuse("one of imputed_value_floats and imputed_value_int64s is needed");
  const Val values = b.Cast(reals.empty() ? b.ConstInts(whole) : b.ConstReals(Doubles(reals)), type);
  const Val is_missing =
      !reals.empty() && std::isnan(missing)
          ? b.Op("IsNan", {x})
          : b.Op("Equal", {x, reals.empty() ? b.Cast(b.ConstInt(missing_whole), type) : b.ScalarLike(x, missing)});
  c.Out(b.Where(is_missing, values, x));
}

void OneHotEncoder(Context& c) {
  Builder& b = c.b;
  if (c.HasAttr("cats_strings") && !c.Texts("cats_strings").empty())
    return c.Refuse("its categories are strings, which are not supported");
  c.Ignore("cats_strings");
  const Ints keys = c.List("cats_int64s");
  if (keys.empty()) return c.Refuse("cats_int64s is missing");
  c.Out(b.Op("MillpondCategories", {c.In(0), b.ConstInts(keys)}, {{"zeros", c.Int("zeros", 1) != 0}}));
}

// One of three lists, or a tensor. Empty: none of numbers.
Val Listed(Context& c, const std::string& name) {
  Builder& b = c.b;
  if (c.HasAttr(name + "_strings")) {
    c.Refuse("%s_strings: strings are not supported", name.c_str());
    return {};
  }
  if (c.HasAttr(name + "_floats")) return b.Cast(b.ConstReals(Doubles(c.Reals(name + "_floats"))), DType::kFloat);
  if (c.HasAttr(name + "_int64s")) return b.ConstInts(c.List(name + "_int64s"));
  if (const ir::TensorPtr tensor = c.Tensor(name + "_tensor"); tensor != nullptr)
    return b.Reshape(b.Const(tensor), {-1});
  c.Refuse("%s_floats, %s_int64s or %s_tensor is needed", name.c_str(), name.c_str(), name.c_str());
  return {};
}

void LabelEncoder(Context& c) {
  Builder& b = c.b;
  const Val keys = Listed(c, "keys");
  const Val values = Listed(c, "values");
  const DType type = b.TypeOf(values);
  const double real = c.Real("default_float", 0);
  const int64_t whole = c.Int("default_int64", -1);
  c.Ignore("default_string");
  Val otherwise;
  if (const ir::TensorPtr tensor = c.Tensor("default_tensor"); tensor != nullptr) {
    otherwise = b.Const(tensor);
  } else {
    otherwise = b.Cast(
        type == DType::kFloat || type == DType::kDouble ? b.Scalar(DType::kDouble, real) : b.ConstInt(whole), type);
  }
  c.Out(b.Op("MillpondLookup", {c.In(0), keys, values, b.Reshape(otherwise, {1})}));
}

void FeatureVectorizer(Context& c) {
  Builder& b = c.b;
  const Ints sizes = c.List("inputdimensions");
  if (sizes.size() != c.inputs())
    return c.Refuse("inputdimensions has %zu entries for %zu inputs", sizes.size(), c.inputs());
  Vals parts;
  for (size_t i = 0; i < sizes.size(); ++i) {
    Val x = b.Cast(c.In(i), DType::kFloat);
    const int64_t rank = c.KnownRank(x);
    if (rank != 1 && rank != 2) return c.Refuse("input %zu has %lld dimensions", i, static_cast<long long>(rank));
    if (rank == 1) x = b.Unsqueeze(x, {1});
    const int64_t columns = b.DimsOf(x)[1];
    if (columns < 0) return c.Refuse("the width of input %zu is not known", i);
    if (sizes[i] < columns) x = b.Slice(x, 1, 0, sizes[i]);
    if (sizes[i] > columns) {
      x = b.Op("PadV3", {x, b.ConstInts({0, 0, 0, sizes[i] - columns})}, {{"paddings_contiguous", false}});
    }
    parts.push_back(x);
  }
  c.Out(b.Concat(parts, 1));
}

void ArrayFeatureExtractor(Context& c) {
  Builder& b = c.b;
  Val x = c.In(0);
  const int64_t rank = c.KnownRank(x);
  if (rank < 1) return c.Refuse("its input has no dimension");
  if (rank == 1) x = b.Unsqueeze(x, {0});
  c.Out(b.Op("GatherV2", {x, b.Reshape(c.In(1), {-1}), b.ConstInt(std::max<int64_t>(rank, 2) - 1)}));
}

// A table of names and scores is not a tensor: the scores are returned, a column for each class in the labels'
// order.
void ZipMap(Context& c) {
  c.Ignore("classlabels_int64s");
  c.Ignore("classlabels_strings");
  c.Out(c.b.Op("Identity", {c.In(0)}));
}

// x times the coefficients, [rows, features] as they are listed, in double.
Val Weighted(Context& c, const Val& x, const std::vector<double>& coefficients, int64_t rows) {
  if (rows < 1 || coefficients.empty() || coefficients.size() % static_cast<size_t>(rows) != 0) {
    c.Refuse("%zu coefficients are not %lld rows of equal length", coefficients.size(), static_cast<long long>(rows));
    return {};
  }
  Builder& b = c.b;
  return b.Op("MillpondMatMul", {x, b.Transpose(ReshapedConst(b, coefficients, {rows, -1}), {1, 0})});
}

void LinearRegressor(Context& c) {
  Builder& b = c.b;
  const std::string how = c.Text("post_transform", "NONE");
  Val y = Weighted(c, Features(c), Doubles(c.Reals("coefficients")), c.Int("targets", 1));
  if (const std::vector<float> more = c.Reals("intercepts"); !more.empty()) y = b.Add(y, b.ConstReals(Doubles(more)));
  c.Out(Transformed(c, b.Cast(y, DType::kFloat), how));
}

void LinearClassifier(Context& c) {
  Builder& b = c.b;
  const Ints labels = LabelsOf(c, "classlabels_ints");
  c.Ignore("multi_class");
  const std::string how = c.Text("post_transform", "NONE");
  const std::vector<double> coefficients = Doubles(c.Reals("coefficients"));
  const std::vector<double> intercepts = Doubles(c.Reals("intercepts"));
  const Val x = Features(c);
  const int64_t features = b.HasRank(x) ? b.DimsOf(x)[1] : -1;
  const int64_t rows = !intercepts.empty() ? static_cast<int64_t>(intercepts.size())
                       : features > 0      ? static_cast<int64_t>(coefficients.size()) / features
                                           : static_cast<int64_t>(labels.size());
  Val scores = Weighted(c, x, coefficients, rows);
  if (!intercepts.empty()) scores = b.Add(scores, b.ConstReals(intercepts));
  scores = b.Cast(scores, DType::kFloat);
  if (rows == 1 && labels.size() == 2) scores = b.Concat({b.Op("Neg", {scores}), scores}, 1);
  scores = Transformed(c, scores, how);
  if (labels.empty()) return;
  if (rows == 1 && labels.size() == 1) {
    const Val yes = b.Op("GreaterEqual", {scores, b.ScalarLike(scores, how == "NONE" ? 0 : 0.5)});
    c.Out(0, b.Reshape(b.Where(yes, b.ConstInt(labels[0]), b.ConstInt(0)), {-1}));
  } else if (rows != 1 && rows != static_cast<int64_t>(labels.size())) {
    return c.Refuse("%zu labels for %lld rows of coefficients", labels.size(), static_cast<long long>(rows));
  } else {
    c.Out(0, LabelOfGreatest(c, scores, labels));
  }
  c.Out(1, scores);
}

// Support vectors' kernels and weights.
struct Machine {
  std::string kernel;
  double gamma = 0, shift = 0, degree = 0;
  std::vector<double> coefficients, rho, vectors;
};

Machine MachineOf(Context& c) {
  Machine machine;
  machine.kernel = c.Text("kernel_type", "LINEAR");
  const std::vector<float> numbers = c.Reals("kernel_params");
  if (numbers.size() >= 3) {
    machine.gamma = numbers[0];
    machine.shift = numbers[1];
    machine.degree = std::trunc(numbers[2]);
  }
  machine.coefficients = Doubles(c.Reals("coefficients"));
  machine.rho = Doubles(c.Reals("rho"));
  machine.vectors = Doubles(c.Reals("support_vectors"));
  if (machine.rho.empty()) c.Refuse("rho is missing");
  return machine;
}

// [N, vectors].
Val KernelsOf(Context& c, const Machine& machine, const Val& x, int64_t count) {
  Builder& b = c.b;
  const auto real = [&](double value) { return b.Scalar(DType::kDouble, value); };
  Val products = Weighted(c, x, machine.vectors, count);
  if (machine.kernel == "LINEAR") return products;
  if (machine.kernel == "RBF") {
    // The square of the distance, from the squares of both: in double what cancels is far below a float.
    const Val vectors = ReshapedConst(b, machine.vectors, {count, -1});
    const Val own = b.Reduce("ReduceSum", b.Mul(x, x), {-1}, true);
    const Val theirs = b.Reduce("ReduceSum", b.Mul(vectors, vectors), {-1}, false);
    const Val apart = b.Sub(b.Add(own, theirs), b.Mul(products, real(2)));
    return b.Op("Exp", {b.Mul(b.Op("Maximum", {apart, real(0)}), real(-machine.gamma))});
  }
  const Val scaled = b.Add(b.Mul(products, real(machine.gamma)), real(machine.shift));
  if (machine.kernel == "POLY") return b.Op("Pow", {scaled, real(machine.degree)});
  if (machine.kernel == "SIGMOID") return b.Op("Tanh", {scaled});
  c.Refuse("kernel_type \"%.40s\" is not known; LINEAR, POLY, RBF and SIGMOID are", machine.kernel.c_str());
  return {};
}

void SvmRegressor(Context& c) {
  Builder& b = c.b;
  const Machine machine = MachineOf(c);
  const int64_t supports = c.Int("n_supports", 0);
  const bool one_class = c.Int("one_class", 0) != 0;
  const std::string how = c.Text("post_transform", "NONE");
  if (c.Int("n_targets", 1) != 1) return c.Refuse("n_targets is not 1");
  const Val x = Features(c);
  const Val kernels = supports > 0 ? KernelsOf(c, machine, x, supports) : x;
  Val y =
      b.Add(Weighted(c, kernels, machine.coefficients, 1), b.ConstReals({machine.rho.empty() ? 0 : machine.rho[0]}));
  if (one_class) {
    y = b.Where(b.Op("Greater", {y, b.ScalarLike(y, 0)}), b.ScalarLike(y, 1), b.ScalarLike(y, -1));
  }
  c.Out(Transformed(c, b.Cast(y, DType::kFloat), how));
}

// How each pair of classes is told apart: a column of weights over all support vectors, and which classes it votes for.
struct Pairs {
  std::vector<double> weights, first, second;  // [pairs, vectors], [pairs, classes] twice
};

Pairs PairsOf(const Machine& machine, const Ints& counts) {
  const size_t classes = counts.size();
  const auto all = static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
  std::vector<size_t> start(classes + 1, 0);
  for (size_t i = 0; i < classes; ++i) start[i + 1] = start[i] + static_cast<size_t>(counts[i]);
  Pairs pairs;
  for (size_t i = 0; i < classes; ++i) {
    for (size_t j = i + 1; j < classes; ++j) {
      std::vector<double> row(all, 0);
      for (size_t v = start[i]; v < start[i + 1]; ++v) row[v] = machine.coefficients[(j - 1) * all + v];
      for (size_t v = start[j]; v < start[j + 1]; ++v) row[v] = machine.coefficients[i * all + v];
      pairs.weights.insert(pairs.weights.end(), row.begin(), row.end());
      for (size_t k = 0; k < classes; ++k) {
        pairs.first.push_back(k == i ? 1 : 0);
        pairs.second.push_back(k == j ? 1 : 0);
      }
    }
  }
  return pairs;
}

// The end of a classifier with support vectors: `votes` choose the label, `scores` are told.
void Ended(Context& c, const Val& votes, const Val& scores, const Ints& labels, bool all_positive) {
  Builder& b = c.b;
  const std::string how = c.Text("post_transform", "NONE");
  Val told = b.Cast(scores, DType::kFloat);
  const bool one_score = b.HasRank(told) && b.DimsOf(told)[1] == 1;
  if (one_score && labels.size() == 2) told = b.Concat({b.Op("Neg", {told}), told}, 1);
  c.Out(1, Transformed(c, told, how));
  c.Out(0, LabelOfGreatest(c, votes, all_positive && labels.size() == 2 ? Ints{labels[1], labels[1]} : labels));
}

void SvmClassifier(Context& c) {
  Builder& b = c.b;
  const Machine machine = MachineOf(c);
  const Ints labels = LabelsOf(c, "classlabels_ints");
  const Ints counts = c.List("vectors_per_class");
  const std::vector<double> a = Doubles(c.Reals("prob_a")), shift = Doubles(c.Reals("prob_b"));
  const Val x = Features(c);
  const auto classes = static_cast<int64_t>(labels.size());
  const int64_t vectors = std::accumulate(counts.begin(), counts.end(), int64_t{0});
  if (labels.empty() || machine.rho.empty()) return;
  if (vectors == 0) {  // a linear model, one row for each class
    const Val scores = b.Add(Weighted(c, x, machine.coefficients, classes), b.ConstReals({machine.rho[0]}));
    return Ended(c, scores, scores, labels, false);
  }
  const bool fits = *std::min_element(counts.begin(), counts.end()) >= 0 && counts.size() == labels.size() &&
                    classes >= 2 && machine.coefficients.size() == static_cast<size_t>((classes - 1) * vectors) &&
                    machine.rho.size() == static_cast<size_t>(classes * (classes - 1) / 2);
  if (!fits) return c.Refuse("vectors_per_class, coefficients, rho and the labels do not go together");
  const Pairs pairs = PairsOf(machine, counts);
  const auto count = static_cast<int64_t>(machine.rho.size());
  const Val scores =
      b.Add(Weighted(c, KernelsOf(c, machine, x, vectors), pairs.weights, count), b.ConstReals(machine.rho));
  const Val wins = b.Cast(b.Op("Greater", {scores, b.ScalarLike(scores, 0)}), DType::kDouble);
  const auto voted = [&](const Val& for_it, const std::vector<double>& matrix) {
    return b.Op("MillpondMatMul", {for_it, ReshapedConst(b, matrix, {count, classes})});
  };
  const Val votes = b.Add(voted(wins, pairs.first), voted(b.Sub(b.ScalarLike(wins, 1), wins), pairs.second));
  const bool all_positive =
      std::none_of(machine.coefficients.begin(), machine.coefficients.end(), [](double one) { return one < 0; });
  if (a.empty()) return Ended(c, votes, scores, labels, all_positive && count == 1);
  if (a.size() != machine.rho.size() || shift.size() != a.size()) return c.Refuse("prob_a and prob_b do not fit rho");
  const Val sure = b.Op("Sigmoid", {b.Op("Neg", {b.Add(b.Mul(scores, b.ConstReals(a)), b.ConstReals(shift))})});
  Ended(c, votes, b.Op("MillpondCoupled", {sure}, {{"count", classes}}), labels, false);
}

constexpr HandlerEntry kLearnedHandlers[] = {
    {"ai.onnx.ml::ArrayFeatureExtractor", &ArrayFeatureExtractor},
    {"ai.onnx.ml::Binarizer", &Binarizer},
    {"ai.onnx.ml::FeatureVectorizer", &FeatureVectorizer},
    {"ai.onnx.ml::Imputer", &Imputer},
    {"ai.onnx.ml::LabelEncoder", &LabelEncoder},
    {"ai.onnx.ml::LinearClassifier", &LinearClassifier},
    {"ai.onnx.ml::LinearRegressor", &LinearRegressor},
    {"ai.onnx.ml::Normalizer", &Normalizer},
    {"ai.onnx.ml::OneHotEncoder", &OneHotEncoder},
    {"ai.onnx.ml::SVMClassifier", &SvmClassifier},
    {"ai.onnx.ml::SVMRegressor", &SvmRegressor},
    {"ai.onnx.ml::Scaler", &Scaler},
    {"ai.onnx.ml::ZipMap", &ZipMap},
};

}  // namespace

std::span<const HandlerEntry> LearnedHandlers() { return kLearnedHandlers; }

}  // namespace millpond::onnx
