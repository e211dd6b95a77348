// SPDX-License-Identifier: Apache-2.0
// Two processes show each other that they have the same secret, without showing it: each answers the other's random
// number with a code (HMAC-SHA-256) that only the secret gives. Who cannot is told nothing.
#ifndef MILLPOND_SRC_COMM_HANDSHAKE_H_
#define MILLPOND_SRC_COMM_HANDSHAKE_H_

#include <cstdint>
#include <span>
#include <string>

#include "src/base/futex.h"
#include "src/base/sha256.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace millpond::comm {

// From whoever listens, as soon as somebody has come.
struct Challenge {
  char magic[16];
  uint64_t version;
  Digest number;
};
// From whoever came.
struct Answer {
  Digest number;
  Digest code;
};
// And back.
using Proof = Digest;

Challenge MakeChallenge();
// True when the answer is right; the proof is for whoever came.
bool CheckAnswer(std::span<const uint8_t> secret, const Challenge& challenge, const Answer& answer, Proof* out_proof);

// The side of whoever came. False when whoever listens is of another version, or no rank.
bool AnswerTo(std::span<const uint8_t> secret, const Challenge& challenge, Answer* out_answer, Proof* out_expected);
// All of it; waits. `where` is for messages.
Status ShowSecret(int socket_fd, std::span<const uint8_t> secret, const std::string& where, Clock::time_point deadline);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_HANDSHAKE_H_
