// SPDX-License-Identifier: Apache-2.0
// What ONNX's domain for classical learning has beyond sums and products: forests, tables, probabilities from pairs.
#include <algorithm>
#include <cmath>
#include <limits>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

// A row of the nodes' table; src/graph/onnx/forest.h writes it.
struct TreeNode {
  int64_t mode, feature, yes, no, missing, begin, end;
};
enum Mode : int64_t { kAtMost, kBelow, kAtLeast, kAbove, kSame, kOther, kMember, kLeaf };
static_assert(sizeof(TreeNode) == 7 * sizeof(int64_t));

struct Forest {
  const TreeNode* nodes;
  int64_t count;
  const double* values;
  const double* members;
};

bool Goes(const Forest& forest, const TreeNode& node, double value, double x) {
  if (std::isnan(x)) return node.missing != 0;
  switch (node.mode) {
    case kAtMost:
      return x <= value;
    case kBelow:
      return x < value;
    case kAtLeast:
      return x >= value;
    case kAbove:
      return x > value;
    case kSame:
      return x == value;
    case kOther:
      return x != value;
    default:
      return std::find(forest.members + node.begin, forest.members + node.end, x) != forest.members + node.end;
  }
}

const TreeNode& LeafOf(const Forest& forest, int64_t place, const double* x) {
  for (int64_t steps = 0; steps <= forest.count; ++steps) {
    const TreeNode& node = forest.nodes[place];
    if (node.mode == kLeaf) return node;
    place = Goes(forest, node, forest.values[place], x[node.feature]) ? node.yes : node.no;
  }
  TORCH_CHECK(false, "a tree has a cycle: no leaf after ", forest.count, " steps");
}

void CheckForest(const Forest& forest, int64_t features, int64_t members, int64_t weights) {
  for (int64_t i = 0; i < forest.count; ++i) {
    const TreeNode& node = forest.nodes[i];
    const int64_t limit = node.mode == kLeaf ? weights : members;
    TORCH_CHECK(node.begin >= 0 && node.begin <= node.end && node.end <= limit, "node ", i, " has [", node.begin, ", ",
                node.end, ") of ", limit, " entries");
    if (node.mode == kLeaf) continue;
    TORCH_CHECK(node.feature >= 0 && node.feature < features, "node ", i, " asks for feature ", node.feature, " of ",
                features);
    TORCH_CHECK(node.yes >= 0 && node.yes < forest.count && node.no >= 0 && node.no < forest.count, "node ", i,
                " leads to nodes ", node.yes, " and ", node.no, " of ", forest.count);
  }
}

}  // namespace

MP_KERNEL(OwnForest, const Tensor& x, const Tensor& nodes, const Tensor& values, const Tensor& members,
          const Tensor& roots, const Tensor& targets, const Tensor& weights, int64_t count, string_view aggregate,
          Tensor& y) {
  TORCH_CHECK(x.dim() == 2, "x has ", x.dim(), " dimensions; rows of features, two, are needed");
  const Tensor rows = x.to(at::kDouble).contiguous();
  const Tensor table = nodes.contiguous(), thresholds = values.contiguous(), sets = members.contiguous();
  const Tensor first = roots.contiguous(), to = targets.contiguous(), by = weights.contiguous();
  const Forest forest{reinterpret_cast<const TreeNode*>(table.const_data_ptr<int64_t>()), nodes.size(0),
                      thresholds.const_data_ptr<double>(), sets.const_data_ptr<double>()};
  CheckForest(forest, x.size(1), members.numel(), weights.numel());
  const bool least = aggregate == "MIN", most = aggregate == "MAX";
  const double start = least ? std::numeric_limits<float>::max() : most ? std::numeric_limits<float>::lowest() : 0.0;
  const double part = aggregate == "AVERAGE" ? 1.0 / static_cast<double>(std::max<int64_t>(roots.numel(), 1)) : 1.0;
  Tensor result = at::full({x.size(0), count}, start, at::kDouble);
  for (int64_t row = 0; row < x.size(0); ++row) {
    double* out = result.mutable_data_ptr<double>() + row * count;
    const double* features = rows.const_data_ptr<double>() + row * x.size(1);
    for (int64_t tree = 0; tree < roots.numel(); ++tree) {
      const int64_t root = first.const_data_ptr<int64_t>()[tree];
      TORCH_CHECK(root >= 0 && root < forest.count, "tree ", tree, " starts at node ", root, " of ", forest.count);
      const TreeNode& leaf = LeafOf(forest, root, features);
      for (int64_t i = leaf.begin; i < leaf.end; ++i) {
        const int64_t target = to.const_data_ptr<int64_t>()[i];
        const double weight = by.const_data_ptr<double>()[i];
        TORCH_CHECK(target >= 0 && target < count, "a leaf counts for target ", target, " of ", count);
        double& sum = out[target];
        sum = least ? std::min(sum, weight) : most ? std::max(sum, weight) : sum + weight * part;
      }
    }
  }
  Write(y, result);
}

