// SPDX-License-Identifier: Apache-2.0
// libc_sec.so: the bounded string and memory functions that samples call and vendor binaries expect to find beside the
// runtime. Results are error numbers, 0 for success; a code of 128 and above says that the destination was cleared too.
#ifndef MILLPOND_INCLUDE_SECUREC_H_
#define MILLPOND_INCLUDE_SECUREC_H_

#include <stdarg.h>
#include <stddef.h>

#define MP_SEC_API __attribute__((visibility("default")))

#ifndef EOK
#define EOK 0
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef int errno_t;

MP_SEC_API errno_t memcpy_s(void* dest, size_t dest_max, const void* src, size_t count);
MP_SEC_API errno_t memset_s(void* dest, size_t dest_max, int value, size_t count);
MP_SEC_API errno_t strcpy_s(char* dest, size_t dest_max, const char* src);
MP_SEC_API errno_t strncpy_s(char* dest, size_t dest_max, const char* src, size_t count);

// These return the number of characters written, or -1. snprintf_s cut off at `count` keeps what fitted and still
// returns -1; a destination too small for the text is left empty.
MP_SEC_API int sprintf_s(char* dest, size_t dest_max, const char* format, ...);
MP_SEC_API int vsprintf_s(char* dest, size_t dest_max, const char* format, va_list args);
MP_SEC_API int snprintf_s(char* dest, size_t dest_max, size_t count, const char* format, ...);
MP_SEC_API int vsnprintf_s(char* dest, size_t dest_max, size_t count, const char* format, va_list args);

#ifdef __cplusplus
}
#endif

#endif  // MILLPOND_INCLUDE_SECUREC_H_
