// SPDX-License-Identifier: Apache-2.0
// The arguments of one call, owned: whatever the client does with its own objects afterwards does not matter. Calls are
// recycled with their capacity, so that in the steady state making one allocates nothing.
#ifndef MILLPOND_SRC_OPS_CALL_H_
#define MILLPOND_SRC_OPS_CALL_H_

#include <complex>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/tensor_view.h"
#include "src/ops/row.h"

namespace millpond {

struct ScalarValue {
  DType dtype = DType::kUndefined;
  union {
    int64_t integer = 0;  // integers and bool
    double real;
  };
  double imaginary = 0;
};

class OpCall {
 public:
  // Values of lists and arrays lie in the call's pools: [first, first + count).
  struct Arg {
    bool present;
    uint32_t first;
    uint32_t count;
    union {
      int64_t integer;
      double real;
    };
  };

  const OpRow& row() const { return *row_; }
  size_t size() const { return args_.size(); }
  const Arg& arg(size_t place) const { return args_[place]; }
  bool has(size_t place) const { return args_[place].present; }

  int64_t integer(size_t place) const { return args_[place].integer; }
  double real(size_t place) const { return args_[place].real; }
  DType dtype(size_t place) const { return static_cast<DType>(args_[place].integer); }
  const TensorView& view(size_t place) const { return views_[args_[place].first]; }
  TensorView& view(size_t place) { return views_[args_[place].first]; }
  std::span<const TensorView> views(size_t place) const {
    return {views_.data() + args_[place].first, args_[place].count};
  }
  const ScalarValue& scalar(size_t place) const { return scalars_[args_[place].first]; }
  std::span<const ScalarValue> scalars(size_t place) const {
    return {scalars_.data() + args_[place].first, args_[place].count};
  }
  std::span<const int64_t> ints(size_t place) const { return {ints_.data() + args_[place].first, args_[place].count}; }
  std::span<const double> reals(size_t place) const { return {reals_.data() + args_[place].first, args_[place].count}; }
  // Bools are kept as ints are.
  std::string_view text(size_t place) const { return {text_.data() + args_[place].first, args_[place].count}; }

  // All tensors of the call, members of lists among them. A missing member of a list has dtype kUndefined.
  std::span<TensorView> all_views() { return views_; }
  std::span<const TensorView> all_views() const { return views_; }

  // Building: Begin, then one Add… for each argument of the row, in order.
  void Begin(const OpRow* row) {
    row_ = row;
    args_.clear();
    views_.clear();
    scalars_.clear();
    ints_.clear();
    reals_.clear();
    text_.clear();
  }
  void AddAbsent() { args_.push_back({.present = false, .first = 0, .count = 0, .integer = 0}); }
  void AddInt(int64_t value) { args_.push_back({.present = true, .first = 0, .count = 0, .integer = value}); }
  void AddReal(double value) { args_.push_back({.present = true, .first = 0, .count = 0, .real = value}); }
  void AddView(const TensorView& view) { AddViews({&view, 1}); }
  void AddViews(std::span<const TensorView> views) { AddPooled(&views_, views.begin(), views.end()); }
  void AddScalars(std::span<const ScalarValue> scalars) { AddPooled(&scalars_, scalars.begin(), scalars.end()); }
  void AddInts(std::span<const int64_t> values) { AddPooled(&ints_, values.begin(), values.end()); }
  void AddBools(std::span<const uint8_t> values) { AddPooled(&ints_, values.begin(), values.end()); }
  void AddFloats(std::span<const float> values) { AddPooled(&reals_, values.begin(), values.end()); }
  void AddText(std::string_view text) { AddPooled(&text_, text.begin(), text.end()); }
  // For lists that are made member by member.
  void BeginViews() { args_.push_back({.present = true, .first = Size(views_), .count = 0, .integer = 0}); }
  void AppendView(const TensorView& view) {
    views_.push_back(view);
    ++args_.back().count;
  }

  // Checks the outputs' shapes against the row's rules.
  Status CheckShapes() const;

 private:
  template <class Pool>
  static uint32_t Size(const Pool& pool) {
    return static_cast<uint32_t>(pool.size());
  }
  template <class Pool, class Iterator>
  void AddPooled(Pool* pool, Iterator begin, Iterator end) {
    args_.push_back({.present = true, .first = Size(*pool), .count = static_cast<uint32_t>(end - begin), .integer = 0});
    pool->insert(pool->end(), begin, end);
  }

  const OpRow* row_ = nullptr;
  std::vector<Arg> args_;
  std::vector<TensorView> views_;
  std::vector<ScalarValue> scalars_;
  std::vector<int64_t> ints_;
  std::vector<double> reals_;
  std::string text_;
};

// Recycled calls.
struct OpCallRecycler {
  void operator()(OpCall* call) const;
};
using OpCallPtr = std::unique_ptr<OpCall, OpCallRecycler>;
OpCallPtr NewOpCall();
OpCallPtr CloneOpCall(const OpCall& call);

}  // namespace millpond

#endif  // MILLPOND_SRC_OPS_CALL_H_
