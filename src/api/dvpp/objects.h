// SPDX-License-Identifier: Apache-2.0
// The descriptors of acl_dvpp.h: what the client sets is kept here, and what it holds is a handle. Work copies what it
// needs when it is launched, so that a descriptor may be changed or destroyed at once; only the results of a decoder
// come back into one, if it is still there.
#ifndef MILLPOND_SRC_API_DVPP_OBJECTS_H_
#define MILLPOND_SRC_API_DVPP_OBJECTS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#define ENABLE_DVPP_INTERFACE
#include "include/acl/ops/acl_dvpp.h"
#include "src/api/common/acl_guard.h"
#include "src/api/common/message.h"
#include "src/base/mutex.h"
#include "src/device/kernel/shared_table.h"
#include "src/media/picture.h"

namespace millpond::dvpp {

using acl::Guard;
using acl::InvalidValue;

struct PicFields {
  void* data = nullptr;
  uint32_t size = 0;
  int format = PIXEL_FORMAT_YUV_400;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t width_stride = 0;
  uint32_t height_stride = 0;
  uint32_t ret_code = 0;
};

class Pic {
 public:
  PicFields fields() const {
    MutexLock lock(mutex_);
    return fields_;
  }
  template <class Change>
  void Set(const Change& change) {
    MutexLock lock(mutex_);
    change(&fields_);
  }

 private:
  mutable Mutex mutex_;
  PicFields fields_ GUARDED_BY(mutex_);
};

struct Batch {
  std::vector<void*> pictures;  // handles of Pics()
  ~Batch();
};

struct Area {
  uint32_t left = 0, right = 0, top = 0, bottom = 0;  // the last pixel belongs to it
};
struct Resizing {
  uint32_t interpolation = 0;
};
struct Bordering {
  std::array<double, 4> value{};
  int type = BORDER_CONSTANT;
  uint32_t top = 0, bottom = 0, left = 0, right = 0;
};
struct JpegSettings {
  uint32_t level = 100;
};
struct Channel {
  uint64_t id = 0;
  bool created = false;
  uint32_t mode = 0;  // 0: whatever is asked of it
  uint32_t matrix = 0;
};

SharedTable<Pic, HandleKind::kPicture>& Pics();
SharedTable<Batch, HandleKind::kPictureBatch>& Batches();
SharedTable<Area, HandleKind::kPictureArea>& Areas();
SharedTable<Resizing, HandleKind::kResizing>& Resizings();
SharedTable<Bordering, HandleKind::kBordering>& Borderings();
SharedTable<JpegSettings, HandleKind::kJpegSettings>& JpegSettingsTable();
SharedTable<Channel, HandleKind::kMediaChannel>& Channels();

// The object of a handle; `parameter` and `maker` are for the message.
template <class T, HandleKind kKind>
Status Find(SharedTable<T, kKind>& table, const char* parameter, const void* handle, const char* maker,
            std::shared_ptr<T>* out_object) {
  if (handle == nullptr) return acl::NullPointer(parameter);
  *out_object = table.Find(handle);
  if (*out_object != nullptr) return Ok();
  return acl::InvalidValue(parameter, Format("%p", handle),
                           Format("it names nothing, or was destroyed; %s makes one", maker));
}
inline Status FindPic(const char* parameter, const void* handle, std::shared_ptr<Pic>* out_pic) {
  return Find(Pics(), parameter, handle, "acldvppCreatePicDesc", out_pic);
}
inline Status FindArea(const char* parameter, const void* handle, std::shared_ptr<Area>* out_area) {
  return Find(Areas(), parameter, handle, "acldvppCreateRoiConfig", out_area);
}

}  // namespace millpond::dvpp

#endif  // MILLPOND_SRC_API_DVPP_OBJECTS_H_
