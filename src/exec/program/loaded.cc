// SPDX-License-Identifier: Apache-2.0
#include "src/exec/program/loaded.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/device/stream/stream_use.h"
#include "src/exec/program/memory.h"
#include "src/exec/program/run_after.h"

namespace millpond::program {

namespace {

// Queues a task that ends when the other stream has got that far.
Status WaitForMark(Stream* stream, Stream* earlier, uint64_t count) {
  return stream->Launch<TaskKind::kEventWait>(
      "graph order", {},
      [earlier, count](TaskSlot&, Stream& waiter, Status*) -> TaskEnd {
        return earlier->AddStreamWaiter(&waiter, count) ? TaskEnd::kBlocked : TaskEnd::kDone;
      },
      [&] { return LaunchNote::OfPoint(earlier->id(), count, trace::kInternal); });
}

}  // namespace

// What a run on a stream takes from: the allocator, else built-in memory, which is found when it is needed.
class LoadedProgram::RunMemory : public MemorySource {
 public:
  RunMemory(LoadedProgram* program, AllocatorLease lease, Stream* stream)
      : program_(program), lease_(std::move(lease)), stream_(stream) {}

  Status Take(size_t bytes, Block* out_block) override {
    if (lease_ != nullptr) return TakeExternal(lease_, bytes, nullptr, out_block);
    if (builtin_ == nullptr) builtin_ = program_->BuiltinFor(stream_);
    return builtin_->Take(bytes, out_block);
  }

