// SPDX-License-Identifier: Apache-2.0
// Programs with shapes that only a run can tell. A run is lowered while it goes: infer, take memory, launch, give back
// what nobody reads any more (in the stream's order: the launch is what counts, not its end). When nothing but the
// inputs' shapes and the numbers on the host decided what was done, the steps are kept for the next run alike.
#include <algorithm>
#include <list>
#include <string>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/device/memory/memory.h"
#include "src/exec/op/float_rules.h"
#include "src/exec/op/group_run.h"
#include "src/exec/op/launch.h"
#include "src/exec/program/compiled.h"
#include "src/exec/program/constants.h"
#include "src/exec/program/execute.h"
#include "src/exec/program/memory.h"
#include "src/graph/passes/kinds.h"
#include "src/kernels/runtime/team.h"
#include "src/trace/emit.h"

namespace millpond::program {
namespace {

constexpr size_t kMaxPlans = 32;
constexpr size_t kMaxKnown = 1024;  // bytes of a host input whose numbers may decide shapes; more is data

// The queued form of a kernel: says which node it was.
class NodeBody {
 public:
  NodeBody(const Step& step, OpCallPtr call, std::shared_ptr<const Compiled> keep, const Stream& stream,
           const dump::Target* target)
      : kernel_(step.kernel),
        node_(step.node),
        call_(std::move(call)),
        keep_(std::move(keep)),
        rules_(stream, target) {}
  NodeBody(const NodeBody& other)
      : kernel_(other.kernel_),
        node_(other.node_),
        call_(CloneOpCall(*other.call_)),
        keep_(other.keep_),
        rules_(other.rules_) {}
  NodeBody(NodeBody&&) noexcept = default;
  NodeBody& operator=(const NodeBody&) = delete;
  NodeBody& operator=(NodeBody&&) = delete;
  ~NodeBody() = default;
  Status operator()() {
    Status status = rules_.Run(*kernel_, *call_, {node_->type, node_->name});
    return status.ok() ? Ok() : std::move(status).Prefixed(passes::Named(*node_));
  }

 private:
  const kernels::Kernel* kernel_;
  const ir::Node* node_;
  OpCallPtr call_;
  std::shared_ptr<const Compiled> keep_;
  FloatRules rules_;
};

// The same with a kernel that computes with a team of threads.
struct TeamNodeBody : NodeBody {
  static constexpr bool kNeedsTeam = true;
  using NodeBody::NodeBody;
};

// One run on its way.
class DynamicRun : public Feedback {
 public:
  DynamicRun(std::shared_ptr<const Compiled> compiled, const RunArguments& run, const Plan& plan, Stream* stream)
      : compiled_(std::move(compiled)),
        run_(run),
        plan_(plan),
        stream_(stream),
        aborts_(stream->aborts()),
        output_blocks_(run.outputs.size()) {}

  Status Begin() { return FindVariables(compiled_->recipes, run_, stream_, &variables_); }

  Status Launch(std::span<const Step> steps) override {
    MP_RETURN_IF_ERROR(GoesOn());
    for (const Step& step : steps) {
      MP_RETURN_IF_ERROR(LaunchStep(step));
      for (const BufferId buffer : step.releases) Release(buffer);
    }
    return Ok();
  }

  Status Read(BufferId buffer, size_t bytes, void* out) override {
    MP_RETURN_IF_ERROR(Obtain(buffer));
    MP_RETURN_IF_ERROR(Wait());
    CopyBytes(out, addresses_[buffer], bytes);
    return Ok();
  }

  Status Wait() override {
    MP_CHECK(stream_->capture() == nullptr, kCaptureImplicit,
             "the graph cannot be captured: a value that decides a shape, a branch or a long loop must be waited for");
    MP_RETURN_IF_ERROR(stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout));
    return GoesOn();
  }

  Status RunAndWait(const Step& step, OpCallPtr* out_call) override {
    OpCallPtr call;
    MP_RETURN_IF_ERROR(MakeCall(step, &call));
    MP_RETURN_IF_ERROR(RunOp(step.kernel, std::move(call), stream_, out_call));
    return GoesOn();
  }

  void Release(BufferId buffer) override {
    if (buffer >= blocks_.size()) return;
    blocks_[buffer] = {};
    placed_[buffer] = false;
  }

  void Tell(const std::vector<Value>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      Tensor& out = run_.outputs[i];
      const Value& value = results[i];
      out.dtype = value.dtype;
      out.format = value.format;
      out.dims = value.dims;
      if (out.data != nullptr) continue;
      out.placement = ir::Placement::kDevice;
      out.data = output_blocks_[i].address;
      out.bytes = value.bytes();
      out.owner = std::move(output_blocks_[i].owner);
    }
  }

