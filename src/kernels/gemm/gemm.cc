// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/gemm/gemm.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "src/kernels/gemm/gemm_tile.h"

namespace millpond::kernels {
namespace {

struct Head {
  char magic[8];
  int64_t depth;
  int64_t columns;
  int64_t unused[5];
};
static_assert(sizeof(Head) == 64, "the data begins at a cache line");
constexpr char kMagic[8] = {'m', 'p', 't', 'i', 'l', 'e', '3', '2'};

// An RHS up to this size stays in L2 beside what is read and written: tiles go through all of its panels. A larger one
// is gone through panel by panel, as seldom as the cache allows.
constexpr int64_t kMaxRhsInL2 = 600 << 10;
constexpr int64_t kLargeRhs = 1 << 20;
constexpr int64_t kBlockBytes = 256 << 10;   // of what is read, at a time
constexpr int64_t kMaxBlockBytes = 1 << 20;  // the same for a large RHS
constexpr int64_t kMinBlocks = 4;            // for each thread
// With more tiles than this a panel's first use is a small part of its uses.
constexpr int64_t kMaxTilesToPrefetchFor = 16;

const TileSet& Tiles() {
  static const TileSet* const set = TilesForAvx512() != nullptr ? TilesForAvx512() : PlainTiles();
  return *set;
}

int64_t Panels(int64_t columns) { return (columns + kTileColumns - 1) / kTileColumns; }

// How the result's pixels are cut into tiles: lines of `width` pixels, each cut evenly; narrow lines go in pairs.
struct Tiling {
  Tiling(int64_t lines, int64_t line_width, int64_t max_rows)
      : width(line_width), paired(2 * line_width <= max_rows && lines % 2 == 0) {
    per_line = paired ? 1 : (width + max_rows - 1) / max_rows;
    tiles = (paired ? lines / 2 : lines) * per_line;
  }
  int64_t width;
  bool paired;
  int64_t per_line;
  int64_t tiles;  // of one image

  int64_t LineOf(int64_t tile) const { return tile / per_line * (paired ? 2 : 1); }
  int64_t FirstOf(int64_t tile) const { return tile % per_line * width / per_line; }
  int64_t RowsOf(int64_t tile) const { return (tile % per_line + 1) * width / per_line - FirstOf(tile); }
};

class Work {
 public:
  Work(const Window& window, const float* x, const float* rhs, int64_t columns, const Epilogue& epilogue, float* y)
      : w_(window),
        x_(x),
        rhs_(rhs),
        columns_(columns),
        epilogue_(epilogue),
        y_(y),
        padded_(w_.pad_top + w_.pad_left + w_.pad_bottom + w_.pad_right > 0),
        tiling_(w_.out_height, w_.out_width, Tiles().max_rows),
        line_(w_.channels * (w_.width + w_.pad_left + w_.pad_right)),
        depth_(w_.filter_height * w_.filter_width * w_.channels),
        panels_(Panels(columns)) {
    // Neighbours along a filter's row are neighbours in memory, unless it is spread.
    const bool joined = w_.dilation_x == 1;
    length_ = joined ? w_.filter_width * w_.channels : w_.channels;
    for (int64_t fy = 0; fy < w_.filter_height; ++fy) {
      for (int64_t fx = 0; fx < (joined ? 1 : w_.filter_width); ++fx) {
        run_offsets_.push_back(fy * w_.dilation_y * line_ + fx * w_.dilation_x * w_.channels);
      }
    }
    if (epilogue_.bias != nullptr) {
      const int64_t last = (panels_ - 1) * kTileColumns;
      std::copy(epilogue_.bias + last, epilogue_.bias + columns_, last_bias_);
    }
    CutIntoBlocks();
  }

  void Run() {
    const int64_t pieces = by_tile_ ? 1 : panels_;  // of a block
    at::parallel_for(0, w_.batch * blocks_ * pieces, 1, [&](int64_t begin, int64_t end) {
      std::unique_ptr<float[]> copy;
      int64_t prepared = -1;
      Block block{};
      for (int64_t piece = begin; piece < end; ++piece) {
        if (piece / pieces != prepared) {
          prepared = piece / pieces;
          block = Prepare(prepared, &copy);
        }
        if (by_tile_) {
          RunTiles(block);
        } else {
          RunPanel(block, piece % pieces);
        }
      }
    });
  }

 private:
  struct Block {
    const float* lhs;  // where the block's image, or the padded copy of its lines, would have line `first_line`
    int64_t image;
    int64_t first_line;  // of the result
    int64_t begin, end;  // tiles
  };

