// SPDX-License-Identifier: Apache-2.0
// A run in its order: shapes, numbers, a trial of the call, memory, judgement, launch. The client's allocator is asked
// only when nothing but memory is missing, so that a wrong call costs it nothing.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "src/base/format.h"
#include "src/base/private_layout.h"
#include "src/device/memory/fault.h"
#include "src/device/memory/memory.h"
#include "src/exec/op/kernel_table.h"
#include "src/exec/op/launch.h"
#include "src/exec/op/single_op.h"
#include "src/exec/op/single_op_memory.h"
#include "src/exec/op/single_op_shapes.h"

namespace millpond {
namespace {

class Execution {
 public:
  Execution(const SingleOp& op, const SingleOpRun& run, Stream* stream)
      : op_(op), run_(run), stream_(stream), source_(op.desc.type.c_str(), stream) {}

  Status Run() {
    MP_RETURN_IF_ERROR(CheckCounts());
    MP_RETURN_IF_ERROR(DescribeForDoor(op_, &arguments_));
    MP_RETURN_IF_ERROR(DescribeInputs());
    MP_RETURN_IF_ERROR(DescribeOutputs());
    MP_CHECK(!op_.row->waits || run_.out_shapes != nullptr, kUnsupported,
             "the shape of an output is known only after the run, and this function cannot tell it; use %s",
             run_.advice);
    if (AllOutputsEmpty()) {
      TellShapes();
      return Ok();
    }
    for (const size_t input : ValueInputs(*op_.row, *op_.binding, arguments_)) {
      MP_RETURN_IF_ERROR(NeedValues(input));
      numbers_.push_back(input);
    }
    MP_RETURN_IF_ERROR(FindKernel(*op_.row, &kernel_));
    call_ = NewOpCall();
    MP_RETURN_IF_ERROR(CallFromDoor(*op_.row, *op_.binding, arguments_, call_.get()));
    MP_RETURN_IF_ERROR(call_->CheckShapes());
    bool taken = false;
    MP_RETURN_IF_ERROR(TakeMemory(&taken));
    if (taken) MP_RETURN_IF_ERROR(CallFromDoor(*op_.row, *op_.binding, arguments_, call_.get()));
    MP_RETURN_IF_ERROR(ValidateMemory(*call_));
    MP_RETURN_IF_ERROR(Launch());
    for (program::Block& block : staged_) MP_RETURN_IF_ERROR(block.Release());
    if (run_.receivers_alive != nullptr) MP_RETURN_IF_ERROR(run_.receivers_alive());
    HandOutputsOver();
    TellShapes();
    return Ok();
  }

 private:
  Status CheckCounts() const {
    const bool inputs = run_.inputs.size() == op_.desc.inputs.size();
    const bool outputs = run_.outputs.size() == op_.desc.outputs.size();
    if (inputs && outputs) return Ok();
    if (run_.out_fault != nullptr) *run_.out_fault = inputs ? SingleOpFault::kOutputs : SingleOpFault::kInputs;
    return InvalidArgument(Format("%zu inputs and %zu outputs were given; the operator was described with %zu and %zu",
                                  run_.inputs.size(), run_.outputs.size(), op_.desc.inputs.size(),
                                  op_.desc.outputs.size()));
  }

  static size_t BytesIn(const TensorView& view) {
    return view.BytesOf(view.layout == PrivateLayout::kPlain ? view.elements() : StorageElements(view));
  }

  Status DescribeInputs() {
    for (size_t i = 0; i < run_.inputs.size(); ++i) {
      const SingleOpTensor& tensor = op_.desc.inputs[i];
      if (tensor.dtype == DType::kUndefined) continue;
      DoorTensor& input = arguments_.inputs[i];
      MP_REQUIRE(tensor.shape_known(), "inputDesc[%zu] has shape %s: every dimension must be known when it runs", i,
                 ShapeText(tensor.dims).c_str());
      const size_t needed = BytesIn(input.view);
      const bool constant = !tensor.constant.empty();
      MP_REQUIRE(constant || run_.inputs[i].bytes >= needed, "inputs[%zu] has %zu bytes; its shape %s needs %zu", i,
                 run_.inputs[i].bytes, ShapeText(tensor.dims).c_str(), needed);
      input.view.data = run_.inputs[i].data;
      if (!tensor.on_host || constant) continue;
      MP_REQUIRE(needed == 0 || (input.view.data != nullptr && !IsDeviceAddress(input.view.data)),
                 "inputs[%zu] is at %p, though its descriptor places it on the host (aclSetTensorPlaceMent)", i,
                 input.view.data);
      input.values = input.view.data;
    }
    return Ok();
  }

