// SPDX-License-Identifier: Apache-2.0
#include "src/comm/links.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "src/base/format.h"
#include "src/base/own_thread.h"
#include "src/base/random_bytes.h"
#include "src/comm/abstract_name.h"
#include "src/device/stream/poller.h"

namespace millpond::comm {

namespace {

// After something has come or gone, the next is not far: to sleep and be woken costs as much.
constexpr auto kSpin = std::chrono::microseconds(60);
// How long a process that ends speaks for the other ranks of its host.
constexpr auto kLongestStay = std::chrono::seconds(30);

}  // namespace

Links& Links::Get() {
  static Links& links = *new Links;  // leaked: process groups end in static destructors
  return links;
}

Status Links::StartLocked() {
  if (started_.load()) {
    MP_CHECK(pid_ == getpid(), kIpc, "process %d was forked from one that connects hosts; start a new program",
             static_cast<int>(getpid()));
    return Ok();
  }
  uint64_t random = 0;
  FillRandom(&random, sizeof(random));
  bell_name_ = Format("millpond-%d-bell-%016llx", static_cast<int>(getpid()), static_cast<unsigned long long>(random));
  bell_ = UniqueFd(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address;
  const socklen_t length = AbstractAddress(bell_name_, &address);
  MP_CHECK(bell_ && bind(bell_.get(), reinterpret_cast<sockaddr*>(&address), length) == 0, kIpc,
           "no socket to wake the thread that connects hosts: %s; raise `ulimit -n`", strerror(errno));
  MP_RETURN_IF_ERROR(StartOwnThread(
      "mp-links", "connect hosts", [this] { Loop(); }, &thread_));
  pid_ = getpid();
  started_.store(true);
  std::atexit(&Links::AtExit);
  return Ok();
}

Status Links::Add(std::unique_ptr<Link> link) {
  MutexLock lock(mutex_);
  MP_CHECK(!ends_, kIpc, "the process is ending");
  MP_RETURN_IF_ERROR(StartLocked());
  link->SetBell(bell_name_);
  added_.push_back(std::move(link));
  ++live_;
  Wake();
  return Ok();
}

void Links::Withdraw(const std::string& key) {
  if (!started_.load()) return;
  MutexLock lock(mutex_);
  withdrawn_.push_back(key);
  Wake();
}

void Links::Wake() const { Ring(bell_.get(), bell_name_); }

void Links::AtExit() {
  Links& links = Get();
  if (links.pid_ == getpid()) links.End();
}

void Links::End() {
  std::thread thread;
  {
    UniqueLock lock(mutex_);
    ends_ = true;
    Wake();
    const auto deadline = Clock::now() + kLongestStay;
    while (live_ != 0 && empty_.WaitUntil(lock, deadline)) {
    }
    stops_ = true;
    Wake();
    thread = std::move(thread_);
  }
  if (thread.joinable()) thread.join();
}

bool Links::TakeOrders() {
  // A link that ends withdraws what it offered, which comes back to this object.
  std::erase_if(links_, [](const auto& link) { return link->Finished(); });
  MutexLock lock(mutex_);
  if (stops_) return false;
  ordered_ = !added_.empty() || !withdrawn_.empty() || (ends_ && !leaving_);
  for (auto& link : added_) links_.push_back(std::move(link));
  added_.clear();
  for (const std::string& key : withdrawn_) {
    for (const auto& link : links_) {
      if (link->key() == key) link->Withdraw();
    }
  }
  withdrawn_.clear();
  if (ends_ && !leaving_) {
    leaving_ = true;
    for (const auto& link : links_) link->LeaveForGood();
  }
  live_ = links_.size();
  if (live_ == 0) empty_.NotifyAll();
  return true;
}

bool Links::Work() {
  bool some = false;
  for (const auto& link : links_) {
    some |= link->Scan();
    some |= link->Flush();
  }
  return some;
}

void Links::Loop() {
  while (TakeOrders()) {
    bool busy = Work() || ordered_;  // an order may have been the last thing that a link waited for
    if (!busy && Clock::now() >= spin_until_) {
      for (const auto& link : links_) link->WantBell();
      busy = Work();  // what was written before the bell was wanted
    } else if (busy) {
      spin_until_ = Clock::now() + kSpin;
    } else {
      sched_yield();
      busy = true;
    }
    Sleep(busy);
  }
  for (const auto& link : links_) link->LetGoOfExchange();  // whoever ends an operation now waits for nobody
}

void Links::Sleep(bool busy) {
  watched_.assign(1, {bell_.get(), POLLIN, 0});
  std::vector<size_t> ends;
  Deadline next;
  for (const auto& link : links_) {
    link->AddTo(&watched_);
    ends.push_back(watched_.size());
    if (const Deadline at = link->NextDeadline()) next = next ? std::min(*next, *at) : *at;
  }
  int timeout = busy ? 0 : -1;
  if (!busy && next) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*next - Clock::now()).count();
    timeout = static_cast<int>(std::clamp<int64_t>(left + 1, 0, 10'000));
  }
  if (poll(watched_.data(), watched_.size(), timeout) <= 0 && !next) return;
  char rings[64];
  while (recv(bell_.get(), rings, sizeof(rings), MSG_DONTWAIT) >= 0) {
  }
  bool came = false;
  for (size_t i = 0, begin = 1; i < links_.size(); begin = ends[i++]) {
    came |= links_[i]->After(std::span(watched_).subspan(begin, ends[i] - begin));
  }
  if (!came) return;
  spin_until_ = Clock::now() + kSpin;
  Poller::Get().Kick();  // ranks of this process wait for what has come
}

}  // namespace millpond::comm
