// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/moves.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace millpond::program {
namespace {

constexpr size_t kOfferAlignment = 64;  // of a part within a whole: a line of the cache, as kernels like it

enum class Shape : uint8_t { kJoin, kSplit, kBlock };

// A row that moves bytes, and the places of its arguments.
struct Mover {
  std::string_view row;
  Shape shape;
  size_t in;
  size_t dim;  // of a block: its offsets
  size_t out;
};
constexpr Mover kMovers[] = {{"JoinedAlong", Shape::kJoin, 0, 1, 3},     {"StackedAlong", Shape::kJoin, 0, 1, 3},
                             {"UnstackedAlong", Shape::kSplit, 0, 1, 3}, {"SplitAlong", Shape::kSplit, 0, 2, 4},
                             {"SplitEvenly", Shape::kSplit, 0, 1, 3},    {"SlicedBlock", Shape::kBlock, 0, 1, 3},
                             {"SlicedAxes", Shape::kBlock, 0, 1, 5}};

const Mover* MoverOf(const Step& step) {
  if (step.kind != Step::Kind::kKernel || step.name == nullptr || step.call == nullptr) return nullptr;
  const auto* const found =
      std::find_if(std::begin(kMovers), std::end(kMovers), [&](const Mover& mover) { return mover.row == step.name; });
  return found != std::end(kMovers) ? found : nullptr;
}

bool IsContiguous(const TensorView& view) {
  TensorView plain = view;
  plain.SetContiguousStrides();
  return view.offset == 0 && std::equal(view.strides, view.strides + view.rank, plain.strides) &&
         BitsOf(view.dtype) % 8 == 0;
}

// Nothing but dimensions of 1 lies outside of `dim`.
bool IsOutermost(const TensorView& whole, int64_t dim) {
  dim += dim < 0 ? whole.rank : 0;
  return dim >= 0 && dim < whole.rank &&
         std::all_of(whole.dims, whole.dims + dim, [](int64_t size) { return size == 1; });
}

// Where a block of whole[starts...] begins, in elements, if its elements lie together.
std::optional<int64_t> PlaceOf(const TensorView& whole, const int64_t* starts, const TensorView& block) {
  bool inner = false;  // a dimension with several elements lies outside: what is within must be whole
  int64_t place = 0;
  for (size_t i = 0; i < whole.rank; ++i) {
    if (starts[i] < 0 || starts[i] + block.dims[i] > whole.dims[i]) return std::nullopt;
    if (inner && block.dims[i] != whole.dims[i]) return std::nullopt;
    inner = inner || block.dims[i] > 1;
    place += starts[i] * whole.strides[i];
  }
  return place;
}

// Of SlicedAxes: begin, end, axes and steps become a start for each dimension. False: not plain.
bool StartsOf(const OpCall& call, const TensorView& whole, const TensorView& block, int64_t* starts) {
  constexpr size_t kBegin = 1, kEnd = 2, kAxes = 3, kSteps = 4;
  const auto begin = call.ints(kBegin);
  const auto end = call.ints(kEnd);
  const auto axes = call.has(kAxes) ? call.ints(kAxes) : std::span<const int64_t>();
  const auto steps = call.has(kSteps) ? call.ints(kSteps) : std::span<const int64_t>();
  if (begin.size() != end.size() || begin.size() > whole.rank || (!axes.empty() && axes.size() != begin.size())) {
    return false;
  }
  if (std::any_of(steps.begin(), steps.end(), [](int64_t step) { return step != 1; })) return false;
  bool seen[TensorView::kMaxRank] = {};
  for (size_t i = 0; i < begin.size(); ++i) {
    int64_t dim = axes.empty() ? static_cast<int64_t>(i) : axes[i];
    dim += dim < 0 ? whole.rank : 0;
    if (dim < 0 || dim >= whole.rank || seen[dim]) return false;
    seen[dim] = true;
    const int64_t size = whole.dims[dim];
    const int64_t first = std::clamp(begin[i] < 0 ? begin[i] + size : begin[i], int64_t{0}, size);
    const int64_t last = std::clamp(end[i] < 0 ? end[i] + size : end[i], int64_t{0}, size);
    if (last - first != block.dims[dim]) return false;
    starts[dim] = first;
  }
  return true;
}

// Where the one block that the step takes begins, in elements.
std::optional<int64_t> BlockOf(const Mover& mover, const OpCall& call) {
  const TensorView& whole = call.view(mover.in);
  const TensorView& block = call.view(mover.out);
  if (whole.rank != block.rank) return std::nullopt;
  int64_t starts[TensorView::kMaxRank] = {};
  if (mover.row == "SlicedAxes") {
    if (!StartsOf(call, whole, block, starts)) return std::nullopt;
  } else {
    const auto offsets = call.ints(mover.dim);
    if (offsets.size() != whole.rank) return std::nullopt;
    std::copy(offsets.begin(), offsets.end(), starts);
  }
  return PlaceOf(whole, starts, block);
}

// How often a step writes to each buffer.
std::vector<uint32_t> WritesOf(const Plan& plan) {
  std::vector<uint32_t> writes(plan.buffers.size());
  for (const Step& step : plan.steps) {
    if (step.to != kNoBuffer) ++writes[step.to];
    if (step.call == nullptr) continue;
    std::vector<bool> written(std::as_const(*step.call).all_views().size());
    for (size_t place = 0; place < step.call->size(); ++place) {
      const ArgSpec& spec = step.call->row().args[place];
      const bool tensors = spec.kind == ArgKind::kTensor || spec.kind == ArgKind::kTensorList;
      if (!tensors || spec.flow == ArgFlow::kIn || !step.call->has(place)) continue;
      const OpCall::Arg& arg = step.call->arg(place);
      std::fill_n(written.begin() + arg.first, arg.count, true);
    }
    for (const Patch& patch : step.patches) writes[patch.buffer] += written[patch.view] ? 1 : 0;
  }
  return writes;
}

}  // namespace

