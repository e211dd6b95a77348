// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/quant/row_quant.h"

#include "src/kernels/runtime/outputs.h"

namespace millpond::kernels {

std::vector<int64_t> HostList(const Tensor& list) {
  const Tensor flat = Long(list).reshape({-1}).contiguous();
  const auto* data = flat.const_data_ptr<int64_t>();
  return {data, data + flat.numel()};
}

std::vector<std::pair<int64_t, int64_t>> GroupRanges(IntArrayRef list, bool counts, int64_t size) {
  std::vector<std::pair<int64_t, int64_t>> ranges;
  int64_t begin = 0;
  for (const int64_t value : list) {
    // Compared without adding: a client's number may be of any size.
    TORCH_CHECK(counts ? value >= 0 && value <= size - begin : value >= begin && value <= size, "group ", ranges.size(),
                " of the group list starts at ", begin, " and has ", counts ? "length " : "end ", value,
                "; the grouped dimension has ", size, " elements");
    const int64_t end = counts ? begin + value : value;
    ranges.emplace_back(begin, end);
    begin = end;
  }
  return ranges;
}

Tensor GroupOfRow(const Tensor& ends, bool counts, int64_t rows) {
  Tensor group = at::full({rows}, -1, at::TensorOptions().dtype(at::kLong));
  int64_t number = 0;
  for (const auto& [begin, end] : GroupRanges(HostList(ends), counts, rows)) {
    group.narrow(0, begin, end - begin).fill_(number++);
  }
  return group;
}

Padded PadToBlocks(const Tensor& x, int64_t row_block, int64_t col_block) {
  const int64_t rows = x.size(-2);
  const int64_t columns = x.size(-1);
  const int64_t high = (rows + row_block - 1) / row_block;
  const int64_t wide = (columns + col_block - 1) / col_block;
  return {rows, columns, high, wide,
          at::constant_pad_nd(x.to(at::kFloat).reshape({-1, rows, columns}),
                              {0, wide * col_block - columns, 0, high * row_block - rows})};
}

Scaled ScaledToLargest(const Tensor& value, IntArrayRef dims, double largest) {
  if (value.numel() == 0) return {value, value.sum(dims, /*keepdim=*/true)};
  const Tensor scale = value.abs().amax(dims, /*keepdim=*/true).div_(largest);
  return {value.div(scale.masked_fill(scale.eq(0), 1)), scale};
}

}  // namespace millpond::kernels