  // Outputs that no step has written to, because they are empty.
  Status Finish(const std::vector<Value>& results) {
    for (const Value& value : results) MP_RETURN_IF_ERROR(Obtain(value.buffer));
    return Ok();
  }

 private:
  // A loop launches its rounds as it goes: an abort that found the queue empty between two of them ends it all the
  // same.
  Status GoesOn() const {
    if (stream_->aborts() == aborts_) return Ok();
    MP_RETURN_IF_ERROR(stream_->Synchronize(std::nullopt, Code::kStreamSyncTimeout));  // the abort's own reason, if any
    return Status(Code::kStreamAborted,
                  Format("stream %d was aborted while the graph ran; run it again", stream_->id()));
  }

  Status Obtain(BufferId id) {
    if (id >= addresses_.size()) {
      addresses_.resize(plan_.buffers.size());
      blocks_.resize(plan_.buffers.size());
      placed_.resize(plan_.buffers.size());
    }
    if (placed_[id]) return Ok();
    const Buffer& buffer = plan_.buffers[id];
    switch (buffer.home) {
      case Home::kInput:
        addresses_[id] = run_.inputs[buffer.place].data;
        break;
      case Home::kOutput:
        MP_RETURN_IF_ERROR(ObtainOutput(buffer, &addresses_[id]));
        break;
      case Home::kConstant:
        addresses_[id] = static_cast<std::byte*>(run_.const_base) + buffer.offset;
        break;
      case Home::kVariable:
        addresses_[id] = variables_[buffer.place];
        break;
      case Home::kFixed:
        addresses_[id] = buffer.address;
        break;
      case Home::kFeature:
        if (buffer.bytes == 0) break;
        MP_RETURN_IF_ERROR(TakeBlock(run_.memory, "a result of the graph", buffer.bytes, &blocks_[id]));
        addresses_[id] = blocks_[id].address;
        break;
    }
    placed_[id] = true;
    return Ok();
  }

  Status ObtainOutput(const Buffer& buffer, void** out_address) {
    const Tensor& given = run_.outputs[buffer.place];
    if (given.data == nullptr) {
      Block& block = output_blocks_[buffer.place];
      if (block.address == nullptr) {
        trace::Asker asker = trace::CurrentAsker();
        asker.purpose = trace::Purpose::kOutput;
        const trace::Asking asking(asker);
        MP_RETURN_IF_ERROR(TakeBlock(run_.memory, Format("output %u", buffer.place), buffer.bytes, &block));
      }
      *out_address = block.address;
      return Ok();
    }
    MP_REQUIRE(given.placement == ir::Placement::kDevice,
               "output %u lies on the host; a graph writes its outputs to device memory", buffer.place);
    MP_RETURN_IF_ERROR(
        ValidateTensor("output", buffer.place, given, compiled_->outputs[buffer.place].dtype, buffer.bytes));
    *out_address = given.data;
    return Ok();
  }

  Status MakeCall(const Step& step, OpCallPtr* out_call) {
    *out_call = CloneOpCall(*step.call);
    const auto views = (*out_call)->all_views();
    for (const Patch& patch : step.patches) {
      MP_RETURN_IF_ERROR(Obtain(patch.buffer));
      views[patch.view].data = addresses_[patch.buffer];
    }
    return Ok();
  }

