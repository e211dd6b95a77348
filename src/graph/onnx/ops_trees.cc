// SPDX-License-Identifier: Apache-2.0
// Tree ensembles (domain ai.onnx.ml), as tables for MillpondForest.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "src/graph/onnx/scores.h"

namespace millpond::onnx {
namespace {

constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                       "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF"};
constexpr int64_t kMember = 6, kLeaf = 7;

struct TreeNode {
  int64_t mode = kLeaf, feature = 0, yes = 0, no = 0, missing = 0;
  int64_t begin = 0, end = 0;  // a leaf's weights, or the members of a set
  double value = 0;
};

struct Weight {
  int64_t target;
  double weight;
};

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<Weight> weights;
  std::vector<double> members;
  Ints roots;
};

// [N, count] in double.
Val Evaluated(Context& c, const Forest& forest, int64_t count, const std::string& aggregate) {
  Builder& b = c.b;
  Ints table, targets;
  std::vector<double> values, weights;
  for (const TreeNode& node : forest.nodes) {
    table.insert(table.end(), {node.mode, node.feature, node.yes, node.no, node.missing, node.begin, node.end});
    values.push_back(node.value);
  }
  for (const Weight& one : forest.weights) {
    targets.push_back(one.target);
    weights.push_back(one.weight);
  }
  if (aggregate != "SUM" && aggregate != "AVERAGE" && aggregate != "MIN" && aggregate != "MAX") {
    c.Refuse("aggregate function \"%.40s\" is not known", aggregate.c_str());
  }
  return b.Op("MillpondForest",
              {Features(c), b.Reshape(b.ConstInts(table), {-1, 7}), b.ConstReals(values), b.ConstReals(forest.members),
               b.ConstInts(forest.roots), b.ConstInts(targets), b.ConstReals(weights)},
              {{"count", count}, {"aggregate", aggregate}});
}

// Of the two older operators, whose nodes and weights have numbers of tree and node. False after refusing.
class OldForest {
 public:
  explicit OldForest(Context* context) : c_(*context) {}

  bool Read(const std::string& kind, Forest* out) {
    c_.Ignore("nodes_hitrates");
    c_.Ignore("nodes_hitrates_as_tensor");
    return Nodes(out) && Weights(kind, out);
  }
  const std::set<int64_t>& targets() const { return targets_; }

 private:
  bool Nodes(Forest* out) {
    const Ints trees = c_.List("nodes_treeids"), ids = c_.List("nodes_nodeids");
    const Ints features = c_.List("nodes_featureids");
    const Ints yes = c_.List("nodes_truenodeids"), no = c_.List("nodes_falsenodeids");
    const Ints missing = c_.List("nodes_missing_value_tracks_true", Ints(trees.size(), 0));
    const std::vector<std::string> modes = c_.Texts("nodes_modes");
    const std::vector<double> values = RealsOrTensor(c_, "nodes_values");
    const size_t count = trees.size();
    if (count == 0 || ids.size() != count || features.size() != count || yes.size() != count || no.size() != count ||
        missing.size() != count || modes.size() != count || values.size() != count) {
      c_.Refuse("its lists nodes_... have different lengths, or are empty");
      return false;
    }
    std::set<int64_t> seen;
    for (size_t i = 0; i < count; ++i) {
      places_.try_emplace({trees[i], ids[i]}, static_cast<int64_t>(i));
      if (seen.insert(trees[i]).second) out->roots.push_back(static_cast<int64_t>(i));  // the first of a tree
    }
    for (size_t i = 0; i < count; ++i) {
      TreeNode& node = out->nodes.emplace_back();
      node.mode = std::find(std::begin(kModes), std::end(kModes), modes[i]) - std::begin(kModes);
      if (node.mode > kLeaf || node.mode == kMember) {
        c_.Refuse("node %zu has mode \"%.40s\", which is not known", i, modes[i].c_str());
        return false;
      }
      if (node.mode == kLeaf) continue;
      const auto on = places_.find({trees[i], yes[i]}), off = places_.find({trees[i], no[i]});
      if (on == places_.end() || off == places_.end()) {
        c_.Refuse("node %zu leads to a node that is not there", i);
        return false;
      }
      node = {node.mode, features[i], on->second, off->second, missing[i], 0, 0, values[i]};
    }
    return true;
  }

