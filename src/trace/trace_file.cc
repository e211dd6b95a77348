// SPDX-License-Identifier: Apache-2.0
#include "src/trace/trace_file.h"

#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "src/base/files.h"
#include "src/base/format.h"
#include "src/base/mutex.h"
#include "src/trace/sink.h"

namespace millpond::trace {

namespace {

constexpr std::string_view kHeader = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
constexpr std::string_view kFooter = "\n]}\n";
constexpr std::string_view kSeparator = ",\n";  // before every event, without the comma before the first
// A crash loses at most what came in this long before it.
constexpr uint64_t kFlushNs = 200'000'000;

}  // namespace

TraceFile::TraceFile(const std::string& path, std::string* out_error)
    : pid_(static_cast<int>(getpid())), path_(path), last_write_ns_(NowNs()) {
  out_error->clear();
  const std::string pid = std::to_string(pid_);
  if (const size_t mark = path_.find("%p"); mark != std::string::npos) path_.replace(mark, 2, pid);
  bool taken = false;
  Status status = OpenAlone(&taken);
  if (status.ok() && taken) {
    path_ += "." + pid;
    status = OpenAlone(&taken);
  }
  if (!status.ok() || taken) {
    *out_error = Format("cannot write the trace file: %s",
                        taken ? ("another process writes to '" + path_ + "'").c_str() : status.message().c_str());
    return;
  }
  buffer_.reserve(kBufferBytes + 4096);
  buffer_ = kHeader;
  WriteOut();
}

Status TraceFile::OpenAlone(bool* out_taken) {
  UniqueFd file;
  MP_RETURN_IF_ERROR(files::OpenToStream(path_, &file));
  *out_taken = flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (*out_taken) return Ok();
  // Only now: what was there is an earlier run's. A device cannot be cut, and need not be.
  if (ftruncate(file.get(), 0) != 0) errno = 0;
  file_ = std::move(file);
  return Ok();
}

TraceFile::~TraceFile() { Flush(); }

void TraceFile::Append(std::string_view event) {
  MutexLock lock(mutex_);
  if (!file_) return;
  if (buffer_.size() + event.size() > kMaxKeptBytes) {
    ++lost_;
    return;
  }
  buffer_ += first_ ? kSeparator.substr(1) : kSeparator;
  first_ = false;
  buffer_ += event;
  ++waiting_;
  // A disk that took nothing is not asked again with every event.
  const bool is_due = NowNs() - last_write_ns_ > kFlushNs;
  if (is_due || (error_ == 0 && buffer_.size() >= kBufferBytes)) WriteOut();
}

void TraceFile::Flush() {
  MutexLock lock(mutex_);
  if (!file_ || buffer_.empty() || WriteOut() || told_ == waiting_ + lost_) return;
  told_ = waiting_ + lost_;
  std::fprintf(stderr,
               "millpond: the trace file '%s' lacks the last %llu events: %s; make room, or trace to another disk\n",
               path_.c_str(), static_cast<unsigned long long>(told_), std::strerror(error_));
}

bool TraceFile::ok() {
  MutexLock lock(mutex_);
  return static_cast<bool>(file_);
}

bool TraceFile::WriteOut() {
  last_write_ns_ = NowNs();
  // A forked child has a copy of the buffer and the descriptor; the trace is its parent's.
  if (pid_ != getpid()) {
    buffer_.clear();
    return true;
  }
  const size_t bytes = buffer_.size();
  buffer_ += kFooter;
  size_t written = 0;
  int error = 0;
  while (error == 0 && written < buffer_.size()) {
    const ssize_t count = ::pwrite(file_.get(), buffer_.data() + written, buffer_.size() - written,
                                   static_cast<off_t>(offset_ + written));
    if (count > 0) written += static_cast<size_t>(count);
    if (count == 0 || (count < 0 && errno != EINTR)) error = count < 0 ? errno : ENOSPC;
  }
  buffer_.resize(bytes);
  if (error != 0) {
    KeepWhatFits(written);
    // Once for each time that it begins: a full disk must not flood the program's output.
    if (error_ == 0) {
      std::fprintf(stderr,
                   "millpond: writing the trace file '%s' failed: %s; the next %zu MiB are kept in memory and tried "
                   "again\n",
                   path_.c_str(), std::strerror(error), kMaxKeptBytes >> 20);
    }
    error_ = error;
    return false;
  }
  offset_ += bytes;
  buffer_.clear();
  waiting_ = 0;
  error_ = 0;
  if (lost_ == 0) return true;
  buffer_ = Format(",\n{\"name\":\"events_lost\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"events\":%llu}}", pid_,
                   static_cast<unsigned long long>(lost_));
  lost_ = 0;
  return WriteOut();
}

// The first `written` bytes of buffer_ are in the file, where there is room for them: as many whole events of these as
// leave a place for the brackets stay.
void TraceFile::KeepWhatFits(size_t written) {
  const size_t room = written < kFooter.size() ? 0 : written - kFooter.size();
  size_t end = buffer_.rfind(kSeparator, room);
  if (end == std::string::npos) end = 0;
  const auto kept = std::count(buffer_.begin(), buffer_.begin() + static_cast<ptrdiff_t>(end), '\n');
  waiting_ -= static_cast<uint64_t>(kept);
  offset_ += end;
  buffer_.erase(0, end);
  if (offset_ <= kHeader.size()) {
    // No event: nothing rather than a trace that seems to say that nothing happened.
    if (offset_ != 0) buffer_.insert(0, kHeader);
    offset_ = 0;
    if (ftruncate(file_.get(), 0) != 0) errno = 0;
    return;
  }
  if (::pwrite(file_.get(), kFooter.data(), kFooter.size(), static_cast<off_t>(offset_)) < 0 ||
      ftruncate(file_.get(), static_cast<off_t>(offset_ + kFooter.size())) != 0) {
    errno = 0;  // Nothing more can be done: viewers accept a list without its end.
  }
}

}  // namespace millpond::trace
