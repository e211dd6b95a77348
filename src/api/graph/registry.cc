// SPDX-License-Identifier: Apache-2.0
#include "src/api/graph/registry.h"

#include "src/api/graph/infer.h"
#include "src/api/graph/operator_impl.h"
#include "src/base/mutex.h"
#include "src/graph/ir/client_hooks.h"

namespace millpond::api {

Registry& Registry::Instance() {
  static Registry* registry = new Registry;  // never freed: static objects of clients end after ours
  return *registry;
}

// Whoever compiles a graph asks from the first registration on.
Registry::Registry() { ir::SetClientHooks({&ClientKnows, &ClientInfer, &ClientVerify}); }

template <class F>
void Registry::Add(const char* api, const char* type, F function, F Functions::*member) {
  static_cast<void>(Answer(api, [&]() -> Status {
    MP_REQUIRE(type != nullptr && *type != '\0', "the operator's type is %s", type == nullptr ? "null" : "empty");
    MP_REQUIRE(function != nullptr, "the function for type %s is empty", type);
    const MutexLock lock(mutex_);
    F& place = types_[type].*member;
    if (place == nullptr) place = std::move(function);
    return Ok();
  }));
}

void Registry::AddCreator(const char* type, ge::OpCreatorV2 creator) {
  Add("ge::OperatorCreatorRegister", type, std::move(creator), &Functions::creator);
}
void Registry::AddInfer(const char* type, ge::InferShapeFunc function) {
  Add("ge::InferShapeFuncRegister", type, std::move(function), &Functions::infer);
}
void Registry::AddVerify(const char* type, ge::VerifyFunc function) {
  Add("ge::VerifyFuncRegister", type, std::move(function), &Functions::verify);
}

template <class F>
F Registry::Get(std::string_view type, F Functions::*member) const {
  const MutexLock lock(mutex_);
  const auto found = types_.find(type);
  return found == types_.end() ? F() : found->second.*member;
}

ge::OpCreatorV2 Registry::Creator(std::string_view type) const { return Get(type, &Functions::creator); }
ge::InferShapeFunc Registry::Infer(std::string_view type) const { return Get(type, &Functions::infer); }
ge::VerifyFunc Registry::Verify(std::string_view type) const { return Get(type, &Functions::verify); }

bool Registry::Knows(std::string_view type) const {
  const MutexLock lock(mutex_);
  return types_.contains(type);
}

std::vector<std::string> Registry::Types() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> types;
  for (const auto& [type, functions] : types_) {
    if (functions.creator != nullptr) types.push_back(type);
  }
  return types;
}

}  // namespace millpond::api
