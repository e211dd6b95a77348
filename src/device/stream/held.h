// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_DEVICE_STREAM_HELD_H_
#define MILLPOND_SRC_DEVICE_STREAM_HELD_H_

#include <utility>

namespace millpond {

// A task's share in an event or a notify: a destroyed one's object stays in place while a task names it.
template <class Object>
class Held {
 public:
  explicit Held(Object* object) : object_(object) { object_->Hold(); }
  Held(const Held& other) : object_(other.object_) { object_->Hold(); }
  Held(Held&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Held& operator=(Held&&) = delete;
  ~Held() {
    if (object_ != nullptr) object_->Release();
  }
  Object* operator->() const { return object_; }
  Object* get() const { return object_; }

 private:
  Object* object_;
};

}  // namespace millpond

#endif  // MILLPOND_SRC_DEVICE_STREAM_HELD_H_