  Status DescribeOutputs() {
    const auto& outputs = op_.desc.outputs;
    const bool known = std::all_of(outputs.begin(), outputs.end(), [](const auto& out) { return out.shape_known(); });
    if (!known) {
      MP_CHECK(run_.out_shapes != nullptr, kUnsupported,
               "an output's shape is not known (-1), and this function cannot tell what it becomes; describe it with "
               "the shape of aclopInferShape, or use %s",
               run_.advice);
      MP_RETURN_IF_ERROR(InferUnknownShapes(op_, &arguments_, [this](size_t input) { return NeedValues(input); }));
    }
    for (size_t i = 0; i < run_.outputs.size(); ++i) {
      DoorTensor& output = arguments_.outputs[i];
      const SingleOpMemory& memory = run_.outputs[i];
      output.view.data = memory.data;
      if (output.view.dtype == DType::kUndefined) continue;
      if (memory.data == nullptr && memory.bytes == 0) {
        if (const auto input = ChangedInput(i)) output.view.data = arguments_.inputs[*input].view.data;
        continue;
      }
      const size_t needed = BytesIn(output.view);
      MP_REQUIRE(memory.bytes >= needed, "outputs[%zu] has %zu bytes; its shape %s needs %zu", i, memory.bytes,
                 ShapeText(output.view.shape()).c_str(), needed);
      MP_REQUIRE(memory.data != nullptr || needed == 0,
                 "outputs[%zu] says it has %zu bytes and its address is NULL: did an allocation fail? (NULL, 0) asks "
                 "for memory to be taken for it",
                 i, memory.bytes);
    }
    return Ok();
  }

  // Documented nowhere and done by the reference: nothing to compute is a success without a task.
  bool AllOutputsEmpty() const {
    return !arguments_.outputs.empty() &&
           std::all_of(arguments_.outputs.begin(), arguments_.outputs.end(), [](const DoorTensor& output) {
             return output.view.dtype != DType::kUndefined && output.view.elements() == 0;
           });
  }

  // Numbers that only lie on the device: everything queued before may still write them.
  Status NeedValues(size_t number) {
    DoorTensor& input = arguments_.inputs[number];
    const size_t bytes = BytesIn(input.view);
    if (input.values != nullptr || bytes == 0) return Ok();
    MP_CHECK(stream_->capture() == nullptr, kCaptureImplicit,
             "the values of inputs[%zu] must be known when %s is launched, and reading them from the device cannot be "
             "captured; give it as a constant or on the host",
             number, op_.desc.type.c_str());
    MP_RETURN_IF_ERROR(CheckRange("an input's memory", input.view.data, bytes));
    MP_RETURN_IF_ERROR(stream_->WaitFor(stream_->enqueued(), std::nullopt, Code::kStreamSyncTimeout));
    copies_.push_back(std::make_unique<std::byte[]>(bytes));
    MP_RETURN_IF_ERROR(RunOnCaller([&] { CopyBytes(copies_.back().get(), input.view.data, bytes); }));
    input.values = copies_.back().get();
    return Ok();
  }

  // Inputs in their order, then outputs in theirs.
  Status TakeMemory(bool* out_taken) {
    for (size_t i = 0; i < arguments_.inputs.size(); ++i) {
      if (!NeedsStaging(i)) continue;
      MP_RETURN_IF_ERROR(Stage(i));
      *out_taken = true;
    }
    for (size_t i = 0; i < arguments_.outputs.size(); ++i) {
      TensorView& view = arguments_.outputs[i].view;
      const size_t bytes = view.dtype == DType::kUndefined ? 0 : BytesIn(view);
      if (view.data != nullptr || bytes == 0) continue;
      *out_taken = true;
      taken_.resize(arguments_.outputs.size());
      MP_RETURN_IF_ERROR(source_.Take(trace::Purpose::kOutput, Format("outputs[%zu]", i).c_str(), bytes, &taken_[i]));
      view.data = taken_[i].address;
    }
    return Ok();
  }

  // The operator takes it as a tensor, and its elements are only on the host.
  bool NeedsStaging(size_t number) const {
    const SingleOpTensor& tensor = op_.desc.inputs[number];
    const DoorTensor& input = arguments_.inputs[number];
    if (tensor.dtype == DType::kUndefined || BytesIn(input.view) == 0) return false;
    if (std::find(numbers_.begin(), numbers_.end(), number) != numbers_.end()) return false;
    if (tensor.on_host) return true;
    return !tensor.constant.empty() && !(input.view.data != nullptr && IsDeviceAddress(input.view.data));
  }

