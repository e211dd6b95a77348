// SPDX-License-Identifier: Apache-2.0
// The file end of a trace: bounded buffering, one report of a write error, a file that is complete whenever it was
// flushed.
#ifndef MILLPOND_SRC_TRACE_TRACE_FILE_H_
#define MILLPOND_SRC_TRACE_TRACE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace millpond::trace {

// Writes a JSON object {"traceEvents": [ ... ]} event by event. After every write to disk the file ends in its closing
// brackets (which the next write overwrites), so what a crash leaves behind parses. Safe from any thread.
class TraceFile {
 public:
  static constexpr size_t kBufferBytes = 256 * 1024;

  // Empty `out_error` when the file is open; otherwise it says why not and every call is a no-op. "%p" in the path
  // becomes the process id. A file that another process is tracing into is left to it: this one's gets ".<pid>" added.
  TraceFile(const std::string& path, std::string* out_error);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // `event` is one JSON object, without separators.
  void Append(std::string_view event);
  void Flush();
  bool ok();
  const std::string& path() const { return path_; }

 private:
  // False, with errno set, when the file at path_ cannot be opened or belongs to another process.
  bool OpenAlone();
  void WriteOut();  // pre: mutex_ held
  void Fail(int error);

  const int pid_;
  std::string path_;  // settled by the constructor
  std::mutex mutex_;  // guards what follows
  int fd_ = -1;
  std::string buffer_;
  uint64_t offset_ = 0;  // where the next event goes; the closing brackets lie behind it
  bool first_ = true;
  uint64_t last_write_ns_;
};

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_TRACE_FILE_H_
