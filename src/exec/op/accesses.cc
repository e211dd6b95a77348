// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/accesses.h"

#include "src/base/private_layout.h"

namespace millpond {

namespace {

// Views of more pieces than this are told as one range around them.
constexpr int64_t kMaxPieces = 16;

struct Dim {
  int64_t count;
  int64_t stride;  // in elements
};

// The view's dimensions that move, smallest stride first, those that continue one another joined. The first one has
// stride 1 where there is one: the elements that lie side by side. False when elements may lie on one another.
bool Layout(const TensorView& view, Dim* dims, size_t* out_count) {
  size_t count = 0;
  for (size_t i = 0; i < view.rank; ++i) {
    // Broadcast dimensions touch the same bytes again.
    if (view.dims[i] <= 1 || view.strides[i] == 0) continue;
    size_t at = count++;
    for (; at > 0 && dims[at - 1].stride > view.strides[i]; --at) dims[at] = dims[at - 1];
    dims[at] = {view.dims[i], view.strides[i]};
  }
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (kept > 0 && dims[i].stride == dims[kept - 1].stride * dims[kept - 1].count) {
      dims[kept - 1].count *= dims[i].count;
    } else if (kept > 0 && dims[i].stride < dims[kept - 1].stride * (dims[kept - 1].count - 1) + 1) {
      return false;
    } else {
      dims[kept++] = dims[i];
    }
  }
  *out_count = kept;
  return true;
}

}  // namespace

void Accesses::Add(const trace::Access& access) {
  if (more_.empty() && count_ < kFew) {
    few_[count_++] = access;
    return;
  }
  if (more_.empty()) more_.assign(few_, few_ + count_);
  more_.push_back(access);
}

void Accesses::Add(const TensorView& view, trace::Mode mode) {
  const size_t around = view.dtype == DType::kUndefined ? 0 : view.BytesOf(view.extent());
  if (around == 0) return;
  if (view.layout != PrivateLayout::kPlain) return Add({view.data, view.BytesOf(StorageElements(view)), mode});
  Dim dims[TensorView::kMaxRank];
  size_t count = 0;
  const bool apart = Layout(view, dims, &count);
  const bool side_by_side = apart && (count == 0 || (count == 1 && dims[0].stride == 1));
  if (side_by_side) return Add({view.first(), around, mode});
  const size_t bits = static_cast<size_t>(BitsOf(view.dtype));
  const size_t inner = count > 0 && dims[0].stride == 1 ? 1 : 0;  // dims[0] is the bytes of a row
  int64_t pieces = 1;
  for (size_t i = inner + 1; i < count && pieces <= kMaxPieces; ++i) pieces *= dims[i].count;
  if (!apart || bits % 8 != 0 || pieces > kMaxPieces) return Add({view.first(), around, mode, trace::kMayTouch});
  const size_t element = bits / 8;
  const size_t row = element * static_cast<size_t>(inner != 0 ? dims[0].count : 1);
  const auto rows = static_cast<size_t>(dims[inner].count);
  const size_t pitch = element * static_cast<size_t>(dims[inner].stride);
  for (int64_t piece = 0; piece < pieces; ++piece) {
    int64_t at = 0;
    for (int64_t i = static_cast<int64_t>(inner) + 1, rest = piece; i < static_cast<int64_t>(count); ++i) {
      at += rest % dims[i].count * dims[i].stride;
      rest /= dims[i].count;
    }
    const auto* first = static_cast<const std::byte*>(view.first()) + static_cast<size_t>(at) * element;
    Add(trace::RowsOf(first, row, rows, pitch, mode));
  }
}

void Accesses::Add(const OpCall& call) {
  for (size_t place = 0; place < call.size(); ++place) {
    const ArgSpec& spec = call.row().args[place];
    if (!call.has(place) || (spec.kind != ArgKind::kTensor && spec.kind != ArgKind::kTensorList)) continue;
    const bool written = spec.flow == ArgFlow::kOut || spec.overwritten;
    const trace::Mode mode = spec.flow == ArgFlow::kIn ? trace::Mode::kRead
                             : written                 ? trace::Mode::kWrite
                                                       : trace::Mode::kReadWrite;
    const size_t before = span().size();
    for (const TensorView& view : call.views(place)) Add(view, mode);
    if (!spec.partial) continue;
    const std::span<trace::Access> added = more_.empty() ? std::span(few_, count_) : std::span(more_);
    for (trace::Access& access : added.subspan(before)) access.flags |= trace::kMayTouch;
  }
}

}  // namespace millpond