  Status LaunchStep(const Step& step) {
    if (step.kind == Step::Kind::kKernel) {
      OpCallPtr call;
      MP_RETURN_IF_ERROR(MakeCall(step, &call));
      if (kernels::WorksInGroup(*step.kernel)) {
        MP_RETURN_IF_ERROR(
            CheckInGroup(*step.kernel, *call, stream_->device()->id()).Prefixed(passes::Named(*step.node)));
        return LaunchInGroup(step.kernel, std::move(call), stream_, passes::Named(*step.node));
      }
      const auto accesses = trace::Wants(trace::kTasks | trace::kUses) || stream_->capture() != nullptr
                                ? AccessesOf(*call)
                                : std::vector<trace::Access>();
      if (kernels::NeedsTeam(*call)) {
        return stream_->Launch<TaskKind::kCompute>(step.name, accesses,
                                                   TeamNodeBody(step, std::move(call), compiled_, *stream_, run_.dump));
      }
      return stream_->Launch<TaskKind::kCompute>(step.name, accesses,
                                                 NodeBody(step, std::move(call), compiled_, *stream_, run_.dump));
    }
    MP_RETURN_IF_ERROR(Obtain(step.to));
    void* const to = addresses_[step.to];
    const trace::Access write{to, step.bytes, trace::Mode::kWrite};
    if (step.kind == Step::Kind::kCopy) {
      MP_RETURN_IF_ERROR(Obtain(step.from));
      const void* const from = addresses_[step.from];
      if (to == from) return Ok();
      return stream_->Launch<TaskKind::kCopy>(step.name, {{from, step.bytes, trace::Mode::kRead}, write},
                                              [to, from, bytes = step.bytes]() -> Status {
                                                CopyBytes(to, from, bytes);
                                                return Ok();
                                              });
    }
    MP_CHECK(step.kind == Step::Kind::kUpload || step.kind == Step::Kind::kUploadInput, kInternal,
             "a dynamic run has a jump");
    // The client may free its tensor, and the plan may go, before the task runs.
    const ir::Bytes bytes =
        step.kind == Step::Kind::kUpload ? step.upload : ir::Bytes::Copy(run_.inputs[step.place].data, step.bytes);
    return stream_->Launch<TaskKind::kCopy>(step.name, {write}, [to, bytes, count = step.bytes]() -> Status {
      CopyBytes(to, bytes.data, count);
      return Ok();
    });
  }

  const std::shared_ptr<const Compiled> compiled_;
  const RunArguments& run_;
  const Plan& plan_;
  Stream* const stream_;
  const uint64_t aborts_;
  std::vector<Block> output_blocks_;
  std::vector<void*> variables_;
  // By buffer; plans grow while they are made.
  std::vector<void*> addresses_;
  std::vector<Block> blocks_;
  std::vector<bool> placed_;
};

// What a run did, for the next one with the same inputs.
struct Kept {
  std::string key;
  Plan plan;
  std::vector<Value> results;
};

class DynamicProgram : public CompiledProgram {
 public:
  explicit DynamicProgram(std::shared_ptr<const Compiled> compiled) : CompiledProgram(std::move(compiled)) {
    Plan area;
    for (const ir::TensorPtr& tensor : compiled_->recipes.constants) {
      ir::Bytes bytes = tensor->data;  // which may be longer than the tensor
      bytes.size = static_cast<size_t>(ir::BytesOf(tensor->desc.dtype, tensor->desc.dims));
      AddConstant(bytes, &area);
    }
    constant_offsets_ = area.constant_offsets;
    constants_ = std::make_shared<ConstantArea>(&area);
  }

  bool is_static() const override { return false; }
  std::span<const ir::TensorDesc> outputs() const override { return compiled_->outputs; }
  size_t const_bytes() const override { return constants_->bytes(); }
  size_t feature_bytes() const override { return 0; }

  Status LoadConstants(void* const_base, LoadKind kind, Stream* stream) const override {
    MP_RETURN_IF_ERROR(ValidateRange("constant memory", const_base, const_bytes(), const_bytes(), kBaseAlignment));
    return constants_->Load(const_base, kind, stream);
  }

  Status Launch(const RunArguments& run, Stream* stream) const override {
    MP_RETURN_IF_ERROR(ValidateCounts(run, inputs().size(), outputs().size()));
    MP_RETURN_IF_ERROR(ValidateReach(run, *stream));
    MP_RETURN_IF_ERROR(ValidateRange("constant memory", run.const_base, const_bytes(), const_bytes(), kBaseAlignment));
    std::string key;
    for (size_t i = 0; i < run.inputs.size(); ++i) MP_RETURN_IF_ERROR(ValidateInput(run.inputs[i], i, &key));
    if (const std::shared_ptr<const Kept> kept = Find(key)) return Repeat(*kept, run, stream);
    auto made = std::make_shared<Kept>();
    made->key = std::move(key);
    made->plan.constant_offsets = constant_offsets_;
    DynamicRun running(compiled_, run, made->plan, stream);
    MP_RETURN_IF_ERROR(running.Begin());
    Lowering lowering(compiled_->recipes, &made->plan, &running);
    std::vector<Value> values;
    values.reserve(run.inputs.size());
    for (uint32_t i = 0; i < run.inputs.size(); ++i) values.push_back(Feed(run.inputs[i], i, &lowering));
    MP_RETURN_IF_ERROR(lowering.Run(values, &made->results));
    MP_RETURN_IF_ERROR(running.Finish(made->results));
    running.Tell(made->results);
    if (lowering.repeatable()) Keep(std::move(made));
    return Ok();
  }

