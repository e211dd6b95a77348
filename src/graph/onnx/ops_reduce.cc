// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and matrix multiplication.
#include <numeric>

#include "src/graph/onnx/context.h"

namespace millpond::onnx {
namespace {

// Axes are an attribute in old opsets and an input in new ones; none means all, unless noop_with_empty_axes is set.
struct Axes {
  Val value;
  bool noop = false;  // the operand unchanged
};

Axes AxesOf(Context& c, const Val& x, int64_t since) {
  Builder& b = c.b;
  const bool noop = c.Int("noop_with_empty_axes", 0) != 0;
  Axes axes;
  if (c.opset < since) {
    if (c.HasAttr("axes")) axes.value = b.ConstInts(c.List("axes"));
  } else {
    axes.value = c.Maybe(1);
  }
  const bool empty = !Given(axes.value) || (b.RankOf(axes.value) == 1 && b.DimsOf(axes.value)[0] == 0);
  if (!empty) return axes;
  if (noop) {
    axes.noop = true;
    return axes;
  }
  const int64_t rank = c.KnownRank(x);
  Ints all(static_cast<size_t>(std::max<int64_t>(rank, 0)));
  std::iota(all.begin(), all.end(), 0);
  axes.value = b.ConstInts(all);
  return axes;
}

Val Reduced(Context& c, const char* type, const Val& x, const Axes& axes, bool keep) {
  if (axes.noop) return x;
  return c.b.Wide(type, {x, axes.value}, {{"keep_dims", keep}, {"noop_with_empty_axes", true}});
}

void Reduce(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const std::string& type = c.type();
  const int64_t since = type == "ReduceSum" ? 13 : 18;
  const bool keep = c.Int("keepdims", 1) != 0;
  const Axes axes = AxesOf(c, x, since);
  Val result;
  if (type == "ReduceSum" || type == "ReduceMean" || type == "ReduceProd") {
    result = Reduced(c, type.c_str(), x, axes, keep);
  } else if (type == "ReduceMax" || type == "ReduceMin") {
    if (b.TypeOf(x) == DType::kBool) {
      const Val bytes = Reduced(c, type.c_str(), b.Cast(x, DType::kUint8), axes, keep);
      result = b.Cast(bytes, DType::kBool);
    } else {
      result = Reduced(c, type.c_str(), x, axes, keep);
    }
  } else if (type == "ReduceL1") {
    result = Reduced(c, "ReduceSum", b.Wide("Abs", {x}), axes, keep);
  } else if (type == "ReduceL2") {
    result = b.Wide("Sqrt", {Reduced(c, "ReduceSum", b.Mul(x, x), axes, keep)});
  } else if (type == "ReduceSumSquare") {
    result = Reduced(c, "ReduceSum", b.Mul(x, x), axes, keep);
  } else if (type == "ReduceLogSum") {
    result = b.Wide("Log", {Reduced(c, "ReduceSum", x, axes, keep)});
  } else if (axes.noop) {
    result = x;  // log(exp(x))
  } else if (b.IsStatic(x) && ir::ElementsOf(b.DimsOf(x)) == 0) {
    result = b.Wide("Log", {Reduced(c, "ReduceSum", b.Wide("Exp", {x}), axes, keep)});
  } else {
    // Subtract the maximum, so that nothing overflows.
    const Val most = Reduced(c, "ReduceMax", x, axes, true);
    const Val sum = Reduced(c, "ReduceSum", b.Wide("Exp", {b.Sub(x, most)}), axes, keep);
    const Val shown = keep ? most : Reduced(c, "ReduceMax", x, axes, false);
    result = b.Add(b.Wide("Log", {sum}), shown);
  }
  c.Out(axes.noop ? b.Op("Identity", {result}) : result);
}

// Before opset 13 everything from the axis on is one row.
template <class Apply>
void AlongRows(Context& c, const Apply& apply) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t axis = c.Int("axis", c.opset < 13 ? 1 : -1);
  if (c.opset >= 13) return c.Out(apply(x, axis));
  const int64_t rank = c.KnownRank(x);
  if (rank < 0) return;
  const int64_t first = c.Axis(axis, rank);
  if (first == rank - 1) return c.Out(apply(x, -1));
  if (!b.IsStatic(x)) return c.Refuse("before opset 13 its input's shape must be known");
  const ir::Dims dims = b.DimsOf(x);
  const Val rows = b.Reshape(x, {ir::ElementsOf({dims.begin(), dims.begin() + first}), -1});
  c.Out(b.Reshape(apply(rows, -1), dims));
}

void Softmax(Context& c) {
  AlongRows(c, [&](const Val& x, int64_t axis) { return c.b.Wide("SoftmaxV2", {x}, {{"axes", Ints{axis}}}); });
}
void LogSoftmax(Context& c) {
  AlongRows(c, [&](const Val& x, int64_t axis) { return c.b.Wide("LogSoftmaxV2", {x}, {{"axes", Ints{axis}}}); });
}
void Hardmax(Context& c) {
  AlongRows(c, [&](const Val& x, int64_t axis) { return c.b.Wide("HardMax", {x}, {{"axis", axis}}); });
}

Val MultiplyMatrices(Context& c, const Val& x, const Val& y) {
  Builder& b = c.b;
  const DType type = b.TypeOf(x);
  const bool whole = ClassOf(type) == kIntTypes;
  if (whole || type == DType::kDouble) return b.Op("MillpondMatMul", {x, y});
  return b.Wide("BatchMatMulV2", {x, y});
}

void MatMul(Context& c) {
  Builder& b = c.b;
  Val x = c.In(0);
  Val y = c.In(1);
  const int64_t x_rank = c.KnownRank(x);
  const int64_t y_rank = c.KnownRank(y);
  if (x_rank < 1 || y_rank < 1) return c.Refuse("its operands must have dimensions");
  // Vectors get an extra dimension for the matmul, removed afterwards.
  if (x_rank == 1) x = b.Unsqueeze(x, {0});
  if (y_rank == 1) y = b.Unsqueeze(y, {1});
  Val result = MultiplyMatrices(c, x, y);
  const int64_t rank = std::max({x_rank, y_rank, int64_t{2}});
  if (x_rank == 1 && y_rank == 1) {
    result = b.Squeeze(result, {rank - 2, rank - 1});
  } else if (x_rank == 1) {
    result = b.Squeeze(result, {rank - 2});
  } else if (y_rank == 1) {
    result = b.Squeeze(result, {rank - 1});
  }
  c.Out(result);
}

void Gemm(Context& c) {
  Builder& b = c.b;
  Val x = c.In(0);
  Val y = c.In(1);
  const double alpha = c.Real("alpha", 1.0);
  const double beta = c.Real("beta", 1.0);
  const bool turn_x = c.Int("transA", 0) != 0;
  const bool turn_y = c.Int("transB", 0) != 0;
  const DType type = b.TypeOf(x);
  Val result;
  if (ClassOf(type) == kIntTypes || type == DType::kDouble) {
    result = MultiplyMatrices(c, turn_x ? b.Transpose(x, {1, 0}) : x, turn_y ? b.Transpose(y, {1, 0}) : y);
  } else {
    result = b.Op("MatMulV2", {x, y}, {{"transpose_x1", turn_x}, {"transpose_x2", turn_y}});
  }
  if (alpha != 1.0) result = b.Mul(result, b.ScalarLike(result, alpha));
  if (c.Has(2)) {
    Val bias = c.In(2);
    if (beta != 1.0) bias = b.Mul(bias, b.ScalarLike(bias, beta));
    result = b.Add(result, bias);
  }
  c.Out(result);
}

void Einsum(Context& c) {
  const Vals all = c.AllFrom(0);
  const DType type = all.empty() ? DType::kFloat : c.b.TypeOf(all[0]);
  const bool known = type == DType::kFloat || type == DType::kHalf || type == DType::kInt32;
  c.Out(c.b.Op(known ? "Einsum" : "MillpondEinsum", {all},
               {{"equation", c.Text("equation", "")}, {"N", static_cast<int64_t>(all.size())}}));
}

void LpNormalization(Context& c) {
  Builder& b = c.b;
  const Val x = c.In(0);
  const int64_t axis = c.Int("axis", -1);
  const int64_t p = c.Int("p", 2);
  if (p != 1 && p != 2) return c.Refuse("p is %lld, and must be 1 or 2", static_cast<long long>(p));
  Val norm = b.Reduce("ReduceSum", p == 1 ? b.Wide("Abs", {x}) : b.Mul(x, x), {axis}, true);
  if (p == 2) norm = b.Wide("Sqrt", {norm});
  const Val zero = b.Wide("Equal", {norm, b.ScalarLike(norm, 0)});
  // Rows of zeros stay zeros.
  c.Out(b.Div(x, b.Where(zero, b.ScalarLike(norm, 1), norm)));
}

constexpr HandlerEntry kReduceHandlers[] = {
    MP_ONNX(Einsum),           MP_ONNX(Gemm),
    MP_ONNX(Hardmax),          MP_ONNX(LogSoftmax),
    MP_ONNX(LpNormalization),  MP_ONNX(MatMul),
    {"ReduceL1", &Reduce},     {"ReduceL2", &Reduce},
    {"ReduceLogSum", &Reduce}, {"ReduceLogSumExp", &Reduce},
    {"ReduceMax", &Reduce},    {"ReduceMean", &Reduce},
    {"ReduceMin", &Reduce},    {"ReduceProd", &Reduce},
    {"ReduceSum", &Reduce},    {"ReduceSumSquare", &Reduce},
    MP_ONNX(Softmax),
};

}  // namespace

std::span<const HandlerEntry> ReduceHandlers() { return kReduceHandlers; }

}  // namespace millpond::onnx