 private:
  LoadedProgram* const program_;
  const AllocatorLease lease_;
  Stream* const stream_;
  std::shared_ptr<BuiltinMemory> builtin_;
};

// --- Load and end --------------------------------------------------------------------------------------------------

LoadedProgram::LoadedProgram(const LoadRequest& request)
    : policy_(request.policy),
      parts_(std::make_shared<const std::vector<ProgramPart>>(request.parts)),
      const_bytes_(request.const_bytes),
      variables_(request.variables),
      device_(request.device),
      context_(request.context != nullptr ? request.context->handle() : nullptr),
      const_given_(request.const_memory),
      feature_given_(request.feature_memory) {}

Status LoadedProgram::Load(const LoadRequest& request, std::shared_ptr<LoadedProgram>* out) {
  const std::shared_ptr<LoadedProgram> made(new LoadedProgram(request));
  Stream* stream = request.stream;
  if (stream == nullptr) {
    MutexLock lock(made->own_mutex_);
    MP_RETURN_IF_ERROR(made->OwnStream(&stream));
  }
  const AllocatorLease lease = made->Lease(request.handle);
  const StreamUse use(lease != nullptr ? stream : nullptr, made->policy_.name.c_str());
  {
    const trace::Asking asking(made->AskingFor(trace::Purpose::kConstants, request.handle));
    MP_RETURN_IF_ERROR(made->TakeConst(lease, stream));
  }
  {
    const trace::Asking asking(made->AskingFor(trace::Purpose::kFeature, request.handle));
    MP_RETURN_IF_ERROR(made->TakeFeatureAtLoad(lease, stream));
  }
  for (const ProgramPart& part : *made->parts_) {
    if (part.program->const_bytes() == 0) continue;
    MP_RETURN_IF_ERROR(part.program->LoadConstants(made->ConstBase(part), LoadKind::kLast, stream));
  }
  if (made->policy_.waits_for_constants) {
    MP_RETURN_IF_ERROR(stream->Synchronize(std::nullopt, Code::kStreamSyncTimeout).Prefixed("loading the weights"));
  }
  made->constants_ = {stream, stream->enqueued()};
  made->loaded_ = true;
  made->Tell(trace::ProgramStage::Kind::kLoaded, request.handle);
  *out = made;
  return Ok();
}

LoadedProgram::~LoadedProgram() {
  if (loaded_) Tell(trace::ProgramStage::Kind::kUnloaded, nullptr);
  // Blocks first, as the client's allocator hears of the end before the program goes (docs/compat.md, "Rules of
  // sessions").
  const_block_ = {};
  feature_block_ = {};
  for (const Mark& mark : used_) {
    if (mark.stream->completed() >= mark.count) continue;
    // Tasks that are still queued use the program and its memory: both go after them. Memory of the same stream goes in
    // its order by itself.
    RunAfter(mark.stream, "program end", [parts = parts_]() -> Status { return Ok(); });
    for (const auto& [handle, memory] : builtin_) {
      if (handle == mark.stream->handle()) continue;
      RunAfter(mark.stream, "program end", [keep = memory]() -> Status { return Ok(); });
    }
  }
  builtin_.clear();
  if (own_stream_ != nullptr && Streams().Find(own_handle_) == own_stream_) {
    device_->DestroyStream(own_stream_, false).Ignore();
  }
}

// --- Memory --------------------------------------------------------------------------------------------------------

size_t LoadedProgram::FeatureBytes() const {
  size_t bytes = kMinFeatureBytes;
  for (const ProgramPart& part : *parts_) bytes = std::max(bytes, part.program->feature_bytes());
  return bytes;
}

void* LoadedProgram::ConstBase(const ProgramPart& part) const {
  void* const base = const_given_ != nullptr ? const_given_ : const_block_.address;
  return base == nullptr ? nullptr : static_cast<std::byte*>(base) + part.const_offset;
}

bool LoadedProgram::has_given_memory() const {
  MutexLock lock(mutex_);
  return const_given_ != nullptr || feature_given_ != nullptr;
}

void LoadedProgram::GiveFeature(void* memory) {
  MutexLock lock(mutex_);
  feature_given_ = memory;
}

// Looked up at each load and run, so that the last registration wins (docs/compat.md, "Allocator descriptors").
AllocatorLease LoadedProgram::Lease(const void* handle) const {
  if (handle == nullptr || (is_static() && policy_.ask == DoorPolicy::Ask::kNever)) return nullptr;
  return AllocatorRegistry::Get().Acquire(policy_.door, handle);
}

std::shared_ptr<BuiltinMemory> LoadedProgram::BuiltinFor(Stream* stream) {
  MutexLock lock(mutex_);
  if (const auto found = builtin_.find(stream->handle()); found != builtin_.end()) return found->second;
  std::erase_if(builtin_, [](const auto& entry) { return !entry.second->stream_alive(); });
  auto made = std::make_shared<BuiltinMemory>(stream);
  builtin_.emplace(stream->handle(), made);
  return made;
}

Status LoadedProgram::TakeConst(const AllocatorLease& lease, Stream* stream) {
  if (const_given_ != nullptr) return Ok();
  // A static program's allocator is asked even for nothing (docs/compat.md, "Requests of graphs").
  const bool ask = const_bytes_ > 0 || is_static();
  return RunMemory(this, ask ? lease : nullptr, stream)
      .Take(const_bytes_, &const_block_)
      .Prefixed(Format("no %s (%zu bytes)", policy_.const_memory.c_str(), const_bytes_));
}

Status LoadedProgram::TakeFeatureAtLoad(const AllocatorLease& lease, Stream* stream) {
  if (!is_static() || (lease != nullptr && policy_.ask == DoorPolicy::Ask::kEachRun)) return Ok();
  {
    MutexLock lock(mutex_);
    if (feature_given_ != nullptr) return Ok();
  }
  const size_t bytes = FeatureBytes();
  Block block;
  MP_RETURN_IF_ERROR(RunMemory(this, lease, stream)
                         .Take(bytes, &block)
                         .Prefixed(Format("no %s (%zu bytes)", policy_.feature_memory.c_str(), bytes)));
  MutexLock lock(mutex_);
  feature_block_ = std::move(block);
  return Ok();
}

Status LoadedProgram::FindFeature(void* for_this_run, const AllocatorLease& lease, Stream* stream, void** out_base,
                                  Block* out_block) {
  const bool each_run = lease != nullptr && policy_.ask == DoorPolicy::Ask::kEachRun;
  void* near = nullptr;
  {
    MutexLock lock(mutex_);
    *out_base = for_this_run != nullptr ? for_this_run : feature_given_;
    if (*out_base == nullptr && !each_run) *out_base = feature_block_.address;
    if (*out_base != nullptr) return Ok();
    near = last_feature_;
  }
  const size_t bytes = FeatureBytes();
  if (!each_run) {
    // It was loaded with an allocator that has been unregistered since: its own memory takes over.
    Block block;
    MP_RETURN_IF_ERROR(BuiltinFor(stream)->Take(bytes, &block));
    MutexLock lock(mutex_);
    if (!feature_block_) feature_block_ = block;
    *out_base = feature_block_.address;
    return Ok();
  }
  MP_RETURN_IF_ERROR(TakeExternal(lease, bytes, near, out_block)
                         .Prefixed(Format("no %s (%zu bytes)", policy_.feature_memory.c_str(), bytes)));
  *out_base = out_block->address;
  MutexLock lock(mutex_);
  last_feature_ = out_block->address;
  return Ok();
}

// --- Runs ----------------------------------------------------------------------------------------------------------

Status LoadedProgram::Launch(const LaunchRequest& request, Stream* stream) {
  const ProgramPart& part = (*parts_)[request.part];
  const AllocatorLease lease = Lease(request.handle);
  const StreamUse use(lease != nullptr ? stream : nullptr, policy_.name.c_str());
  // A static program's host inputs travel with its launch and are not the allocator's business (docs/compat.md,
  // "Requests of graphs").
  RunMemory memory(this, is_static() ? nullptr : lease, stream);
  RunArguments run;
  Block feature;  // the allocator's for this run: it goes back right after the launch
  if (is_static()) {
    {
      const trace::Asking asking(AskingFor(trace::Purpose::kFeature, request.handle));
      MP_RETURN_IF_ERROR(FindFeature(request.feature_memory, lease, stream, &run.feature_base, &feature));
    }
    // Now, as a client's allocator must not be called with a lock of ours held. A client that brings the memory itself
    // need not give any for an output without elements, and its allocator is not asked for one.
    const trace::Asking asking(AskingFor(trace::Purpose::kOutput, request.handle));
    RunMemory for_outputs(this, lease, stream);
    MemorySource* const for_empty = has_given_memory() ? &memory : &for_outputs;
    MP_RETURN_IF_ERROR(TakeOutputs(*part.program, policy_.name, &for_outputs, for_empty, request.outputs));
  }
  run.inputs = request.inputs;
  run.outputs = request.outputs;
  run.const_base = ConstBase(part);
  run.memory = &memory;
  run.variables = variables_;
  run.dump = dump_;
  // A dynamic run calls the client's allocator as it launches, and shares nothing that others write.
  if (!is_static()) {
    const trace::Asking asking(AskingFor(trace::Purpose::kIntermediate, request.handle));
    return Queue(part, run, stream);
  }
  MutexLock in_order(launch_mutex_);
  return Queue(part, run, stream);
}

Status LoadedProgram::Queue(const ProgramPart& part, const RunArguments& run, Stream* stream) {
  MP_RETURN_IF_ERROR(FollowMarks(stream));
  if (__builtin_expect(trace::Wants(trace::kLives), false)) TellFirstRun(*stream);
  Status status = part.program->Launch(run, stream);
  MarkUse(stream);  // also what a failed launch has queued
  return status;
}

void LoadedProgram::TellFirstRun(const Stream& stream) {
  {
    MutexLock lock(mutex_);
    if (!ran_on_.insert(stream.id()).second) return;
  }
  Tell(trace::ProgramStage::Kind::kFirstRun, stream.handle());
}

Status LoadedProgram::RunAndWait(const LaunchRequest& request) {
  MutexLock lock(own_mutex_);
  Stream* stream = nullptr;
  MP_RETURN_IF_ERROR(OwnStream(&stream));
  Status launched = Launch(request, stream);
  // Whatever was queued must end before the client may go on.
  Status ended = stream->Synchronize(std::nullopt, Code::kStreamSyncTimeout);
  MP_RETURN_IF_ERROR(std::move(launched));
  return ended;
}

// A device that was reset has destroyed its streams, and maybe the context; memory stays.
Status LoadedProgram::OwnStream(Stream** out_stream) {
  if (own_stream_ == nullptr || Streams().Find(own_handle_) != own_stream_) {
    own_stream_ = nullptr;
    Context* context = context_ != nullptr ? Contexts().Find(context_) : nullptr;
    if (context == nullptr) context = device_->primary();
    MP_CHECK(context != nullptr, kNoContext,
             "device %d was reset while %s is loaded on it, and has no context; call aclrtSetDevice", device_->id(),
             policy_.name.c_str());
    MP_RETURN_IF_ERROR(device_->CreateStream(context, 0, 0, false, &own_stream_));
    own_handle_ = own_stream_->handle();
  }
  *out_stream = own_stream_;
  return Ok();
}

// --- Order ---------------------------------------------------------------------------------------------------------

Status LoadedProgram::FollowMarks(Stream* stream) {
  const auto is_ahead = [stream](const Mark& mark) {
    return mark.stream != nullptr && mark.stream != stream && mark.stream->completed() < mark.count;
  };
  std::vector<Mark> ahead;
  if (is_static()) {
    MutexLock lock(mutex_);
    std::copy_if(used_.begin(), used_.end(), std::back_inserter(ahead), is_ahead);
  }
  if (is_ahead(constants_)) ahead.push_back(constants_);
  for (const Mark& mark : ahead) MP_RETURN_IF_ERROR(WaitForMark(stream, mark.stream, mark.count));
  return Ok();
}

void LoadedProgram::MarkUse(Stream* stream) {
  MutexLock lock(mutex_);
  if (used_.size() == 1 && used_[0].stream == stream) {
    used_[0].count = stream->enqueued();
    return;
  }
  std::erase_if(used_,
                [stream](const Mark& mark) { return mark.stream == stream || mark.stream->completed() >= mark.count; });
  used_.push_back({stream, stream->enqueued()});
}

void LoadedProgram::Wait() {
  std::vector<Mark> marks;
  {
    MutexLock lock(mutex_);
    marks = used_;
  }
  for (const Mark& mark : marks) {
    mark.stream->WaitFor(mark.count, std::nullopt, Code::kStreamSyncTimeout).Ignore();  // nobody is left to be told
  }
}

}  // namespace millpond::program