  void CutIntoBlocks() {
    constexpr int64_t kFloat = sizeof(float);
    const int64_t read = kFloat * w_.out_height * w_.out_width * w_.channels * std::min(w_.stride_x, w_.filter_width) *
                         std::min(w_.stride_y, w_.filter_height);
    const int64_t unit = w_.out_height > 1 ? tiling_.per_line : 1;  // blocks of whole lines, unless there is only one
    const int64_t units = tiling_.tiles / unit;
    const int64_t threads = at::get_num_threads();
    by_tile_ = kFloat * depth_ * columns_ <= kMaxRhsInL2 && w_.batch * units >= kMinBlocks * threads;
    const bool large = kFloat * depth_ * columns_ > kLargeRhs;
    const int64_t most = large ? kMaxBlockBytes : kBlockBytes;
    const int64_t wanted = std::max((read + most - 1) / most, by_tile_ ? kMinBlocks * threads : 1);
    blocks_ = std::clamp<int64_t>(wanted, 1, units);
    // Few pieces of work: as many for each thread.
    const int64_t pieces = by_tile_ ? 1 : panels_;
    for (int64_t more = blocks_; more <= units && more < blocks_ + threads; ++more) {
      if (w_.batch * more * pieces % threads != 0 && w_.batch * more * pieces < 8 * threads) continue;
      blocks_ = more;
      break;
    }
    tiles_per_block_ = (units + blocks_ - 1) / blocks_ * unit;
    blocks_ = (tiling_.tiles + tiles_per_block_ - 1) / tiles_per_block_;
  }

  Block Prepare(int64_t number, std::unique_ptr<float[]>* copy) const {
    Block block{};
    block.image = number / blocks_;
    block.begin = number % blocks_ * tiles_per_block_;
    block.end = std::min(block.begin + tiles_per_block_, tiling_.tiles);
    block.first_line = tiling_.LineOf(block.begin);
    const float* image = x_ + block.image * w_.height * w_.width * w_.channels;
    const int64_t from = block.first_line * w_.stride_y;
    if (!padded_) {
      block.lhs = image + from * line_;
      return block;
    }
    const int64_t last_line = tiling_.LineOf(block.end - 1) + (tiling_.paired ? 1 : 0);
    const int64_t lines = (last_line - block.first_line) * w_.stride_y + (w_.filter_height - 1) * w_.dilation_y + 1;
    if (*copy == nullptr) copy->reset(new float[static_cast<size_t>(MaxLines() * line_)]);
    CopyPadded(image, from - w_.pad_top, lines, copy->get());
    block.lhs = copy->get();
    return block;
  }

  int64_t MaxLines() const {
    const int64_t lines = (tiles_per_block_ + tiling_.per_line - 1) / tiling_.per_line * (tiling_.paired ? 2 : 1);
    return (lines - 1) * w_.stride_y + (w_.filter_height - 1) * w_.dilation_y + 1;
  }

  // Lines `from` and on of an image with zeros around it; `from` may be before its first.
  void CopyPadded(const float* image, int64_t from, int64_t lines, float* to) const {
    const int64_t left = w_.pad_left * w_.channels;
    const int64_t inside = w_.width * w_.channels;
    for (int64_t line = from; line < from + lines; ++line, to += line_) {
      if (line < 0 || line >= w_.height) {
        std::fill(to, to + line_, 0.0F);
        continue;
      }
      std::fill(to, to + left, 0.0F);
      std::memcpy(to + left, image + line * inside, static_cast<size_t>(inside) * sizeof(float));
      std::fill(to + left + inside, to + line_, 0.0F);
    }
  }

  // All columns of one tile after another: what is written stays together, and a small RHS stays in L2 anyway.
  // Meanwhile the rows of the next tile are prefetched.
  void RunTiles(const Block& block) const {
    for (int64_t tile = block.begin; tile < block.end; ++tile) {
      for (int64_t panel = 0; panel < panels_; ++panel) {
        TileCall call = CallFor(panel);
        if (panel == 0) Prefetch(Lhs(block, tile, 0), Lhs(block, tile + 1, 0), &call);
        RunTile(block, tile, panel, &call);
      }
    }
  }

