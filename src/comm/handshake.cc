// SPDX-License-Identifier: Apache-2.0
#include "src/comm/handshake.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/format.h"
#include "src/base/random_bytes.h"
#include "src/comm/world.h"

namespace millpond::comm {

namespace {

constexpr char kMagic[16] = {'M', 'i', 'l', 'l', 'p', 'o', 'n', 'd', ' ', 'r', 'a', 'n', 'k', 's', '\0', '\0'};

// Each side's code is over both numbers and its own role, so that neither can be sent back as the other's.
Digest CodeFor(std::span<const uint8_t> secret, const char* role, const Digest& asked, const Digest& own) {
  std::string text(role);
  text.append(reinterpret_cast<const char*>(asked.data()), asked.size());
  text.append(reinterpret_cast<const char*>(own.data()), own.size());
  return HmacSha256({reinterpret_cast<const char*>(secret.data()), secret.size()}, text);
}

// All of it, or why not.
std::string ReceiveAll(int socket_fd, void* to, size_t bytes, Clock::time_point deadline) {
  for (size_t have = 0; have < bytes;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return "says nothing";
    pollfd watched{socket_fd, POLLIN, 0};
    poll(&watched, 1, static_cast<int>(std::min<int64_t>(left, 1000)));
    const ssize_t got = recv(socket_fd, static_cast<char*>(to) + have, bytes - have, MSG_DONTWAIT);
    if (got == 0) return "has closed the connection";
    if (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return strerror(errno);
    if (got > 0) have += static_cast<size_t>(got);
  }
  return {};
}

}  // namespace

Challenge MakeChallenge() {
  Challenge challenge{};
  std::memcpy(challenge.magic, kMagic, sizeof(kMagic));
  challenge.version = kWorldMagic;
  FillRandom(challenge.number.data(), challenge.number.size());
  return challenge;
}

bool CheckAnswer(std::span<const uint8_t> secret, const Challenge& challenge, const Answer& answer, Proof* out_proof) {
  if (!SameBytes(CodeFor(secret, "joins", challenge.number, answer.number), answer.code)) return false;
  *out_proof = CodeFor(secret, "listens", answer.number, challenge.number);
  return true;
}

bool AnswerTo(std::span<const uint8_t> secret, const Challenge& challenge, Answer* out_answer, Proof* out_expected) {
  FillRandom(out_answer->number.data(), out_answer->number.size());
  out_answer->code = CodeFor(secret, "joins", challenge.number, out_answer->number);
  *out_expected = CodeFor(secret, "listens", out_answer->number, challenge.number);
  return std::memcmp(challenge.magic, kMagic, sizeof(kMagic)) == 0 && challenge.version == kWorldMagic;
}

Status ShowSecret(int socket_fd, std::span<const uint8_t> secret, const std::string& where,
                  Clock::time_point deadline) {
  Challenge challenge{};
  std::string trouble = ReceiveAll(socket_fd, &challenge, sizeof(challenge), deadline);
  MP_CHECK(trouble.empty(), kIpc, "[EI0015] whoever listens at %s %s", where.c_str(), trouble.c_str());
  MP_CHECK(std::memcmp(challenge.magic, kMagic, sizeof(kMagic)) == 0, kIpc,
           "[EI0015] whoever listens at %s is no rank of Millpond; is the port another program's?", where.c_str());
  MP_CHECK(challenge.version == kWorldMagic, kIpc,
           "[EI0008] the ranks at %s have another version of Millpond (%016llx there, %016llx here)", where.c_str(),
           static_cast<unsigned long long>(challenge.version), static_cast<unsigned long long>(kWorldMagic));
  Answer answer{};
  Proof proof{}, expected{};
  AnswerTo(secret, challenge, &answer, &expected);
  if (send(socket_fd, &answer, sizeof(answer), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(answer))) {
    trouble = strerror(errno);
  } else {
    trouble = ReceiveAll(socket_fd, &proof, sizeof(proof), deadline);
  }
  MP_CHECK(
      trouble.empty(), kIpc,
      "[EI0015] whoever listens at %s %s: the root info or rank table is another than there, or was changed on the "
      "way",
      where.c_str(), trouble.c_str());
  MP_CHECK(SameBytes(proof, expected), kIpc,
           "[EI0015] whoever listens at %s does not have the secret of this root info, and was told nothing",
           where.c_str());
  return Ok();
}

}  // namespace millpond::comm
