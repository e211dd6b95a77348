// SPDX-License-Identifier: Apache-2.0
// A short vector whose first 64 elements lie in the object itself. It crosses the library's boundary by value: the
// members, their order and what they mean are part of the ABI. While `heap_` is null the elements are in `storage_`.
#ifndef ATB_SVECTOR_H_
#define ATB_SVECTOR_H_

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>

namespace atb {

constexpr std::size_t MAX_SVECTOR_SIZE = 256;
constexpr std::size_t DEFAULT_SVECTOR_SIZE = 64;
constexpr bool CHECK_BOUND = true;

struct MaxSizeExceeded : public std::exception {};

template <class T>
class SVector {
 public:
  constexpr SVector() = default;
  SVector(std::initializer_list<T> list) { Assign(list.begin(), list.size()); }
  explicit SVector(std::size_t size, const T& value = 0) {
    resize(size);
    std::fill(begin(), end(), value);
  }
  SVector(const SVector& other) { Assign(other.begin(), other.size_); }
  SVector& operator=(const SVector& other) {
    if (this != &other) Assign(other.begin(), other.size_);
    return *this;
  }
  SVector& operator=(std::initializer_list<T> list) {
    Assign(list.begin(), list.size());
    return *this;
  }
  // What lies on the heap is given back as it was taken; elements there are destroyed by whoever put them there.
  ~SVector() { std::free(heap_); }

  void push_back(const T& value) { insert(size_, value); }
  void insert(const std::size_t pos, const T& value) {
    if (pos > size_) throw std::out_of_range("atb::SVector::insert: the place is behind the end");
    const T copy = value;  // it may be an element of this vector
    resize(size_ + 1);
    T* first = begin();
    std::move_backward(first + pos, first + size_ - 1, first + size_);
    first[pos] = copy;
  }
  void clear() noexcept { size_ = 0; }
  void reserve(std::size_t size) {
    if (size > MAX_SVECTOR_SIZE) throw MaxSizeExceeded();
    if (size > DEFAULT_SVECTOR_SIZE) Spill();
  }
  void resize(std::size_t size) {
    reserve(size);
    if (heap_ != nullptr && size > capacity_) throw MaxSizeExceeded();
    size_ = size;
  }

  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  T* data() noexcept { return heap_ != nullptr ? heap_ : storage_; }
  const T* data() const noexcept { return heap_ != nullptr ? heap_ : storage_; }
  T* begin() noexcept { return data(); }
  const T* begin() const noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* end() const noexcept { return data() + size_; }
  T& at(std::size_t i) { return data()[Checked(i)]; }
  const T& at(std::size_t i) const { return data()[Checked(i)]; }
  T& operator[](std::size_t i) { return at(i); }
  const T& operator[](std::size_t i) const { return at(i); }

  bool operator==(const SVector& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }
  bool operator!=(const SVector& other) const { return !(*this == other); }
  bool operator<(const SVector& other) const {
    return std::lexicographical_compare(begin(), end(), other.begin(), other.end());
  }

 private:
  std::size_t Checked(std::size_t i) const {
    if (i >= size_) throw std::out_of_range("atb::SVector: no element has this number");
    return i;
  }
  void Assign(const T* first, std::size_t count) {
    resize(count);
    std::copy(first, first + count, begin());
  }
  // To the heap, with room for all there can ever be.
  void Spill() {
    if (heap_ != nullptr && capacity_ >= MAX_SVECTOR_SIZE) return;
    T* room = static_cast<T*>(std::malloc(MAX_SVECTOR_SIZE * sizeof(T)));
    if (room == nullptr) throw std::bad_alloc();
    std::uninitialized_value_construct(room, room + MAX_SVECTOR_SIZE);
    std::copy(begin(), end(), room);
    std::free(heap_);
    heap_ = room;
    capacity_ = MAX_SVECTOR_SIZE;
  }

  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  T storage_[DEFAULT_SVECTOR_SIZE + 1] = {};
  T* heap_ = nullptr;
};

template <class T>
std::ostream& operator<<(std::ostream& out, const SVector<T>& vector) {
  const char* separator = "";
  for (const T& element : vector) {
    out << separator << element;
    separator = ",";
  }
  return out;
}

}  // namespace atb

#endif  // ATB_SVECTOR_H_
