// SPDX-License-Identifier: Apache-2.0
// Offline models that are loaded: weights on the device, memory to work in, and runs on streams. Found by number, so
// that what a client keeps after an unload can only fail.
#ifndef MILLPOND_SRC_EXEC_MODEL_MODEL_H_
#define MILLPOND_SRC_EXEC_MODEL_MODEL_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/device/device.h"
#include "src/device/stream/stream.h"
#include "src/exec/model/info.h"
#include "src/exec/program/loaded.h"
#include "src/exec/program/program.h"
#include "src/exec/program/variables.h"

namespace millpond {

// What the client brings; null: the model finds it itself.
struct ModelMemory {
  void* work = nullptr;
  size_t work_bytes = 0;
  void* weight = nullptr;
  size_t weight_bytes = 0;
};

struct ModelRun {
  std::span<const program::Tensor> inputs;  // the graph's own, without the one that chooses a gear
  std::span<program::Tensor> outputs;
  size_t gear = 0;
  void* work = nullptr;  // for this run alone; null: the model's
  size_t work_bytes = 0;
};

class Model {
 public:
  // Returns when the weights are on the device. A dynamic model takes what it works in from run to run: work memory
  // that it is given is left alone.
  static Status Load(std::shared_ptr<const ModelInfo> info, const ModelMemory& memory, Context* context,
                     std::shared_ptr<Model>* out);
  // Runs that are queued still have what they need. Memory of the client's must stay until they have ended.
  ~Model();
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  const ModelInfo& info() const { return *info_; }
  const std::shared_ptr<const ModelInfo>& shared_info() const { return info_; }
  Device* device() const { return loaded_->device(); }
  // As LoadedProgram's.
  void DumpTo(const dump::Target* target) { loaded_->DumpTo(target); }

  // Queues one run. `handle`: the stream as the client names it, which finds the allocator that a dynamic model takes
  // every buffer from; null: built-in memory. A static model never asks an allocator. Runs on several streams come one
  // after the other, as they share the work memory.
  Status Launch(const ModelRun& run, const void* handle, Stream* stream);
  // The same on a stream of the model's own, to its end.
  Status RunAndWait(const ModelRun& run);

  // The gear that was chosen last, for those who ask without a dataset.
  size_t last_gear() const { return last_gear_.load(std::memory_order_relaxed); }
  void set_last_gear(size_t gear) { last_gear_.store(gear, std::memory_order_relaxed); }
  int32_t priority() const { return priority_.load(std::memory_order_relaxed); }
  void set_priority(int32_t priority) { priority_.store(priority, std::memory_order_relaxed); }

 private:
  explicit Model(std::shared_ptr<const ModelInfo> info) : info_(std::move(info)) {}
  Status MakeRequest(const ModelRun& run, program::LaunchRequest* out) const;

  const std::shared_ptr<const ModelInfo> info_;
  program::VariableStore variables_;
  std::shared_ptr<program::LoadedProgram> loaded_;  // set by Load
  std::atomic<size_t> last_gear_{ModelInfo::kNoGear};
  std::atomic<int32_t> priority_{0};
};

// Models and bundles of models by number. Numbers begin with 1 and are never used again. Safe from any thread. A number
// that no model has: kGraphUnknown; that no bundle has: kInvalidHandle.
class ModelTable {
 public:
  static ModelTable& Get();

  uint32_t Add(std::shared_ptr<Model> model);
  Status Find(uint32_t id, std::shared_ptr<Model>* out) const;
  Status Remove(uint32_t id);

  // Takes the bytes of a bundle's file, which `keep` keeps alive.
  Status AddBundle(std::span<const std::byte> file, std::shared_ptr<const void> keep, uint32_t* out_id);
  Status BundleSize(uint32_t bundle, size_t* out_models) const;
  // A model of a bundle, as its file has it.
  Status BundlePart(uint32_t bundle, size_t index, std::span<const std::byte>* out_file,
                    std::shared_ptr<const void>* out_keep) const;
  // The model that was loaded from the place; 0 when none is.
  Status BundleModel(uint32_t bundle, size_t index, uint32_t* out_model) const;
  Status SetBundleModel(uint32_t bundle, size_t index, uint32_t model);
  // Unloads one model, or the bundle and all that were loaded from it.
  Status RemoveBundleModel(uint32_t bundle, uint32_t model);
  Status RemoveBundle(uint32_t bundle);

 private:
  struct Bundle {
    std::shared_ptr<const void> keep;
    std::vector<std::span<const std::byte>> parts;
    std::vector<std::vector<uint32_t>> models;  // by part: what was loaded from it, the latest last
  };
  Status FindBundle(uint32_t id, const Bundle** out) const REQUIRES(mutex_);

  mutable Mutex mutex_;  // guards what follows; never held while a model ends
  uint32_t last_id_ GUARDED_BY(mutex_) = 0;
  std::map<uint32_t, std::shared_ptr<Model>> models_ GUARDED_BY(mutex_);
  std::map<uint32_t, Bundle> bundles_ GUARDED_BY(mutex_);
};

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_MODEL_MODEL_H_
