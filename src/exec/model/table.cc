// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "src/base/mutex.h"
#include "src/exec/model/model.h"
#include "src/trace/emit.h"

namespace millpond {

ModelTable& ModelTable::Get() {
  static ModelTable* const table = new ModelTable;  // outlives every client
  return *table;
}

uint32_t ModelTable::Add(std::shared_ptr<Model> model) {
  MutexLock lock(mutex_);
  trace::TellObject(true, trace::ObjectKind::kModel, model->device()->id(), model.get(), ++last_id_);
  models_.emplace(last_id_, std::move(model));
  return last_id_;
}

Status ModelTable::Find(uint32_t id, std::shared_ptr<Model>* out) const {
  MutexLock lock(mutex_);
  const auto found = models_.find(id);
  MP_CHECK(found != models_.end(), kGraphUnknown,
           "there is no model %u: it was never loaded, or has been unloaded (%zu are loaded)", id, models_.size());
  *out = found->second;
  return Ok();
}

Status ModelTable::Remove(uint32_t id) {
  std::shared_ptr<Model> gone;
  MutexLock lock(mutex_);
  const auto found = models_.find(id);
  MP_CHECK(found != models_.end(), kGraphUnknown,
           "there is no model %u to unload: it was never loaded, or has been unloaded", id);
  gone = std::move(found->second);
  models_.erase(found);
  trace::TellObject(false, trace::ObjectKind::kModel, gone->device()->id(), gone.get(), id);
  return Ok();
}

Status ModelTable::FindBundle(uint32_t id, const Bundle** out) const {
  const auto found = bundles_.find(id);
  MP_CHECK(found != bundles_.end(), kInvalidHandle,
           "there is no bundle %u: it was never loaded, or has been unloaded (%zu are loaded)", id, bundles_.size());
  *out = &found->second;
  return Ok();
}

Status ModelTable::AddBundle(std::span<const std::byte> file, std::shared_ptr<const void> keep, uint32_t* out_id) {
  Bundle bundle;
  bundle.keep = std::move(keep);
  MP_RETURN_IF_ERROR(io::ReadOmBundle(file, &bundle.parts));
  bundle.models.resize(bundle.parts.size());
  MutexLock lock(mutex_);
  bundles_.emplace(++last_id_, std::move(bundle));
  *out_id = last_id_;
  return Ok();
}

Status ModelTable::BundleSize(uint32_t bundle, size_t* out_models) const {
  MutexLock lock(mutex_);
  const Bundle* found = nullptr;
  MP_RETURN_IF_ERROR(FindBundle(bundle, &found));
  *out_models = found->parts.size();
  return Ok();
}

Status ModelTable::BundlePart(uint32_t bundle, size_t index, std::span<const std::byte>* out_file,
                              std::shared_ptr<const void>* out_keep) const {
  MutexLock lock(mutex_);
  const Bundle* found = nullptr;
  MP_RETURN_IF_ERROR(FindBundle(bundle, &found));
  MP_REQUIRE(index < found->parts.size(), "index is %zu; bundle %u has %zu models", index, bundle, found->parts.size());
  *out_file = found->parts[index];
  *out_keep = found->keep;
  return Ok();
}

Status ModelTable::BundleModel(uint32_t bundle, size_t index, uint32_t* out_model) const {
  MutexLock lock(mutex_);
  const Bundle* found = nullptr;
  MP_RETURN_IF_ERROR(FindBundle(bundle, &found));
  MP_REQUIRE(index < found->models.size(), "index is %zu; bundle %u has %zu models", index, bundle,
             found->models.size());
  *out_model = found->models[index].empty() ? 0 : found->models[index].back();
  return Ok();
}

Status ModelTable::SetBundleModel(uint32_t bundle, size_t index, uint32_t model) {
  MutexLock lock(mutex_);
  const Bundle* found = nullptr;
  MP_RETURN_IF_ERROR(FindBundle(bundle, &found));
  bundles_[bundle].models.at(index).push_back(model);
  return Ok();
}

Status ModelTable::RemoveBundleModel(uint32_t bundle, uint32_t model) {
  {
    MutexLock lock(mutex_);
    const Bundle* found = nullptr;
    MP_RETURN_IF_ERROR(FindBundle(bundle, &found));
    size_t removed = 0;
    for (std::vector<uint32_t>& loaded : bundles_[bundle].models) removed += std::erase(loaded, model);
    MP_CHECK(removed > 0, kGraphUnknown, "model %u was not loaded from bundle %u", model, bundle);
  }
  return Remove(model);
}

Status ModelTable::RemoveBundle(uint32_t bundle) {
  Bundle gone;
  {
    MutexLock lock(mutex_);
    const Bundle* found = nullptr;
    MP_RETURN_IF_ERROR(FindBundle(bundle, &found));
    gone = std::move(bundles_[bundle]);
    bundles_.erase(bundle);
  }
  for (const std::vector<uint32_t>& loaded : gone.models) {
    for (const uint32_t model : loaded) Remove(model).Ignore();  // the client may have unloaded it by its own number
  }
  return Ok();
}

}  // namespace millpond
