// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/ge/layout.h"

#include <algorithm>

#include "src/ops/layout_name.h"

namespace millpond::kernels {

string_view LayoutOf(const Tensor& tensor, string_view otherwise) {
  return LayoutName(Frame::Current()->ViewOf(tensor)->format, otherwise);
}

std::vector<int64_t> OrderOf(string_view layout, string_view wanted) {
  std::vector<int64_t> order;
  for (const char letter : wanted) {
    const size_t at = layout.find(letter);
    TORCH_CHECK(at != string_view::npos, "the format ", std::string(layout), " has no dimension ", letter);
    order.push_back(static_cast<int64_t>(at));
  }
  return order;
}

Tensor ChannelsFirst(const Tensor& tensor, string_view layout) {
  TORCH_CHECK(static_cast<size_t>(tensor.dim()) == layout.size(), "a tensor of shape ", tensor.sizes(),
              " cannot have the format ", std::string(layout));
  return tensor.permute(OrderOf(layout, layout.size() == 5 ? "NCDHW" : "NCHW"));
}

std::vector<int64_t> SpatialEntries(IntArrayRef list, string_view layout, const char* name) {
  const string_view spatial = layout.size() == 5 ? "DHW" : "HW";
  if (list.size() == spatial.size()) return list.vec();
  if (list.size() == 1) return std::vector<int64_t>(spatial.size(), list[0]);
  TORCH_CHECK(list.size() == layout.size(), name, " has ", list.size(), " entries; the format ", std::string(layout),
              " needs ", layout.size());
  std::vector<int64_t> entries;
  for (const int64_t at : OrderOf(layout, spatial)) entries.push_back(list[static_cast<size_t>(at)]);
  return entries;
}

std::vector<int64_t> Padding::AtenOrder() const {
  std::vector<int64_t> order;
  for (size_t i = before.size(); i-- > 0;) {
    order.push_back(before[i]);
    order.push_back(after[i]);
  }
  return order;
}

Padding PaddingFrom(IntArrayRef pads, size_t spatial) {
  TORCH_CHECK(pads.size() == spatial * 2, "pads has ", pads.size(), " entries; ", spatial,
              " spatial dimensions need two each");
  TORCH_CHECK(std::all_of(pads.begin(), pads.end(), [](int64_t pad) { return pad >= 0; }), "pads is ", pads,
              "; negative padding is not supported: say how many there are");
  Padding padding;
  for (size_t i = 0; i < spatial; ++i) {
    padding.before.push_back(pads[2 * i]);
    padding.after.push_back(pads[2 * i + 1]);
  }
  return padding;
}

Padding SamePadding(IntArrayRef input, IntArrayRef window, IntArrayRef stride) {
  Padding padding;
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t windows = (input[i] + stride[i] - 1) / stride[i];
    const int64_t total = std::max<int64_t>((windows - 1) * stride[i] + window[i] - input[i], 0);
    padding.before.push_back(total / 2);
    padding.after.push_back(total - total / 2);
  }
  return padding;
}

}  // namespace millpond::kernels
