// SPDX-License-Identifier: Apache-2.0
#include "src/report/profile_session.h"

#include "src/base/mutex.h"
#include "src/report/profile_recorder.h"

namespace millpond::report {

namespace {

// A request for no device (only marks) runs under the host's own id.
constexpr uint32_t kHost = UINT32_MAX;

std::vector<uint32_t> DevicesOf(const ProfileRequest& request) {
  return request.devices.empty() ? std::vector<uint32_t>{kHost} : request.devices;
}

Status NotRunning(const char* first, ProfileFault* out_fault) {
  *out_fault = ProfileFault::kNotRunning;
  return InvalidArgument(Format("call %s first", first));
}

}  // namespace

ProfileSession& ProfileSession::Get() {
  static ProfileSession& session = *new ProfileSession;  // leaked: clients profile from static destructors
  return session;
}

Status ProfileSession::Initialize(const std::string& path) {
  MutexLock lock(mutex_);
  MP_CHECK(!initialized_, kRepeatInitialize, "profiling is initialised already; call aclprofFinalize first");
  path_ = path;
  initialized_ = true;
  return Ok();
}

Status ProfileSession::Finalize(ProfileFault* out_fault) {
  MutexLock lock(mutex_);
  if (!initialized_) return NotRunning("aclprofInit", out_fault);
  running_.clear();
  runs_.store(false);
  initialized_ = warm_ = false;
  path_.clear();
  return StopRecording();
}

Status ProfileSession::WarmUp(ProfileFault* out_fault) {
  MutexLock lock(mutex_);
  if (!initialized_) return NotRunning("aclprofInit", out_fault);
  if (!running_.empty()) {
    *out_fault = ProfileFault::kConflict;
    return InvalidArgument("profiling has started; warm up before aclprofStart");
  }
  warm_ = true;
  return Ok();
}

Status ProfileSession::Start(const ProfileRequest& request, ProfileFault* out_fault) {
  MutexLock lock(mutex_);
  if (!initialized_) return NotRunning("aclprofInit", out_fault);
  for (const uint32_t device : DevicesOf(request)) {
    if (!running_.contains(device)) continue;
    *out_fault = ProfileFault::kAlreadyRunning;
    return InvalidArgument(
        Format("device %u is being profiled already; call aclprofStop with its configuration first", device));
  }
  if (running_.empty()) MP_RETURN_IF_ERROR(StartRecording(path_, request.devices, request.api_calls));
  for (const uint32_t device : DevicesOf(request)) running_[device] = request.data_types;
  warm_ = false;
  runs_.store(true);
  return Ok();
}

Status ProfileSession::Stop(const ProfileRequest& request, ProfileFault* out_fault) {
  MutexLock lock(mutex_);
  for (const uint32_t device : DevicesOf(request)) {
    const auto found = running_.find(device);
    if (found == running_.end()) return NotRunning("aclprofStart with the same configuration", out_fault);
    MP_REQUIRE(found->second == request.data_types,
               "the configuration is not the one aclprofStart had: dataTypeConfig differs");
  }
  for (const uint32_t device : DevicesOf(request)) running_.erase(device);
  runs_.store(!running_.empty());
  return running_.empty() ? StopRecording() : Ok();
}

}  // namespace millpond::report
