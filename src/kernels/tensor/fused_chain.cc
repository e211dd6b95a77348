// SPDX-License-Identifier: Apache-2.0
// Chains of elementwise operations in one pass over the elements, tile by tile.
#include "src/kernels/tensor/fused_chain.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>

#include <array>
#include <vector>

#include "src/kernels/runtime/kernel.h"

namespace millpond::kernels {
namespace {

RunTileFn Tiles() {
  static const RunTileFn chosen = [] {
    const std::string has = at::get_cpu_capability();
    RunTileFn found = has == "AVX512" ? Avx512Chain() : nullptr;
    if (found == nullptr && (has == "AVX512" || has == "AVX2")) found = Avx2Chain();
    return found != nullptr ? found : PlainChain();
  }();
  return chosen;
}

// An input that is smaller than the result, read as if it were not: sizes and strides of the result's dimensions, the
// innermost first, those together that can be walked as one.
class Spread {
 public:
  Spread(const Tensor& input, IntArrayRef sizes) : data_(input.const_data_ptr<float>()) {
    const Tensor wide = input.expand(sizes);
    for (int64_t dim = wide.dim() - 1; dim >= 0; --dim) {
      const int64_t size = wide.size(dim), stride = wide.stride(dim);
      if (size == 1) continue;
      if (!dims_.empty() && stride == dims_.back().stride * dims_.back().size) {
        dims_.back().size *= size;
      } else {
        dims_.push_back({size, stride});
      }
    }
    if (dims_.empty()) dims_.push_back({1, 0});
  }

  bool is_whole(int64_t elements) const {
    return dims_.size() == 1 && dims_[0].stride == 1 && dims_[0].size == elements;
  }
  bool is_number() const { return dims_.size() == 1 && dims_[0].stride == 0; }
  const float* data() const { return data_; }

  // Elements [begin, begin + count) of the result's order.
  void Fill(int64_t begin, int64_t count, float* out) const {
    const Dim inner = dims_[0];
    while (count > 0) {
      const int64_t run = std::min(count, inner.size - begin % inner.size);
      const float* from = data_ + OffsetOf(begin);
      if (inner.stride == 1) {
        std::copy(from, from + run, out);
      } else {
        for (int64_t i = 0; i < run; ++i) out[i] = from[i * inner.stride];
      }
      out += run;
      begin += run;
      count -= run;
    }
  }

 private:
  struct Dim {
    int64_t size, stride;
  };

  int64_t OffsetOf(int64_t element) const {
    int64_t offset = 0;
    for (const Dim& dim : dims_) {
      offset += element % dim.size * dim.stride;
      element /= dim.size;
    }
    return offset;
  }

  const float* data_;
  std::vector<Dim> dims_;
};

// Instructions with a place for each result: a tile that a later one may have again when it is read no more.
class Program {
 public:
  Program(IntArrayRef code, size_t inputs, size_t numbers) : inputs_(inputs) {
    using chain::kInstructionInts;
    TORCH_CHECK(!code.empty() && code.size() % kInstructionInts == 0 &&
                    code.size() / kInstructionInts <= chain::kMaxInstructions && inputs >= 1 &&
                    inputs <= chain::kMaxInputs && numbers <= chain::kMaxNumbers,
                "a chain of ", code.size(), " integers with ", inputs, " inputs and ", numbers, " numbers");
    for (size_t at = 0; at < code.size(); at += kInstructionInts) {
      TORCH_CHECK(code[at] >= 0 && code[at] < static_cast<int64_t>(chain::Op::kOps), "instruction ", code[at]);
      for (const size_t side : {1, 2}) {
        const int64_t operand = code[at + side];
        TORCH_CHECK(
            operand >= -static_cast<int64_t>(numbers) && operand < static_cast<int64_t>(inputs + at / kInstructionInts),
            "operand ", operand, " of instruction ", at / kInstructionInts, " is not there yet");
      }
      instructions_.push_back({static_cast<chain::Op>(code[at]), code[at + 1], code[at + 2], 0});
    }
    Place();
  }

  struct Instruction {
    chain::Op op;
    int64_t left, right;
    size_t place;  // the tile of its result; of no meaning for the last one
  };
  const std::vector<Instruction>& instructions() const { return instructions_; }
  size_t places() const { return places_; }

 private:
  void Place() {
    std::vector<size_t> last_use(instructions_.size(), 0);
    for (size_t i = 0; i < instructions_.size(); ++i) {
      for (const int64_t operand : {instructions_[i].left, instructions_[i].right}) {
        if (operand >= static_cast<int64_t>(inputs_)) last_use[static_cast<size_t>(operand) - inputs_] = i;
      }
    }
    std::vector<size_t> busy_until;  // by place
    for (size_t i = 0; i < instructions_.size(); ++i) {
      // One that is read here for the last time may be written to here: each element is read before.
      size_t place = 0;
      while (place < busy_until.size() && busy_until[place] > i) ++place;
      if (place == busy_until.size()) busy_until.push_back(0);
      busy_until[place] = last_use[i];
      instructions_[i].place = place;
    }
    places_ = busy_until.size();
  }

