// SPDX-License-Identifier: Apache-2.0
// The models of single operators that the process knows: compiled (aclopCompile) or loaded (aclopSetModelDir,
// aclopLoad). Nothing is compiled here, so a type without models may be run with any shapes; a type that has some may
// be run only as one of them says, so that a program that asks for what it never prepared hears of it as on the device.
#ifndef MILLPOND_SRC_EXEC_OP_SINGLE_OP_MODELS_H_
#define MILLPOND_SRC_EXEC_OP_SINGLE_OP_MODELS_H_

#include <cstdint>
#include <list>
#include <map>
#include <string>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/exec/op/single_op.h"

namespace millpond {

// Process-wide. Safe from any thread.
class SingleOpModels {
 public:
  static constexpr uint64_t kDefaultLimit = 20000;  // documented

  static SingleOpModels& Get();

  void AddCompiled(SingleOpDesc model);  // ages: beyond the limit the one longest unused goes
  void AddLoaded(SingleOpDesc model);    // stays
  // The type was compiled and run in one call: any shape of it may be run.
  void Open(const std::string& type);
  void SetLimit(uint64_t most);
  // A folder of models is loaded once: true for the first caller until Clear, or until that caller gives up.
  bool BeginFolder();
  void AbandonFolder();
  void Clear();
  // Fails, naming the nearest miss, when the type has models and none is for this description.
  Status Match(const SingleOpDesc& asked);

 private:
  struct Model {
    SingleOpDesc desc;
    bool ages;
  };
  struct Type {
    std::list<Model> models;  // the last used first
    bool open = false;
  };
  void Add(SingleOpDesc model, bool ages);
  void DropOldest() REQUIRES(mutex_);

  Mutex mutex_;  // guards all below
  std::map<std::string, Type> types_ GUARDED_BY(mutex_);
  std::list<std::string> compiled_order_ GUARDED_BY(mutex_);  // types of compiled models, the oldest first
  uint64_t limit_ GUARDED_BY(mutex_) = kDefaultLimit;
  bool folder_ GUARDED_BY(mutex_) = false;
};

// Why a model is not for what was asked; empty when it is.
std::string Mismatch(const SingleOpDesc& model, const SingleOpDesc& asked);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_SINGLE_OP_MODELS_H_
