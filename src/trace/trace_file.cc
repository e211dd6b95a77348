// SPDX-License-Identifier: Apache-2.0
#include "src/trace/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "src/base/format.h"
#include "src/trace/sink.h"

namespace millpond::trace {

namespace {

constexpr std::string_view kHeader = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
constexpr std::string_view kFooter = "\n]}\n";
// A crash loses at most what came in this long before it.
constexpr uint64_t kFlushNs = 200'000'000;

}  // namespace

TraceFile::TraceFile(const std::string& path, std::string* out_error)
    : pid_(static_cast<int>(getpid())), path_(path), last_write_ns_(NowNs()) {
  out_error->clear();
  const std::string pid = std::to_string(pid_);
  if (const size_t mark = path_.find("%p"); mark != std::string::npos) path_.replace(mark, 2, pid);
  if (!OpenAlone() && errno == EWOULDBLOCK) {
    path_ += "." + pid;
    OpenAlone();
  }
  if (fd_ < 0) {
    *out_error = Format("cannot write the trace file '%s': %s", path_.c_str(), std::strerror(errno));
    return;
  }
  buffer_.reserve(kBufferBytes + 4096);
  buffer_ = kHeader;
  WriteOut();
}

bool TraceFile::OpenAlone() {
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) return false;
  if (flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(fd_);
    fd_ = -1;
    errno = EWOULDBLOCK;
    return false;
  }
  // Only now: what was there is an earlier run's. A pipe or a device cannot be cut, and need not be.
  if (ftruncate(fd_, 0) != 0) errno = 0;
  return true;
}

TraceFile::~TraceFile() {
  Flush();
  if (fd_ >= 0) ::close(fd_);
}

void TraceFile::Append(std::string_view event) {
  std::lock_guard lock(mutex_);
  if (fd_ < 0) return;
  if (!first_) buffer_ += ",\n";
  first_ = false;
  buffer_ += event;
  if (buffer_.size() >= kBufferBytes || NowNs() - last_write_ns_ > kFlushNs) WriteOut();
}

void TraceFile::Flush() {
  std::lock_guard lock(mutex_);
  if (fd_ >= 0 && !buffer_.empty()) WriteOut();
}

bool TraceFile::ok() {
  std::lock_guard lock(mutex_);
  return fd_ >= 0;
}

void TraceFile::WriteOut() {
  last_write_ns_ = NowNs();
  // A forked child has a copy of the buffer and the descriptor; the trace is its parent's.
  if (pid_ != getpid()) {
    buffer_.clear();
    return;
  }
  const uint64_t next = offset_ + buffer_.size();
  buffer_ += kFooter;
  std::string_view left = buffer_;
  uint64_t at = offset_;
  while (!left.empty()) {
    const ssize_t written = ::pwrite(fd_, left.data(), left.size(), static_cast<off_t>(at));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      Fail(written < 0 ? errno : ENOSPC);
      return;
    }
    at += static_cast<uint64_t>(written);
    left.remove_prefix(static_cast<size_t>(written));
  }
  offset_ = next;
  buffer_.clear();
}

// A full disk must not end the program it traces: said once, then the trace stops at the last complete write.
void TraceFile::Fail(int error) {
  std::fprintf(stderr, "millpond: writing the trace file '%s' failed: %s; the trace ends here\n", path_.c_str(),
               std::strerror(error));
  if (ftruncate(fd_, static_cast<off_t>(offset_)) == 0 &&
      ::pwrite(fd_, kFooter.data(), kFooter.size(), static_cast<off_t>(offset_)) < 0) {
    // Nothing more can be done: viewers accept a list without its end.
  }
  ::close(fd_);
  fd_ = -1;
  buffer_.clear();
}

}  // namespace millpond::trace