  // The bytes travel in the task: the block may be one that work queued before still uses.
  Status Stage(size_t number) {
    DoorTensor& input = arguments_.inputs[number];
    const size_t bytes = BytesIn(input.view);
    MP_CHECK(
        stream_->capture() == nullptr, kCaptureImplicit,
        "inputs[%zu] lies on the host, and the memory it needs on the device lives as long as this call; it cannot "
        "be captured, copy it to the device first",
        number);
    program::Block block;
    MP_RETURN_IF_ERROR(source_.Take(trace::Purpose::kWorkspace, Format("inputs[%zu]", number).c_str(), bytes, &block));
    const auto* values = static_cast<const std::byte*>(input.values);
    uploads_.push_back({block.address, std::vector<std::byte>(values, values + bytes)});
    input.view.data = block.address;
    staged_.push_back(std::move(block));
    return Ok();
  }

  // The input that an output of the same name is: no other memory will do for it.
  std::optional<size_t> ChangedInput(size_t output) const {
    const auto& binding = *op_.binding;
    const bool fixed =
        std::none_of(binding.outputs.begin(), binding.outputs.end(), [](auto& o) { return o.dynamic; }) &&
        std::none_of(binding.inputs.begin(), binding.inputs.end(), [](auto& o) { return o.dynamic; });
    if (!fixed || output >= binding.outputs.size()) return std::nullopt;
    const std::string_view name = binding.outputs[output].name;
    for (size_t place = 0; place < op_.row->args.size(); ++place) {
      if (op_.row->args[place].flow == ArgFlow::kOut && name == binding.args[place].name) return std::nullopt;
    }
    for (size_t i = 0; i < binding.inputs.size() && i < arguments_.inputs.size(); ++i) {
      if (binding.inputs[i].name == name) return i;
    }
    return std::nullopt;
  }

  Status Launch() {
    for (Upload& upload : uploads_) {
      const trace::Access access{upload.to, upload.bytes.size(), trace::Mode::kWrite};
      MP_RETURN_IF_ERROR(stream_->Launch<TaskKind::kCopy>(
          "operator input", {access}, [to = upload.to, bytes = std::move(upload.bytes)]() -> Status {
            CopyBytes(to, bytes.data(), bytes.size());
            return Ok();
          }));
    }
    if (!op_.row->waits) return LaunchOp(kernel_, std::move(call_), stream_);
    OpCallPtr done;
    MP_RETURN_IF_ERROR(RunOp(kernel_, std::move(call_), stream_, &done));
    LearnShapes(*done);
    return Ok();
  }

  void LearnShapes(const OpCall& done) {
    const auto& outputs = op_.binding->outputs;
    for (size_t i = 0; i < outputs.size() && i < arguments_.outputs.size(); ++i) {
      for (size_t place = 0; place < op_.row->args.size(); ++place) {
        if (op_.row->args[place].flow != ArgFlow::kOut || outputs[i].name != op_.binding->args[place].name) continue;
        if (!done.has(place)) continue;
        TensorView& view = arguments_.outputs[i].view;
        view.rank = done.view(place).rank;
        std::copy_n(done.view(place).dims, view.rank, view.dims);
      }
    }
  }

  void HandOutputsOver() {
    for (size_t i = 0; i < arguments_.outputs.size(); ++i) {
      const bool block = i < taken_.size() && taken_[i];
      if (run_.outputs[i].data == nullptr && arguments_.outputs[i].view.data != nullptr) {
        // All of what was taken, also where the run needed less.
        run_.outputs[i] = {arguments_.outputs[i].view.data,
                           block ? taken_[i].bytes : BytesIn(arguments_.outputs[i].view)};
      }
      if (block) taken_[i].HandOver();
    }
  }

  void TellShapes() {
    if (run_.out_shapes == nullptr) return;
    run_.out_shapes->clear();
    for (const DoorTensor& output : arguments_.outputs) {
      const auto shape = output.view.shape();
      run_.out_shapes->emplace_back(shape.begin(), shape.end());
    }
  }

  struct Upload {
    void* to;
    std::vector<std::byte> bytes;
  };

  const SingleOp& op_;
  const SingleOpRun& run_;
  Stream* const stream_;
  DoorArguments arguments_;
  // Host copies of device tensors whose numbers the operator needs at its launch (axes, shapes).
  std::vector<std::unique_ptr<std::byte[]>> copies_;
  std::vector<size_t> numbers_;  // inputs that the operator takes as numbers
  const kernels::Kernel* kernel_ = nullptr;
  OpCallPtr call_;
  SingleOpMemorySource source_;
  std::vector<Upload> uploads_;
  std::vector<program::Block> staged_;
  std::vector<program::Block> taken_;  // one for each output, or none
};

}  // namespace

Status RunSingleOp(const SingleOp& op, const SingleOpRun& run, Stream* stream) {
  return Execution(op, run, stream).Run();
}

}  // namespace millpond