  const size_t inputs_;
  std::vector<Instruction> instructions_;
  size_t places_ = 0;
};

// What a thread works with.
class Worker {
 public:
  Worker(const Program& program, const std::vector<Spread>& inputs, DoubleArray numbers, int64_t elements, float* out)
      : inputs_(inputs), elements_(elements), out_(out), tiles_((program.places() + inputs.size()) * kTile) {
    repeated_.resize((inputs.size() + numbers.size()) * kRepeated);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].is_number()) Repeat(i, inputs[i].data()[0]);
    }
    for (size_t i = 0; i < numbers.size(); ++i) Repeat(inputs.size() + i, static_cast<float>(numbers[i]));
    for (const auto& instruction : program.instructions()) {
      ChainStep& step = steps_.emplace_back();
      step.op = instruction.op;
      step.result = Tile(inputs.size() + instruction.place);
      step.left = Operand(program, instruction.left);
      step.right = Operand(program, instruction.right);
    }
    for (size_t i = 0; i < program.instructions().size(); ++i) {
      Note(i, program.instructions()[i].left, &ChainStep::left);
      Note(i, program.instructions()[i].right, &ChainStep::right);
    }
  }

  void Run(int64_t begin, int64_t count) {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i].is_number() && !inputs_[i].is_whole(elements_)) inputs_[i].Fill(begin, count, Tile(i));
    }
    for (const auto& [step, side, input] : direct_) (steps_[step].*side).data = inputs_[input].data() + begin;
    steps_.back().result = out_ + begin;
    Tiles()(steps_.data(), steps_.size(), count);
  }

 private:
  float* Tile(size_t which) { return tiles_.data() + which * static_cast<size_t>(kTile); }
  void Repeat(size_t which, float number) {
    std::fill_n(repeated_.begin() + static_cast<std::ptrdiff_t>(which * kRepeated), kRepeated, number);
  }
  const float* Repeated(size_t which) const { return repeated_.data() + which * kRepeated; }

  ChainOperand Operand(const Program& program, int64_t operand) {
    if (operand < 0) return {Repeated(inputs_.size() + static_cast<size_t>(-1 - operand)), 0};
    const auto which = static_cast<size_t>(operand);
    if (which >= inputs_.size()) {
      return {Tile(inputs_.size() + program.instructions()[which - inputs_.size()].place), 1};
    }
    if (inputs_[which].is_number()) return {Repeated(which), 0};
    return {Tile(which), 1};
  }
  // Inputs as large as the result are read where they are.
  void Note(size_t step, int64_t operand, ChainOperand ChainStep::*side) {
    if (operand < 0 || static_cast<size_t>(operand) >= inputs_.size()) return;
    if (inputs_[static_cast<size_t>(operand)].is_whole(elements_) && elements_ != 1) {
      direct_.push_back({step, side, static_cast<size_t>(operand)});
    }
  }

  struct Direct {
    size_t step;
    ChainOperand ChainStep::*side;
    size_t input;
  };
  const std::vector<Spread>& inputs_;
  const int64_t elements_;
  float* const out_;
  std::vector<float> tiles_;
  std::vector<float> repeated_;
  std::vector<ChainStep> steps_;
  std::vector<Direct> direct_;
};

}  // namespace

MP_KERNEL(OwnElementwise, TensorList x, IntArrayRef program, DoubleArray numbers, Tensor& y) {
  TORCH_CHECK(y.scalar_type() == at::kFloat && y.is_contiguous(), "the result of a chain must be float32, in one run");
  const Program steps(program, x.size(), numbers.size());
  std::vector<Spread> inputs;
  for (const Tensor& input : x) {
    TORCH_CHECK(input.scalar_type() == at::kFloat, "an input of a chain is ", input.scalar_type(), ", not float32");
    inputs.emplace_back(input, y.sizes());
  }
  const int64_t elements = y.numel();
  auto* const out = y.mutable_data_ptr<float>();
  const int64_t tiles = (elements + kTile - 1) / kTile;
  at::parallel_for(0, tiles, at::internal::GRAIN_SIZE / kTile, [&](int64_t begin, int64_t end) {
    Worker worker(steps, inputs, numbers, elements, out);
    for (int64_t tile = begin; tile < end; ++tile) {
      worker.Run(tile * kTile, std::min(kTile, elements - tile * kTile));
    }
  });
}

}  // namespace millpond::kernels
