// SPDX-License-Identifier: Apache-2.0
//
// Checks for functions that add nodes: one that does not hold says so on stderr and leaves the function with nothing
// (null, or a struct of nulls).
#ifndef MILLPOND_INCLUDE_GE_ES_LOG_H_
#define MILLPOND_INCLUDE_GE_ES_LOG_H_

#include <cstdio>

#define ES_ASSERT(holds, what, ...)                                                        \
  do {                                                                                     \
    if (!(holds)) {                                                                        \
      std::fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__, __LINE__, __func__, what); \
      return {};                                                                           \
    }                                                                                      \
  } while (false)
#define ES_ASSERT_NOTNULL(value, ...) ES_ASSERT((value) != nullptr, #value " is not null", __VA_ARGS__)
#define ES_ASSERT_TRUE(value, ...) ES_ASSERT((value), #value, __VA_ARGS__)
#define ES_ASSERT_SUCCESS(value, ...) ES_ASSERT((value) == 0, #value " succeeds", __VA_ARGS__)
#define ES_ASSERT_GRAPH_SUCCESS(value, ...) ES_ASSERT_SUCCESS(value, __VA_ARGS__)
#define ES_ASSERT_RT_OK(value, ...) ES_ASSERT_SUCCESS(value, __VA_ARGS__)
#define ES_ASSERT_EOK(value, ...) ES_ASSERT_SUCCESS(value, __VA_ARGS__)

#endif  // MILLPOND_INCLUDE_GE_ES_LOG_H_