std::vector<Move> MovesOf(const Step& step) {
  const Mover* const mover = MoverOf(step);
  if (mover == nullptr) return {};
  const OpCall& call = *step.call;
  const auto views = call.all_views();
  if (views.empty() || !std::all_of(views.begin(), views.end(), [&](const TensorView& view) {
        return view.dtype == views[0].dtype && IsContiguous(view);
      })) {
    return {};
  }
  std::vector<BufferId> buffers(views.size(), kNoBuffer);
  for (const Patch& patch : step.patches) buffers[patch.view] = patch.buffer;
  const uint32_t in = call.arg(mover->in).first;
  const uint32_t out = call.arg(mover->out).first;
  if (mover->shape == Shape::kBlock) {
    const std::optional<int64_t> place = BlockOf(*mover, call);
    const size_t bytes = views[out].BytesOf(views[out].elements());
    if (!place || bytes == 0 || buffers[in] == kNoBuffer || buffers[out] == kNoBuffer) return {};
    return {
        {.from = buffers[in], .from_at = views[in].BytesOf(*place), .to = buffers[out], .to_at = 0, .bytes = bytes}};
  }
  const bool joins = mover->shape == Shape::kJoin;
  const uint32_t whole = joins ? out : in;
  if (!IsOutermost(views[whole], call.integer(mover->dim)) || buffers[whole] == kNoBuffer) return {};
  std::vector<Move> moves;
  size_t at = 0;
  const OpCall::Arg& parts = call.arg(joins ? mover->in : mover->out);
  for (size_t part = parts.first; part < parts.first + parts.count; ++part) {
    const size_t bytes = views[part].BytesOf(views[part].elements());
    if (bytes == 0) continue;
    if (buffers[part] == kNoBuffer) return {};
    moves.push_back(joins ? Move{buffers[part], 0, buffers[whole], at, bytes}
                          : Move{buffers[whole], at, buffers[part], 0, bytes});
    at += bytes;
  }
  return at == views[whole].BytesOf(views[whole].elements()) ? moves : std::vector<Move>();
}

void OfferMoves(const Plan& plan, const std::vector<uint32_t>& number, planner::Problem* problem) {
  const std::vector<uint32_t> writes = WritesOf(plan);
  const auto settled = [&](BufferId buffer) { return number[buffer] != planner::kNowhere && writes[buffer] == 1; };
  for (const Step& step : plan.steps) {
    const Mover* const mover = MoverOf(step);
    for (const Move& move : MovesOf(step)) {
      if (move.from == move.to || !settled(move.from) || !settled(move.to)) continue;
      const bool joins = mover->shape == Shape::kJoin;
      const BufferId part = joins ? move.from : move.to;
      const BufferId whole = joins ? move.to : move.from;
      const size_t at = joins ? move.to_at : move.from_at;
      planner::Buffer& buffer = problem->buffers[number[part]];
      if (buffer.inside != planner::kNowhere || plan.buffers[part].bytes != move.bytes || at % kOfferAlignment != 0) {
        continue;
      }
      buffer.inside = number[whole];
      buffer.inside_at = at;
      buffer.saves_work = true;
      if (at % problem->alignment != 0) buffer.alignment = kOfferAlignment;
    }
  }
}

void DropMoves(Plan* plan) {
  for (Step& step : plan->steps) {
    std::vector<Move> moves = MovesOf(step);
    const size_t all = moves.size();
    std::erase_if(moves, [&](const Move& move) {
      const Buffer& from = plan->buffers[move.from];
      const Buffer& to = plan->buffers[move.to];
      return from.home == Home::kFeature && to.home == Home::kFeature &&
             from.offset + move.from_at == to.offset + move.to_at;
    });
    if (moves.size() == all) continue;
    step.kind = Step::Kind::kMoves;
    step.moves = std::move(moves);
  }
}

}  // namespace millpond::program
