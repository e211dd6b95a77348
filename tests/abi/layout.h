// SPDX-License-Identifier: Apache-2.0
// Rows of the tables of layouts and values (*.def).
#ifndef MILLPOND_TESTS_ABI_LAYOUT_H_
#define MILLPOND_TESTS_ABI_LAYOUT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

// Both are LP64 and lay out these types alike: ./millpond test --long compiles the tables for aarch64 too.
#if !defined(__x86_64__) && !defined(__aarch64__)
#error "These offsets were measured on x86-64 and compared on aarch64; measure them again before changing the port."
#endif

#define SIZE(type, bytes) static_assert(sizeof(type) == (bytes));
#define OFFSET(type, member, bytes) static_assert(offsetof(type, member) == (bytes));
#define VALUE(name, number) static_assert((name) == (number));
#define TEXT(name, text) static_assert(std::string_view(name) == (text));
#define TYPE(name, ...) static_assert(std::is_same_v<name, __VA_ARGS__>);

#endif  // MILLPOND_TESTS_ABI_LAYOUT_H_
