// SPDX-License-Identifier: Apache-2.0
#include "src/device/host_executor.h"

#include <pthread.h>

#include <cstdio>
#include <exception>
#include <future>
#include <memory>
#include <thread>

namespace millpond {

namespace {
thread_local bool t_in_executor = false;
}

HostExecutor& HostExecutor::Get() {
  static auto& executor = *new HostExecutor;  // leaked: its threads outlive static destruction
  return executor;
}

HostExecutor& HostExecutor::ForExceptions() {
  static auto& executor = *new HostExecutor;
  return executor;
}

bool HostExecutor::InExecutor() { return t_in_executor; }

void HostExecutor::Post(std::function<void()> work) {
  bool start = false;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    if (idle_ < static_cast<int>(queue_.size()) && threads_ < kMaxThreads) {
      ++threads_;
      start = true;
    }
  }
  if (start) {
    try {
      std::thread([this] { Loop(); }).detach();
    } catch (...) {  // no thread to be had: the ones there are will come to it
      std::lock_guard lock(mutex_);
      if (--threads_ == 0) throw;
    }
  }
  wake_.notify_one();
}

void HostExecutor::RunAndWait(std::function<void()> work) {
  if (t_in_executor) {
    work();
    return;
  }
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> finished = done->get_future();
  Post([work = std::move(work), done] {
    work();
    done->set_value();
  });
  finished.wait();
}

void HostExecutor::Loop() {
  pthread_setname_np(pthread_self(), "mp-host");
  t_in_executor = true;
  std::unique_lock lock(mutex_);
  for (;;) {
    ++idle_;
    wake_.wait(lock, [this] { return !queue_.empty(); });
    --idle_;
    auto work = std::move(queue_.front());
    queue_.pop_front();
    lock.unlock();
    try {
      work();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "millpond: a host function or callback threw %s; ignored\n", error.what());
    } catch (...) {
      std::fprintf(stderr, "millpond: a host function or callback threw; ignored\n");
    }
    work = nullptr;
    lock.lock();
  }
}

}  // namespace millpond