  // All tiles with one panel after another. While a panel is used the next one is prefetched.
  void RunPanel(const Block& block, int64_t panel) const {
    TileCall call = CallFor(panel);
    const int64_t count = block.end - block.begin;
    if (count <= kMaxTilesToPrefetchFor && panel + 1 < panels_) {
      call.next_step = (kTileColumns * static_cast<int64_t>(sizeof(float)) + count - 1) / count;
      call.next += depth_ * kTileColumns * static_cast<int64_t>(sizeof(float));
    }
    for (int64_t tile = block.begin; tile < block.end; ++tile) {
      RunTile(block, tile, panel, &call);
      call.next += call.next_step * depth_;
    }
  }

  void Prefetch(const float* lhs, const float* next, TileCall* call) const {
    if (next <= lhs) return;
    call->next = reinterpret_cast<const char*>(next);
    call->next_step = ((next - lhs) * static_cast<int64_t>(sizeof(float)) + depth_ - 1) / depth_;
  }

  TileCall CallFor(int64_t panel) const {
    TileCall call{};
    call.row_stride = w_.stride_x * w_.channels;
    call.run_offsets = run_offsets_.data();
    call.runs = static_cast<int64_t>(run_offsets_.size());
    call.length = length_;
    call.rhs = rhs_ + panel * depth_ * kTileColumns;
    call.bias = IsWhole(panel) && epilogue_.bias != nullptr ? epilogue_.bias + panel * kTileColumns : last_bias_;
    call.relu = epilogue_.relu;
    call.next = reinterpret_cast<const char*>(call.rhs);
    return call;
  }
  bool IsWhole(int64_t panel) const { return (panel + 1) * kTileColumns <= columns_; }

  // Where a tile's rows are; `group` 1 is the second line of a pair.
  const float* Lhs(const Block& block, int64_t tile, int group) const {
    const int64_t line = tiling_.LineOf(tile) + group - block.first_line;
    return block.lhs + line * w_.stride_y * line_ + tiling_.FirstOf(tile) * w_.stride_x * w_.channels;
  }
  int64_t Out(const Block& block, int64_t tile, int group, int64_t column) const {
    const int64_t line = block.image * w_.out_height + tiling_.LineOf(tile) + group;
    return (line * w_.out_width + tiling_.FirstOf(tile)) * columns_ + column;
  }
  void Call(const Block& block, int64_t tile, TileCall* call) const {
    const int64_t rows = tiling_.RowsOf(tile);
    for (int group = 0; group < Groups(); ++group) call->lhs[group] = Lhs(block, tile, group);
    (tiling_.paired ? Tiles().two : Tiles().one)[rows](*call);
  }
  int Groups() const { return tiling_.paired ? 2 : 1; }

  void RunTile(const Block& block, int64_t tile, int64_t panel, TileCall* call) const {
    const int64_t column = panel * kTileColumns;
    if (!IsWhole(panel)) return RunNarrowTile(block, tile, column, call);
    call->out_stride = columns_;
    for (int group = 0; group < Groups(); ++group) {
      const int64_t out = Out(block, tile, group, column);
      call->out[group] = y_ + out;
      call->addend[group] = epilogue_.addend == nullptr ? nullptr : epilogue_.addend + out;
    }
    Call(block, tile, call);
  }

  // The last columns, when they do not fill a tile: through a tile of our own.
  void RunNarrowTile(const Block& block, int64_t tile, int64_t column, TileCall* call) const {
    const int64_t rows = tiling_.RowsOf(tile);
    const int64_t columns = columns_ - column;
    float made[kMaxTileRows * kTileColumns];
    float added[kMaxTileRows * kTileColumns] = {};
    const auto bytes = static_cast<size_t>(columns) * sizeof(float);
    call->out_stride = kTileColumns;
    for (int group = 0; group < Groups(); ++group) {
      const int64_t at = group * rows * kTileColumns;
      call->out[group] = made + at;
      call->addend[group] = epilogue_.addend == nullptr ? nullptr : added + at;
      if (epilogue_.addend == nullptr) continue;
      const float* from = epilogue_.addend + Out(block, tile, group, column);
      for (int64_t row = 0; row < rows; ++row) {
        std::memcpy(added + at + row * kTileColumns, from + row * columns_, bytes);
      }
    }
    Call(block, tile, call);
    for (int group = 0; group < Groups(); ++group) {
      float* to = y_ + Out(block, tile, group, column);
      for (int64_t row = 0; row < rows; ++row) {
        std::memcpy(to + row * columns_, call->out[group] + row * kTileColumns, bytes);
      }
    }
  }

