// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "include/securec.h"

namespace {

constexpr size_t kLimit = 0x7FFFFFFF;  // a larger bound is taken for a negative number gone wrong
constexpr int kCleared = 128;
constexpr int kOverlap = 54;

// What is wrong with the destination itself; 0 when it may be written.
int CheckDestination(const void* dest, size_t dest_max) {
  if (dest_max == 0 || dest_max > kLimit) return ERANGE;
  return dest == nullptr ? EINVAL : 0;
}

bool Overlap(const void* a, size_t a_size, const void* b, size_t b_size) {
  const auto first = reinterpret_cast<uintptr_t>(a);
  const auto second = reinterpret_cast<uintptr_t>(b);
  return first < second + b_size && second < first + a_size;
}

int EmptyString(char* dest, int reason) {
  dest[0] = '\0';
  return reason + kCleared;
}

int CopyString(char* dest, size_t dest_max, const char* src, size_t length) {
  if (length >= dest_max) return EmptyString(dest, ERANGE);
  if (dest == src) return 0;
  if (Overlap(dest, length + 1, src, length + 1)) return EmptyString(dest, kOverlap);
  memcpy(dest, src, length);
  dest[length] = '\0';
  return 0;
}

}  // namespace

int memcpy_s(void* dest, size_t dest_max, const void* src, size_t count) {
  if (const int error = CheckDestination(dest, dest_max)) return error;
  if (src == nullptr) {
    memset(dest, 0, dest_max);
    return EINVAL + kCleared;
  }
  if (count > dest_max) {
    memset(dest, 0, dest_max);
    return ERANGE + kCleared;
  }
  if (dest == src || count == 0) return 0;
  if (Overlap(dest, count, src, count)) {
    memset(dest, 0, dest_max);
    return kOverlap + kCleared;
  }
  memcpy(dest, src, count);
  return 0;
}

int memset_s(void* dest, size_t dest_max, int value, size_t count) {
  if (const int error = CheckDestination(dest, dest_max)) return error;
  memset(dest, value, std::min(count, dest_max));
  return count > dest_max ? ERANGE + kCleared : 0;
}

int strcpy_s(char* dest, size_t dest_max, const char* src) {
  if (const int error = CheckDestination(dest, dest_max)) return error;
  if (src == nullptr) return EmptyString(dest, EINVAL);
  return CopyString(dest, dest_max, src, strnlen(src, dest_max));
}

int strncpy_s(char* dest, size_t dest_max, const char* src, size_t count) {
  if (const int error = CheckDestination(dest, dest_max)) return error;
  if (src == nullptr) return EmptyString(dest, EINVAL);
  if (count > kLimit) return EmptyString(dest, ERANGE);
  if (count == 0) {
    dest[0] = '\0';
    return 0;
  }
  const size_t length = strnlen(src, std::min(count, dest_max));
  if (length < dest_max && dest == src) {
    dest[length] = '\0';
    return 0;
  }
  return CopyString(dest, dest_max, src, length);
}

int vsprintf_s(char* dest, size_t dest_max, const char* format, va_list args) {
  if (CheckDestination(dest, dest_max) != 0) return -1;
  if (format == nullptr) {
    dest[0] = '\0';
    return -1;
  }
  const int length = vsnprintf(dest, dest_max, format, args);
  if (length >= 0 && static_cast<size_t>(length) < dest_max) return length;
  dest[0] = '\0';
  return -1;
}

int vsnprintf_s(char* dest, size_t dest_max, size_t count, const char* format, va_list args) {
  if (CheckDestination(dest, dest_max) != 0) return -1;
  // (size_t)-1 is the usual spelling of "as much as fits".
  if (format == nullptr || (count > kLimit && count != SIZE_MAX)) {
    dest[0] = '\0';
    return -1;
  }
  if (count >= dest_max) return vsprintf_s(dest, dest_max, format, args);
  const int length = vsnprintf(dest, count + 1, format, args);
  if (length < 0) dest[0] = '\0';
  return length >= 0 && static_cast<size_t>(length) <= count ? length : -1;
}

int sprintf_s(char* dest, size_t dest_max, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsprintf_s(dest, dest_max, format, args);
  va_end(args);
  return length;
}

int snprintf_s(char* dest, size_t dest_max, size_t count, const char* format, ...) {
  va_list args;
  va_start(args, format);
  const int length = vsnprintf_s(dest, dest_max, count, format, args);
  va_end(args);
  return length;
}
