// SPDX-License-Identifier: Apache-2.0
// What clients register for types of operators, by type. Registrars are static objects, so it lives from the first of
// them to the end of the process.
#ifndef MILLPOND_SRC_API_GRAPH_REGISTRY_H_
#define MILLPOND_SRC_API_GRAPH_REGISTRY_H_

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "include/graph/operator_factory.h"
#include "src/base/mutex.h"
#include "src/base/status.h"

namespace millpond::api {

class Registry {
 public:
  static Registry& Instance();

  // The first one stays: definitions in headers register once for each file that includes them.
  void AddCreator(const char* type, ge::OpCreatorV2 creator);
  void AddInfer(const char* type, ge::InferShapeFunc function);
  void AddVerify(const char* type, ge::VerifyFunc function);

  // Empty when there is none.
  ge::OpCreatorV2 Creator(std::string_view type) const;
  ge::InferShapeFunc Infer(std::string_view type) const;
  ge::VerifyFunc Verify(std::string_view type) const;
  bool Knows(std::string_view type) const;
  std::vector<std::string> Types() const;

  // For the names of operators that were given none.
  uint32_t NextNumber() { return next_number_++; }

  bool prefers_built_in() const { return prefers_built_in_; }
  void PreferBuiltIn() { prefers_built_in_ = true; }

 private:
  struct Functions {
    ge::OpCreatorV2 creator;
    ge::InferShapeFunc infer;
    ge::VerifyFunc verify;
  };
  Registry();
  template <class F>
  F Get(std::string_view type, F Functions::*member) const;
  template <class F>
  void Add(const char* api, const char* type, F function, F Functions::*member);

  mutable Mutex mutex_;
  std::map<std::string, Functions, std::less<>> types_ GUARDED_BY(mutex_);
  std::atomic<bool> prefers_built_in_{false};
  std::atomic<uint32_t> next_number_{0};
};

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_GRAPH_REGISTRY_H_