  bool Weights(const std::string& kind, Forest* out) {
    const Ints trees = c_.List(kind + "_treeids"), ids = c_.List(kind + "_nodeids"), targets = c_.List(kind + "_ids");
    const std::vector<double> weights = RealsOrTensor(c_, kind + "_weights");
    if (ids.size() != trees.size() || targets.size() != trees.size() || weights.size() != trees.size()) {
      c_.Refuse("its lists %s_... have different lengths", kind.c_str());
      return false;
    }
    targets_ = {targets.begin(), targets.end()};
    std::vector<std::vector<Weight>> of(out->nodes.size());
    for (size_t i = 0; i < trees.size(); ++i) {
      const auto place = places_.find({trees[i], ids[i]});
      if (place == places_.end()) {
        c_.Refuse("weight %zu is of a node that is not there", i);
        return false;
      }
      of[static_cast<size_t>(place->second)].push_back({targets[i], weights[i]});
    }
    for (size_t i = 0; i < of.size(); ++i) {
      if (out->nodes[i].mode != kLeaf) continue;
      out->nodes[i].begin = static_cast<int64_t>(out->weights.size());
      out->weights.insert(out->weights.end(), of[i].begin(), of[i].end());
      out->nodes[i].end = static_cast<int64_t>(out->weights.size());
    }
    return true;
  }

  Context& c_;
  std::map<std::pair<int64_t, int64_t>, int64_t> places_;
  std::set<int64_t> targets_;
};

Val WithBase(Context& c, const Val& sums, const std::vector<double>& base, int64_t count) {
  if (base.empty()) return sums;
  if (base.size() != 1 && base.size() != static_cast<size_t>(count)) {
    c.Refuse("base_values has %zu entries for %lld targets", base.size(), static_cast<long long>(count));
    return {};
  }
  return c.b.Add(sums, c.b.ConstReals(base));
}

void TreeEnsembleRegressor(Context& c) {
  Builder& b = c.b;
  Forest forest;
  const int64_t count = c.Int("n_targets", 1);
  const std::string how = c.Text("post_transform", "NONE");
  const std::string aggregate = c.Text("aggregate_function", "SUM");
  const std::vector<double> base = RealsOrTensor(c, "base_values");
  if (!OldForest(&c).Read("target", &forest)) return;
  const Val sums = WithBase(c, Evaluated(c, forest, count, aggregate), base, count);
  c.Out(Transformed(c, b.Cast(sums, DType::kFloat), how));
}

// Where all weights are of one class and there are two labels, the score is that of the second.
void TreeEnsembleClassifier(Context& c) {
  Builder& b = c.b;
  Forest forest;
  OldForest reader(&c);
  const Ints labels = LabelsOf(c, "classlabels_int64s");
  const std::string how = c.Text("post_transform", "NONE");
  const std::vector<double> base = RealsOrTensor(c, "base_values");
  if (labels.empty() || !reader.Read("class", &forest)) return;
  const auto count = static_cast<int64_t>(labels.size());
  const bool binary = reader.targets().size() == 1 && count <= 2;
  if (!binary) {
    const Val sums = WithBase(c, Evaluated(c, forest, count, "SUM"), base, count);
    const Val scores = Transformed(c, b.Cast(sums, DType::kFloat), how);
    c.Out(0, LabelOfGreatest(c, scores, labels));
    return c.Out(1, scores);
  }
  if (count == 1 && labels[0] != 1)
    return c.Refuse("its one label is %lld; 1 is supported", static_cast<long long>(labels[0]));
  for (Weight& one : forest.weights) one.target = 0;
  const double offset = base.empty()       ? 0
                        : base.size() == 1 ? base[0]
                                           : base[static_cast<size_t>(*reader.targets().begin() != 0)];
  const Val sum = b.Cast(b.Add(Evaluated(c, forest, 1, "SUM"), b.ConstReals({offset})), DType::kFloat);
  const Val other = how == "NONE" ? b.Sub(b.ScalarLike(sum, 1), sum) : b.Op("Neg", {sum});
  const Val scores = Transformed(c, b.Concat({other, sum}, 1), how);
  c.Out(0, LabelOfGreatest(c, scores, count == 1 ? Ints{0, 1} : labels));
  c.Out(1, scores);
}

