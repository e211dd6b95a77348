// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4) and HMAC over it (RFC 2104), for processes that prove to each other that they have the same
// secret. Not for speed.
#ifndef MILLPOND_SRC_BASE_SHA256_H_
#define MILLPOND_SRC_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace millpond {

using Digest = std::array<uint8_t, 32>;

Digest Sha256(std::string_view bytes);
Digest HmacSha256(std::string_view key, std::string_view bytes);

// Takes as long whether they differ early or late.
bool SameBytes(std::span<const uint8_t> a, std::span<const uint8_t> b);

// The first `bytes` bytes in hexadecimal digits.
std::string HexOf(const Digest& digest, size_t bytes = sizeof(Digest));

}  // namespace millpond

#endif  // MILLPOND_SRC_BASE_SHA256_H_
