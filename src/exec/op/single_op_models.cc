// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/single_op_models.h"

#include <algorithm>
#include <utility>

#include "src/base/format.h"
#include "src/base/mutex.h"

namespace millpond {
namespace {

// A dimension that the model leaves open takes what its range takes.
bool Fits(int64_t dim, int64_t asked, const std::pair<int64_t, int64_t>* range) {
  if (asked < 0) return true;  // it will be inferred
  if (dim >= 0) return asked == dim;
  if (range == nullptr) return true;
  return asked >= range->first && (range->second < 0 || asked <= range->second);
}

std::string RangeText(const SingleOpTensor& model) {
  std::string text = ShapeText(model.dims);
  for (size_t i = 0; i < model.ranges.size(); ++i) {
    text += Format("%s%lld~%lld", i == 0 ? " with ranges " : ", ", static_cast<long long>(model.ranges[i].first),
                   static_cast<long long>(model.ranges[i].second));
  }
  return text;
}

std::string TensorMismatch(const char* what, size_t number, const SingleOpTensor& model, const SingleOpTensor& asked) {
  if (model.dtype != asked.dtype) {
    return Format("%s %zu has type %s, the model %s", what, number, DTypeName(asked.dtype), DTypeName(model.dtype));
  }
  const bool any_rank = model.dims.size() == 1 && model.dims[0] == SingleOpTensor::kUnknownRank;
  const bool rank_unknown = asked.dims.size() == 1 && asked.dims[0] == SingleOpTensor::kUnknownRank;
  if (!any_rank && !rank_unknown) {
    bool fits = model.dims.size() == asked.dims.size();
    for (size_t i = 0; fits && i < model.dims.size(); ++i) {
      fits = Fits(model.dims[i], asked.dims[i], i < model.ranges.size() ? &model.ranges[i] : nullptr);
    }
    if (!fits) {
      return Format("%s %zu has shape %s, the model %s", what, number, ShapeText(asked.dims).c_str(),
                    RangeText(model).c_str());
    }
  }
  if (!model.constant.empty() && !asked.constant.empty() && model.constant != asked.constant) {
    return Format("%s %zu is another constant than the model's", what, number);
  }
  return "";
}

// One number for what may be written as a bool, a type or an integer.
AttrValue Plain(const AttrValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return static_cast<int64_t>(*flag);
  if (const auto* type = std::get_if<DType>(&value)) return static_cast<int64_t>(*type);
  return value;
}

std::string AttributeMismatch(const Attributes& model, const Attributes& asked) {
  for (const auto& [name, value] : asked) {
    const auto own = model.find(name);
    if (own == model.end()) return Format("attribute '%s' is not the model's", name.c_str());
    if (Plain(own->second) != Plain(value)) return Format("attribute '%s' has another value", name.c_str());
  }
  for (const auto& [name, value] : model) {
    if (asked.find(name) == asked.end()) return Format("attribute '%s' of the model is not given", name.c_str());
  }
  return "";
}

std::string TensorsMismatch(const char* what, const std::vector<SingleOpTensor>& model,
                            const std::vector<SingleOpTensor>& asked) {
  if (model.size() != asked.size()) {
    return Format("it has %zu %ss, the model %zu", asked.size(), what, model.size());
  }
  for (size_t i = 0; i < model.size(); ++i) {
    if (std::string why = TensorMismatch(what, i, model[i], asked[i]); !why.empty()) return why;
  }
  return "";
}

}  // namespace

std::string Mismatch(const SingleOpDesc& model, const SingleOpDesc& asked) {
  std::string why = TensorsMismatch("input", model.inputs, asked.inputs);
  if (why.empty()) why = TensorsMismatch("output", model.outputs, asked.outputs);
  if (why.empty()) why = AttributeMismatch(model.attributes, asked.attributes);
  return why;
}

SingleOpModels& SingleOpModels::Get() {
  static SingleOpModels& models = *new SingleOpModels;  // leaked: used from static destructors too
  return models;
}

void SingleOpModels::AddCompiled(SingleOpDesc model) { Add(std::move(model), /*ages=*/true); }
void SingleOpModels::AddLoaded(SingleOpDesc model) { Add(std::move(model), /*ages=*/false); }

void SingleOpModels::Add(SingleOpDesc model, bool ages) {
  MutexLock lock(mutex_);
  std::list<Model>& models = types_[model.type].models;
  const bool known =
      std::any_of(models.begin(), models.end(), [&](const Model& one) { return Mismatch(one.desc, model).empty(); });
  if (known) return;
  if (ages) {
    compiled_order_.push_back(model.type);
    while (compiled_order_.size() > limit_) DropOldest();
  }
  models.push_front({std::move(model), ages});
}

void SingleOpModels::DropOldest() {
  Type& type = types_[compiled_order_.front()];
  compiled_order_.pop_front();
  const auto oldest = std::find_if(type.models.rbegin(), type.models.rend(), [](const Model& one) { return one.ages; });
  if (oldest != type.models.rend()) type.models.erase(std::next(oldest).base());
}

void SingleOpModels::Open(const std::string& type) {
  MutexLock lock(mutex_);
  types_[type].open = true;
}

void SingleOpModels::SetLimit(uint64_t most) {
  MutexLock lock(mutex_);
  limit_ = most;
  while (compiled_order_.size() > limit_) DropOldest();
}

bool SingleOpModels::BeginFolder() {
  MutexLock lock(mutex_);
  return !std::exchange(folder_, true);
}

void SingleOpModels::AbandonFolder() {
  MutexLock lock(mutex_);
  folder_ = false;
}

void SingleOpModels::Clear() {
  MutexLock lock(mutex_);
  types_.clear();
  compiled_order_.clear();
  limit_ = kDefaultLimit;
  folder_ = false;
}

Status SingleOpModels::Match(const SingleOpDesc& asked) {
  MutexLock lock(mutex_);
  const auto found = types_.find(asked.type);
  if (found == types_.end() || found->second.open || found->second.models.empty()) return Ok();
  std::list<Model>& models = found->second.models;
  std::string nearest;
  for (auto model = models.begin(); model != models.end(); ++model) {
    const std::string why = Mismatch(model->desc, asked);
    if (why.empty()) {
      models.splice(models.begin(), models, model);
      return Ok();
    }
    if (nearest.empty()) nearest = why;
  }
  return InvalidArgument(
      Format("none of the %zu models of %s that were compiled or loaded is for this call: %s; compile it with "
             "aclopCompile or load a model whose shapes or ranges hold it",
             models.size(), asked.type.c_str(), nearest.c_str()));
}

}  // namespace millpond
