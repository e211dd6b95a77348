// SPDX-License-Identifier: Apache-2.0
// What failures leave behind for later queries: the newest messages and the last error code of each thread, and the
// messages of the whole process where a client has requested that. The ABIs write and read them; the state is
// here, once, because all of CANN's libraries report to the same place. Safe from any thread, also after a
// thread's own destructors and from static ones: such late failures store no message.
#ifndef MILLPOND_SRC_BASE_FAILURES_H_
#define MILLPOND_SRC_BASE_FAILURES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace millpond::failures {

struct Message {
  std::string code;
  std::string title;
  std::string time;
  std::string text;
};

// Unread messages beyond this many are dropped, oldest first: a client that never reads must not use unbounded memory.
inline constexpr size_t kMaxMessages = 16;

// Whether messages are kept per process instead of per thread (the default).
void SetProcessWide(bool process_wide);
bool IsProcessWide();

// `process_wide` chooses the list: it locks, so a forked child must not use it.
void Add(Message message, bool process_wide);
// All of them, newest first.
std::vector<Message> TakeAll(bool process_wide) noexcept;
// They could not be handed out: as if they had not been taken.
void PutBack(std::vector<Message> messages, bool process_wide) noexcept;

// Keeps `text` until the thread's next HandOut: what a C function may return. Null when the thread is ending.
const char* HandOut(std::string text);

// The thread's last error code, in the ABI's terms; 0: none.
int32_t LastError();
void SetLastError(int32_t number);

}  // namespace millpond::failures

#endif  // MILLPOND_SRC_BASE_FAILURES_H_