// Nodes and leaves of the newer operator are counted apart; here the leaves come behind the nodes.
class NewForest {
 public:
  explicit NewForest(Context* context) : c_(*context) {}

  bool Read(Forest* out) {
    c_.Ignore("nodes_hitrates");
    const Ints features = c_.List("nodes_featureids");
    const size_t count = features.size();
    const Ints yes = c_.List("nodes_truenodeids"), no = c_.List("nodes_falsenodeids");
    const Ints yes_leaf = c_.List("nodes_trueleafs"), no_leaf = c_.List("nodes_falseleafs");
    const Ints missing = c_.List("nodes_missing_value_tracks_true", Ints(count, 0));
    const Ints targets = c_.List("leaf_targetids");
    const std::vector<double> weights = Numbers("leaf_weights"), splits = Numbers("nodes_splits");
    const std::vector<double> modes = Numbers("nodes_modes"), members = Numbers("membership_values");
    out->roots = c_.List("tree_roots");
    if (!c_.b.ok()) return false;
    if (count == 0 || yes.size() != count || no.size() != count || yes_leaf.size() != count ||
        no_leaf.size() != count || missing.size() != count || modes.size() != count || splits.size() != count ||
        targets.size() != weights.size() || targets.empty()) {
      c_.Refuse("its lists nodes_... or leaf_... have different lengths, or are empty");
      return false;
    }
    const auto leaves = static_cast<int64_t>(count);
    size_t next = 0;  // of the sets of members, which end with NaN
    for (size_t i = 0; i < count; ++i) {
      const auto mode = static_cast<int64_t>(modes[i]);
      TreeNode node{mode,
                    features[i],
                    yes[i] + (yes_leaf[i] != 0 ? leaves : 0),
                    no[i] + (no_leaf[i] != 0 ? leaves : 0),
                    missing[i],
                    0,
                    0,
                    splits[i]};
      if (mode < 0 || mode > kMember) {
        c_.Refuse("node %zu has mode %lld; 0 to 6 are known", i, static_cast<long long>(mode));
        return false;
      }
      if (mode == kMember) {
        node.begin = static_cast<int64_t>(out->members.size());
        while (next < members.size() && !std::isnan(members[next])) out->members.push_back(members[next++]);
        ++next;
        node.end = static_cast<int64_t>(out->members.size());
      }
      out->nodes.push_back(node);
    }
    for (size_t i = 0; i < targets.size(); ++i) {
      TreeNode leaf;
      leaf.begin = static_cast<int64_t>(i);
      leaf.end = leaf.begin + 1;
      out->nodes.push_back(leaf);
      out->weights.push_back({targets[i], weights[i]});
    }
    return true;
  }

 private:
  std::vector<double> Numbers(const char* name) {
    const ir::TensorPtr tensor = c_.Tensor(name);
    if (tensor == nullptr) return {};
    const std::optional<std::vector<double>> values = c_.b.RealsOf(c_.b.Const(tensor));
    if (!values) c_.Refuse("%s is not of numbers", name);
    return values ? *values : std::vector<double>();
  }
  Context& c_;
};

void TreeEnsemble(Context& c) {
  static constexpr const char* kAggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  static constexpr const char* kTransforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  const int64_t aggregate = c.Int("aggregate_function", 1), transform = c.Int("post_transform", 0);
  if (aggregate < 0 || aggregate > 3 || transform < 0 || transform > 4)
    return c.Refuse("aggregate_function %lld or post_transform %lld is not known", static_cast<long long>(aggregate),
                    static_cast<long long>(transform));
  const int64_t count = c.Int("n_targets", 1);
  Forest forest;
  if (!NewForest(&c).Read(&forest)) return;
  const DType type = c.b.TypeOf(c.In(0));
  c.Out(Transformed(c, c.b.Cast(Evaluated(c, forest, count, kAggregates[aggregate]), type), kTransforms[transform]));
}

constexpr HandlerEntry kTreeHandlers[] = {
    {"ai.onnx.ml::TreeEnsemble", &TreeEnsemble},
    {"ai.onnx.ml::TreeEnsembleClassifier", &TreeEnsembleClassifier},
    {"ai.onnx.ml::TreeEnsembleRegressor", &TreeEnsembleRegressor},
};

}  // namespace

std::span<const HandlerEntry> TreeHandlers() { return kTreeHandlers; }

}  // namespace millpond::onnx