 private:
  // The description says what the graph was compiled for; the tensor must be one of those.
  Status ValidateInput(const Tensor& tensor, size_t number, std::string* key) const {
    const ir::TensorDesc& desc = inputs()[number];
    MP_REQUIRE(tensor.dtype == DType::kUndefined || tensor.dtype == desc.dtype, "input %zu is %s; the graph takes %s",
               number, DTypeName(tensor.dtype), DTypeName(desc.dtype));
    const bool fits = ir::IsStatic(tensor.dims) &&
                      (!desc.has_shape || !ir::IsKnownRank(desc.dims) ||
                       (tensor.dims.size() == desc.dims.size() &&
                        std::equal(tensor.dims.begin(), tensor.dims.end(), desc.dims.begin(),
                                   [](int64_t given, int64_t wanted) { return wanted < 0 || given == wanted; })));
    MP_REQUIRE(fits, "input %zu has shape %s; the graph takes %s", number, ir::TextOf(tensor.dims).c_str(),
               ir::TextOf(desc.dims).c_str());
    MP_REQUIRE(tensor.dims.size() <= TensorView::kMaxRank, "input %zu has %zu dimensions; at most %zu are possible",
               number, tensor.dims.size(), TensorView::kMaxRank);
    const int64_t needed = ir::BytesOf(desc.dtype, tensor.dims);
    MP_REQUIRE(needed >= 0, "input %zu of type %s and shape %s has no size that fits", number, DTypeName(desc.dtype),
               ir::TextOf(tensor.dims).c_str());
    MP_RETURN_IF_ERROR(ValidateTensor("input", number, tensor, desc.dtype, static_cast<size_t>(needed)));
    const int64_t rank = static_cast<int64_t>(tensor.dims.size());
    key->append(reinterpret_cast<const char*>(&rank), sizeof rank);
    key->append(reinterpret_cast<const char*>(tensor.dims.data()), tensor.dims.size() * sizeof(int64_t));
    key->push_back(static_cast<char>(tensor.placement));
    if (IsKnown(tensor, static_cast<size_t>(needed))) {
      key->append(static_cast<const char*>(tensor.data), static_cast<size_t>(needed));
    }
    return Ok();
  }

  static bool IsKnown(const Tensor& tensor, size_t bytes) {
    return tensor.placement == ir::Placement::kHost && bytes <= kMaxKnown;
  }

  Value Feed(const Tensor& tensor, uint32_t number, Lowering* lowering) const {
    Value value = InputValue(inputs()[number], tensor.dims);
    if (tensor.placement != ir::Placement::kHost) {
      value.buffer = lowering->NewBuffer(Home::kInput, number, value.bytes());
    } else if (IsKnown(tensor, value.bytes())) {
      value.known = true;
      value.host = ir::Bytes::Copy(tensor.data, value.bytes());
    } else {
      value.buffer = lowering->StageInput(number, value.bytes());
    }
    return value;
  }

  Status Repeat(const Kept& kept, const RunArguments& run, Stream* stream) const {
    DynamicRun running(compiled_, run, kept.plan, stream);
    MP_RETURN_IF_ERROR(running.Begin());
    MP_RETURN_IF_ERROR(running.Launch(kept.plan.steps));
    MP_RETURN_IF_ERROR(running.Finish(kept.results));
    running.Tell(kept.results);
    return Ok();
  }

  std::shared_ptr<const Kept> Find(const std::string& key) const {
    MutexLock lock(mutex_);
    for (auto at = kept_.begin(); at != kept_.end(); ++at) {
      if ((*at)->key != key) continue;
      kept_.splice(kept_.begin(), kept_, at);  // the latest first
      return kept_.front();
    }
    return nullptr;
  }

  void Keep(std::shared_ptr<const Kept> made) const {
    MutexLock lock(mutex_);
    kept_.push_front(std::move(made));
    if (kept_.size() > kMaxPlans) kept_.pop_back();
  }

  std::shared_ptr<ConstantArea> constants_;
  std::vector<size_t> constant_offsets_;
  mutable Mutex mutex_;
  mutable std::list<std::shared_ptr<const Kept>> kept_ GUARDED_BY(mutex_);
};

}  // namespace

Status MakeDynamic(const std::shared_ptr<const Compiled>& compiled, std::shared_ptr<const Program>* out_program) {
  *out_program = std::make_shared<DynamicProgram>(compiled);
  return Ok();
}

}  // namespace millpond::program