// Where each element of x stands among the keys, or `keys.numel()`. NaN is like NaN. Of equal keys the last counts.
static Tensor PlacesAmong(const Tensor& x, const Tensor& keys) {
  const Tensor flat = x.reshape({-1, 1});
  Tensor same = flat.eq(keys.reshape({1, -1}));
  if (at::isFloatingType(x.scalar_type())) same = same.logical_or(flat.isnan().logical_and(keys.isnan()));
  const Tensor numbers = at::arange(1, keys.numel() + 1, at::kLong);
  if (keys.numel() == 0) return at::zeros({x.numel()}, at::kLong);
  const Tensor last = same.to(at::kLong).mul(numbers).amax(1);  // 0: none
  return at::where(last.eq(0), keys.numel(), last - 1);
}

MP_KERNEL(OwnLookup, const Tensor& x, const Tensor& keys, const Tensor& values, const Tensor& otherwise, Tensor& y) {
  TORCH_CHECK(keys.numel() == values.numel() && otherwise.numel() == 1, "there are ", keys.numel(), " keys, ",
              values.numel(), " values and ", otherwise.numel(), " defaults");
  const Tensor table = at::cat({values.reshape({-1}), otherwise.reshape({-1}).to(values.scalar_type())});
  Write(y, table.index_select(0, PlacesAmong(x, keys.to(x.scalar_type()))).reshape(x.sizes()));
}

MP_KERNEL(OwnCategories, const Tensor& x, const Tensor& keys, bool zeros, Tensor& y) {
  const Tensor places = PlacesAmong(x, keys.to(x.scalar_type()));
  TORCH_CHECK(zeros || !places.eq(keys.numel()).any().item<bool>(), "an element is none of the ", keys.numel(),
              " categories, and zeros is 0");
  const Tensor hot = at::zeros({x.numel(), keys.numel() + 1}, at::kFloat).scatter_(1, places.unsqueeze(1), 1);
  Write(y, hot.narrow(1, 0, keys.numel()).reshape(y.sizes()));
}

// Classes' probabilities from those of each pair (i before j: that it is i), which need not agree: the weights p that
// minimise the sum of (r_ji p_i - r_ij p_j)^2, found by iteration as Wu, Lin and Weng describe (2004, method 2).
MP_KERNEL(OwnCoupled, const Tensor& pairs, int64_t count, Tensor& y) {
  const Tensor given = pairs.to(at::kDouble).contiguous();
  TORCH_CHECK(pairs.dim() == 2 && pairs.size(1) == count * (count - 1) / 2, "pairs ", pairs.sizes(), " for ", count,
              " classes");
  Tensor result = at::empty({pairs.size(0), count}, at::kDouble);
  const auto k = static_cast<size_t>(count);
  const double enough = 0.005 / static_cast<double>(count);
  for (int64_t row = 0; row < pairs.size(0); ++row) {
    const double* next = given.const_data_ptr<double>() + row * pairs.size(1);
    std::vector<double> r(k * k), q(k * k), p(k, 1.0 / static_cast<double>(count)), qp(k);
    for (size_t i = 0; i < k; ++i) {
      for (size_t j = i + 1; j < k; ++j) {
        r[i * k + j] = std::clamp(*next++, 1e-7, 1 - 1e-7);
        r[j * k + i] = 1 - r[i * k + j];
      }
    }
    for (size_t i = 0; i < k; ++i) {
      for (size_t j = 0; j < k; ++j) {
        if (i == j) continue;
        q[i * k + i] += r[j * k + i] * r[j * k + i];
        q[i * k + j] = -r[j * k + i] * r[i * k + j];
      }
    }
    for (int64_t round = 0; round < std::max<int64_t>(100, count); ++round) {
      double pqp = 0, worst = 0;
      for (size_t i = 0; i < k; ++i) {
        qp[i] = 0;
        for (size_t j = 0; j < k; ++j) qp[i] += q[i * k + j] * p[j];
        pqp += p[i] * qp[i];
      }
      for (size_t i = 0; i < k; ++i) worst = std::max(worst, std::abs(qp[i] - pqp));
      if (worst < enough) break;
      for (size_t i = 0; i < k; ++i) {
        const double step = (pqp - qp[i]) / q[i * k + i];
        const double whole = 1 + step;
        p[i] += step;
        pqp = (pqp + step * (step * q[i * k + i] + 2 * qp[i])) / (whole * whole);
        for (size_t j = 0; j < k; ++j) {
          qp[j] = (qp[j] + step * q[i * k + j]) / whole;
          p[j] /= whole;
        }
      }
    }
    std::copy(p.begin(), p.end(), result.mutable_data_ptr<double>() + row * count);
  }
  Write(y, result);
}

}  // namespace millpond::kernels