  const Window& w_;
  const float* const x_;
  const float* const rhs_;
  const int64_t columns_;
  const Epilogue& epilogue_;
  float* const y_;
  const bool padded_;
  const Tiling tiling_;
  const int64_t line_;  // floats from line to line of what is read
  const int64_t depth_;
  const int64_t panels_;
  float last_bias_[kTileColumns] = {};  // of the last panel, filled up with zeros; all zeros without a bias
  bool by_tile_ = false;
  int64_t length_ = 0;
  std::vector<int64_t> run_offsets_;
  int64_t blocks_ = 0;  // of one image
  int64_t tiles_per_block_ = 0;
};

float* BeginPacked(const Rhs& shape, void* out) {
  Head head{};
  std::memcpy(head.magic, kMagic, sizeof kMagic);
  head.depth = shape.depth;
  head.columns = shape.columns;
  std::memcpy(out, &head, sizeof head);
  return reinterpret_cast<float*>(static_cast<char*>(out) + sizeof head);
}

}  // namespace

bool IsPackingWorthwhile() { return TilesForAvx512() != nullptr; }

int64_t PackedRhsBytes(const Rhs& shape) {
  return static_cast<int64_t>(sizeof(Head)) +
         Panels(shape.columns) * shape.depth * kTileColumns * static_cast<int64_t>(sizeof(float));
}

void PackRhs(const Rhs& shape, const float* values, int64_t depth_stride, int64_t column_stride, void* out) {
  float* const data = BeginPacked(shape, out);
  at::parallel_for(0, Panels(shape.columns), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kTileColumns;
      const int64_t columns = std::min(kTileColumns, shape.columns - first);
      float* to = data + panel * shape.depth * kTileColumns;
      for (int64_t d = 0; d < shape.depth; ++d, to += kTileColumns) {
        const float* from = values + d * depth_stride + first * column_stride;
        for (int64_t c = 0; c < columns; ++c) to[c] = from[c * column_stride];
        std::fill(to + columns, to + kTileColumns, 0.0F);
      }
    }
  });
}

void PackFilter(const float* filter, int64_t columns, int64_t channels, int64_t height, int64_t width, void* out) {
  const int64_t window = height * width;
  float* const data = BeginPacked({window * channels, columns}, out);
  at::parallel_for(0, Panels(columns), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kTileColumns;
      float* to = data + panel * window * channels * kTileColumns;
      for (int64_t at = 0; at < window * channels; ++at, to += kTileColumns) {
        const float* from = filter + (at % channels) * window + at / channels;
        for (int64_t c = 0; c < kTileColumns; ++c) {
          to[c] = first + c < columns ? from[(first + c) * channels * window] : 0.0F;
        }
      }
    }
  });
}

bool IsPackedRhs(const void* packed, int64_t bytes) {
  return bytes >= static_cast<int64_t>(sizeof(Head)) && std::memcmp(packed, kMagic, sizeof kMagic) == 0;
}

const float* UnpackRhs(const void* packed, int64_t bytes, const Rhs& shape) {
  Head head{};
  TORCH_CHECK(IsPackedRhs(packed, bytes), "packed weights of ", bytes, " bytes are damaged");
  std::memcpy(&head, packed, sizeof head);
  TORCH_CHECK(head.depth == shape.depth && head.columns == shape.columns && bytes == PackedRhsBytes(shape),
              "packed weights of ", head.depth, " by ", head.columns, " in ", bytes, " bytes stand where weights of ",
              shape.depth, " by ", shape.columns, " are needed");
  return reinterpret_cast<const float*>(static_cast<const char*>(packed) + sizeof head);
}

void Gemm(const float* x, int64_t rows, const float* rhs, const Rhs& shape, const Epilogue& epilogue, float* y) {
  if (rows == 0 || shape.columns == 0) return;
  const Window window{1, 1, rows, shape.depth, 1, rows, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0};
  Work(window, x, rhs, shape.columns, epilogue, y).Run();
}

void Convolution(const float* x, const Window& window, const float* rhs, int64_t columns, const Epilogue& epilogue,
                 float* y) {
  const bool pointwise = window.filter_height == 1 && window.filter_width == 1 && window.stride_y == 1 &&
                         window.stride_x == 1 &&
                         window.pad_top + window.pad_left + window.pad_bottom + window.pad_right == 0;
  if (pointwise) {
    return Gemm(x, window.batch * window.height * window.width, rhs, {window.channels, columns}, epilogue, y);
  }
  if (window.batch * window.out_height * window.out_width == 0 || columns == 0) return;
  Work(window, x, rhs, columns, epilogue, y).Run();
}

}  // namespace millpond::kernels
