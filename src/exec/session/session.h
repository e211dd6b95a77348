// SPDX-License-Identifier: Apache-2.0
// Sessions: graphs by number on one device. One engine per process, which clients initialise and finalise; sessions are
// found by number, so that what a client keeps after their end can only fail.
#ifndef MILLPOND_SRC_EXEC_SESSION_SESSION_H_
#define MILLPOND_SRC_EXEC_SESSION_SESSION_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <thread>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/device.h"
#include "src/exec/program/variables.h"
#include "src/exec/session/numbered_graph.h"
#include "src/exec/session/options.h"

namespace millpond::session {

// Runs what is posted, in order, on a thread of its own that starts with the first. Ends when everything has run.
class AsyncRunner {
 public:
  AsyncRunner() : state_(std::make_shared<State>()) {}
  ~AsyncRunner();
  AsyncRunner(const AsyncRunner&) = delete;
  AsyncRunner& operator=(const AsyncRunner&) = delete;

  void Post(std::function<void()> work);

 private:
  struct State {
    Mutex mutex;
    CondVar wake;
    std::deque<std::function<void()>> queue GUARDED_BY(mutex);
    bool ending GUARDED_BY(mutex) = false;
  };
  static void Loop(const std::shared_ptr<State>& state);

  const std::shared_ptr<State> state_;
  std::thread thread_;
};

class Session {
 public:
  // pre: the device's primary context is retained for the session, which releases it at its end.
  Session(uint64_t id, GraphOptions options, Device* device);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  uint64_t id() const { return id_; }
  Device* device() const { return device_; }
  program::VariableStore* variables() { return variables_.get(); }

  // A number that is taken: fine, the first graph stays; with `copy`, refused. Without it the very graph is used, and
  // can be in use under one number only.
  Status AddGraph(uint32_t id, const ir::GraphPtr& graph, const GraphOptions& options, bool copy);
  // A graph that runs ends with its last run.
  Status RemoveGraph(uint32_t id);
  // kGraphUnknown when no graph has the number.
  Status Find(uint32_t id, std::shared_ptr<NumberedGraph>* out_graph) const;

  // The stream that a client's handle means: null is the device's default one. Only live streams of the device's
  // default context will do (page "RunGraphWithStreamAsync").
  Status ResolveStream(const void* handle, Stream** out_stream) const;

  // Outputs that a run of this session found memory for are on their way to the client: tells sinks, now and when the
  // client lets each of them go.
  void TellOutputs(std::span<program::Tensor> outputs) const;

  // A variable's value on the host, after everything that was launched has run.
  Status ReadVariable(const std::string& name, program::Tensor* out_value) const;

  void Post(std::function<void()> work) { runner_->Post(std::move(work)); }

 private:
  const uint64_t id_;
  const GraphOptions options_;
  Device* const device_;
  std::unique_ptr<program::VariableStore> variables_ = std::make_unique<program::VariableStore>();
  mutable Mutex mutex_;  // guards graphs_
  std::map<uint32_t, std::shared_ptr<NumberedGraph>> graphs_ GUARDED_BY(mutex_);
  std::unique_ptr<AsyncRunner> runner_ = std::make_unique<AsyncRunner>();
};

class Engine {
 public:
  static Engine& Get();

  // Again while initialised: fine, and nothing changes.
  Status Initialize(const GraphOptions& options);
  // Ends every session. Not initialised: fine.
  Status Finalize();
  bool initialized() const;

  Status CreateSession(const GraphOptions& options, uint64_t* out_id);
  // Fails when the engine is not initialised, or the session has ended or never was.
  Status FindSession(uint64_t id, std::shared_ptr<Session>* out_session) const;
  void DestroySession(uint64_t id);

  // One graph object is in use under one number of one session. False: it is in use.
  bool Claim(const std::weak_ptr<const ir::Graph>& graph);
  void Release(const std::weak_ptr<const ir::Graph>& graph);

 private:
  Engine() = default;

  mutable Mutex mutex_;  // guards what follows; never held while a session ends
  bool initialized_ GUARDED_BY(mutex_) = false;
  GraphOptions options_ GUARDED_BY(mutex_);
  Device* device_ GUARDED_BY(mutex_) = nullptr;  // retained
  uint64_t last_id_ GUARDED_BY(mutex_) = 0;      // 0 is nobody's: a failed construction has it
  std::map<uint64_t, std::shared_ptr<Session>> sessions_ GUARDED_BY(mutex_);
  std::set<std::weak_ptr<const ir::Graph>, std::owner_less<>> claimed_
      GUARDED_BY(mutex_);  // some have no other holder left
};

}  // namespace millpond::session

#endif  // MILLPOND_SRC_EXEC_SESSION_SESSION_H_
