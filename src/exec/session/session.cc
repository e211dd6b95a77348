// SPDX-License-Identifier: Apache-2.0
#include "src/exec/session/session.h"

#include <pthread.h>

#include <atomic>
#include <charconv>
#include <utility>
#include <vector>

#include "src/base/log.h"
#include "src/base/mutex.h"
#include "src/device/runtime.h"
#include "src/exec/model/aipp.h"
#include "src/exec/session/error.h"
#include "src/trace/emit.h"

namespace millpond::session {

namespace {

// An output's memory in a client's hands.
class ToldOutput {
 public:
  ToldOutput(std::shared_ptr<void> memory, const void* address, int32_t device, uint64_t session)
      : memory_(std::move(memory)), address_(address), device_(device), session_(session), id_(NextId()) {
    trace::TellObject(true, trace::ObjectKind::kOutput, device_, address_, id_, session_);
  }
  ~ToldOutput() { trace::TellObject(false, trace::ObjectKind::kOutput, device_, address_, id_, session_); }
  ToldOutput(const ToldOutput&) = delete;
  ToldOutput& operator=(const ToldOutput&) = delete;

 private:
  static uint64_t NextId() {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const std::shared_ptr<void> memory_;  // goes back when its end has been told
  const void* const address_;
  const int32_t device_;
  const uint64_t session_, id_;
};

// The device that options name, else the thread's current one, else the first.
Status DeviceFrom(const GraphOptions& options, Device** out_device) {
  Runtime* runtime = nullptr;
  MP_RETURN_IF_ERROR(Runtime::Get(&runtime));
  for (const char* key : {"ge.session_device_id", "ge.exec.deviceId"}) {
    const std::string_view text = OptionOr(options, key, "");
    if (text.empty()) continue;
    int64_t id = -1;
    std::from_chars(text.data(), text.data() + text.size(), id);
    if (id < 0 || id >= runtime->device_count()) {
      return OptionError(key, std::string(text), Format("the devices are 0 to %d", runtime->device_count() - 1));
    }
    return runtime->FindDevice(id, out_device);
  }
  if (Context* const context = CurrentContext(); context != nullptr) {
    *out_device = context->device();
    return Ok();
  }
  return runtime->FindDevice(0, out_device);
}

// Retains it, and makes it the thread's own when the thread has none: a client need not choose a device before it uses
// the graph engine.
Status UseDevice(Device* device) {
  Context* context = nullptr;
  MP_RETURN_IF_ERROR(device->RetainPrimary(&context));
  if (CurrentContext() == nullptr) SetCurrentContextForThread(context);
  return Ok();
}

}  // namespace

// The worker owns its part of the state: the runner may end on the worker itself, from a client's callback.
AsyncRunner::~AsyncRunner() {
  {
    MutexLock lock(state_->mutex);
    state_->ending = true;
  }
  state_->wake.NotifyAll();
  if (!thread_.joinable()) return;
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void AsyncRunner::Post(std::function<void()> work) {
  MutexLock lock(state_->mutex);
  state_->queue.push_back(std::move(work));
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread(&AsyncRunner::Loop, state_);
    } catch (...) {
      state_->queue.pop_back();
      throw;
    }
  }
  state_->wake.NotifyOne();
}

void AsyncRunner::Loop(const std::shared_ptr<State>& state) {
  pthread_setname_np(pthread_self(), "mp-graphs");
  UniqueLock lock(state->mutex);
  while (true) {
    while (state->queue.empty() && !state->ending) state->wake.Wait(lock);
    if (state->queue.empty()) return;
    std::function<void()> work = std::move(state->queue.front());
    state->queue.pop_front();
    lock.unlock();
    work();
    work = nullptr;  // what it holds goes without the lock
    lock.lock();
  }
}

Session::Session(uint64_t id, GraphOptions options, Device* device)
    : id_(id), options_(std::move(options)), device_(device) {
  trace::TellObject(true, trace::ObjectKind::kSession, device_->id(), this, id_);
}

Session::~Session() {
  runner_.reset();  // every run that was accepted is told its end while the graphs are there
  std::map<uint32_t, std::shared_ptr<NumberedGraph>> graphs;
  graphs.swap(graphs_);
  for (auto& [number, graph] : graphs) Engine::Get().Release(graph->claim());
  if (!variables_->empty()) {  // what still runs may use them
    for (auto& [number, graph] : graphs) graph->Wait();
  }
  graphs.clear();
  trace::TellObject(false, trace::ObjectKind::kSession, device_->id(), this, id_);
  variables_.reset();
  device_->ReleasePrimary(false).Ignore();  // the client may have reset it
}

Status Session::AddGraph(uint32_t id, const ir::GraphPtr& graph, const GraphOptions& options, bool copy) {
  MP_RETURN_IF_ERROR(CheckOptions(options));
  MP_RETURN_IF_ERROR(RefuseAipp(MergeOptions(options_, options)));
  {
    MutexLock lock(mutex_);
    if (graphs_.contains(id)) {
      if (!copy) return Ok();
      return SequenceError(Code::kInvalidArgument,
                           Format("session %llu has a graph %u already", static_cast<unsigned long long>(id_), id));
    }
  }
  const ir::GraphPtr used = copy ? graph->Clone() : graph;
  if (!Engine::Get().Claim(used)) {
    return SequenceError(Code::kInvalidArgument,
                         Format("graph \"%s\" is in use under another number; add a copy (AddGraphWithCopy, "
                                "AddGraphClone) instead",
                                graph->name.c_str()));
  }
  // Given back unless the session keeps the graph, also when the host is out of memory.
  const auto give_back = [](const ir::GraphPtr* claimed) { Engine::Get().Release(*claimed); };
  std::unique_ptr<const ir::GraphPtr, void (*)(const ir::GraphPtr*)> claim(&used, give_back);
  auto added = std::make_shared<NumberedGraph>(id, used, MergeOptions(options_, options), device_, variables_.get());
  bool taken = false;
  {
    MutexLock lock(mutex_);
    taken = !graphs_.emplace(id, std::move(added)).second;
  }
  if (!taken) {
    static_cast<void>(claim.release());  // RemoveGraph or the session's end gives it back
    return Ok();
  }
  if (!copy) return Ok();  // another thread was first
  return SequenceError(Code::kInvalidArgument,
                       Format("session %llu has a graph %u already", static_cast<unsigned long long>(id_), id));
}

Status Session::RemoveGraph(uint32_t id) {
  std::shared_ptr<NumberedGraph> removed;
  {
    MutexLock lock(mutex_);
    const auto found = graphs_.find(id);
    if (found != graphs_.end()) {
      removed = std::move(found->second);
      graphs_.erase(found);
    }
  }
  if (removed == nullptr) return SequenceError(Code::kGraphUnknown, Format("there is no graph %u", id));
  Engine::Get().Release(removed->claim());
  return Ok();
}

Status Session::Find(uint32_t id, std::shared_ptr<NumberedGraph>* out_graph) const {
  MutexLock lock(mutex_);
  const auto found = graphs_.find(id);
  if (found == graphs_.end()) {
    return SequenceError(Code::kGraphUnknown, Format("there is no graph %u; add it first", id));
  }
  *out_graph = found->second;
  return Ok();
}

void Session::TellOutputs(std::span<program::Tensor> outputs) const {
  if (__builtin_expect(!trace::Wants(trace::kLives), true)) return;
  for (program::Tensor& output : outputs) {
    if (output.owner == nullptr) continue;  // the client's own memory
    output.owner = std::make_shared<ToldOutput>(std::move(output.owner), output.data, device_->id(), id_);
  }
}

Status Session::ReadVariable(const std::string& name, program::Tensor* out_value) const {
  std::vector<std::shared_ptr<NumberedGraph>> graphs;
  {
    MutexLock lock(mutex_);
    for (const auto& [number, graph] : graphs_) graphs.push_back(graph);
  }
  for (const auto& graph : graphs) graph->Wait();
  MP_RETURN_IF_ERROR(variables_->Find(name, out_value));
  CopyToHost(out_value);
  return Ok();
}

Status Session::ResolveStream(const void* handle, Stream** out_stream) const {
  if (handle == nullptr) {
    Context* const context = device_->primary();
    MP_CHECK(context != nullptr, kNoContext, "device %d was reset while session %llu uses it", device_->id(),
             static_cast<unsigned long long>(id_));
    *out_stream = context->default_stream();
    return Ok();
  }
  Stream* const found = Streams().Find(handle);
  MP_CHECK_RULE(found != nullptr, kInvalidHandle, "MP602", handle,
                "stream %p is not a live stream: make one with aclrtCreateStream, or give null for the default one",
                handle);
  MP_CHECK(found->device() == device_, kWrongContext, "stream %d is of device %d, and the session is of device %d",
           found->id(), found->device()->id(), device_->id());
  MP_CHECK_RULE(
      found->context() != nullptr && found->context()->primary(), kWrongContext, "MP310", found->handle(),
      "stream %d was made in another context than the device's default one; graphs run on streams of the default "
      "context only",
      found->id());
  Context* const current = CurrentContext();
  MP_CHECK(current == nullptr || current == found->context(), kWrongContext,
           "stream %d belongs to another context than the calling thread's current one; make the device's default "
           "context current (aclrtSetDevice) first",
           found->id());
  *out_stream = found;
  return Ok();
}

Engine& Engine::Get() {
  static Engine& engine = *new Engine;  // leaked: sessions end from static destructors too
  return engine;
}

bool Engine::initialized() const {
  MutexLock lock(mutex_);
  return initialized_;
}

Status Engine::Initialize(const GraphOptions& options) {
  MP_RETURN_IF_ERROR(CheckOptions(options));
  MutexLock lock(mutex_);
  if (initialized_) {
    if (options != options_) Warn("the graph engine is initialised already: these options have no effect");
    return Ok();
  }
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(DeviceFrom(options, &device));
  MP_RETURN_IF_ERROR(UseDevice(device));
  device_ = device;
  options_ = options;
  initialized_ = true;
  return Ok();
}

Status Engine::Finalize() {
  std::map<uint64_t, std::shared_ptr<Session>> sessions;
  Device* device = nullptr;
  {
    MutexLock lock(mutex_);
    if (!initialized_) return Ok();
    initialized_ = false;
    sessions.swap(sessions_);
    device = std::exchange(device_, nullptr);
    options_.clear();
  }
  sessions.clear();
  device->ReleasePrimary(false).Ignore();  // the client may have reset it
  return Ok();
}

Status Engine::CreateSession(const GraphOptions& options, uint64_t* out_id) {
  *out_id = 0;
  MP_RETURN_IF_ERROR(CheckOptions(options));
  GraphOptions merged;
  {
    MutexLock lock(mutex_);
    if (!initialized_) {
      return SequenceError(Code::kUninitialized, "the graph engine is not initialised; call GEInitialize first");
    }
    merged = MergeOptions(options_, options);
  }
  Device* device = nullptr;
  MP_RETURN_IF_ERROR(DeviceFrom(merged, &device));
  MP_RETURN_IF_ERROR(UseDevice(device));
  MutexLock lock(mutex_);
  const uint64_t id = last_id_ + 1;
  sessions_.emplace(id, std::make_shared<Session>(id, std::move(merged), device));
  *out_id = last_id_ = id;
  return Ok();
}

Status Engine::FindSession(uint64_t id, std::shared_ptr<Session>* out_session) const {
  MutexLock lock(mutex_);
  if (!initialized_) {
    return SequenceError(Code::kUninitialized, "the graph engine is not initialised; call GEInitialize first");
  }
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) {
    return SequenceError(Code::kUninitialized,
                         id == 0 ? "the session could not be made"
                                 : Format("session %llu has ended", static_cast<unsigned long long>(id)));
  }
  *out_session = found->second;
  return Ok();
}

void Engine::DestroySession(uint64_t id) {
  std::shared_ptr<Session> ended;
  MutexLock lock(mutex_);
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return;
  ended = std::move(found->second);
  sessions_.erase(found);
}

bool Engine::Claim(const std::weak_ptr<const ir::Graph>& graph) {
  MutexLock lock(mutex_);
  return claimed_.insert(graph).second;
}

void Engine::Release(const std::weak_ptr<const ir::Graph>& graph) {
  MutexLock lock(mutex_);
  claimed_.erase(graph);
}

}  // namespace millpond::session
