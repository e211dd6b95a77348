// SPDX-License-Identifier: Apache-2.0
// The file end of a trace: bounded buffering, a file that is complete whenever it was flushed, and a full disk that
// costs nothing as long as there is room again in time.
#ifndef MILLPOND_SRC_TRACE_TRACE_FILE_H_
#define MILLPOND_SRC_TRACE_TRACE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/mutex.h"
#include "src/base/status.h"
#include "src/base/unique_fd.h"

namespace millpond::trace {

// Writes a JSON object {"traceEvents": [ ... ]} event by event. After every write to disk the file ends in its closing
// brackets (which the next write overwrites), so what a crash leaves behind parses. What cannot be written is kept in
// memory and tried again: the file then has as many whole events as fit, never brackets with nothing between them. Safe
// from any thread.
class TraceFile {
 public:
  static constexpr size_t kBufferBytes = 256 * 1024;
  // Kept while the disk takes nothing; what comes after that is lost, and counted.
  static constexpr size_t kMaxKeptBytes = size_t{64} << 20;

  // Empty `out_error` when the file is open; otherwise it says why not and every call is a no-op. "%p" in the path
  // becomes the process id. A file that another process is tracing into is left to it: this one's gets ".<pid>" added.
  TraceFile(const std::string& path, std::string* out_error);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  // `event` is one JSON object on one line.
  void Append(std::string_view event);
  // Says what the file lacks, if anything.
  void Flush();
  bool ok();  // the file is open
  const std::string& path() const { return path_; }

 private:
  // Empty and `*out_taken` when another process writes to it.
  Status OpenAlone(bool* out_taken) REQUIRES(mutex_);
  // False when something is left, and error_ says why.
  bool WriteOut() REQUIRES(mutex_);
  void KeepWhatFits(size_t written) REQUIRES(mutex_);
  const int pid_;
  std::string path_;  // settled by the constructor
  Mutex mutex_;       // guards what follows
  UniqueFd file_ GUARDED_BY(mutex_);
  std::string buffer_ GUARDED_BY(mutex_);   // what belongs at offset_ and behind
  uint64_t offset_ GUARDED_BY(mutex_) = 0;  // where the next event goes; the closing brackets lie behind it
  bool first_ GUARDED_BY(mutex_) = true;
  uint64_t last_write_ns_ GUARDED_BY(mutex_);
  uint64_t waiting_ GUARDED_BY(mutex_) = 0;  // events in buffer_
  uint64_t lost_ GUARDED_BY(mutex_) = 0;     // events that did not fit into it
  uint64_t told_ GUARDED_BY(mutex_) = 0;     // the last figure that was said to be missing
  int error_ GUARDED_BY(mutex_) = 0;         // of the last write; 0: it succeeded
};

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_TRACE_FILE_H_
