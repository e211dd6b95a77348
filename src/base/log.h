// SPDX-License-Identifier: Apache-2.0
// The log, controlled by CANN's own environment variables (docs/compat.md, "Log and dump variables"):
// ASCEND_GLOBAL_LOG_LEVEL, ASCEND_MODULE_LOG_LEVEL, ASCEND_LOG_PRINT_TO_STDOUT (and its old name
// ASCEND_SLOG_PRINT_TO_STDOUT), ASCEND_PROCESS_LOG_PATH, ASCEND_WORK_PATH, ASCEND_HOST_LOG_FILE_NUM. Quiet by default:
// nothing on stdout or stderr, and neither folder nor file is created before there is a line to write. Lines are always
// written immediately, so ASCEND_LOG_SYNC_SAVE changes nothing; there are no device-side logs to wait for
// (ASCEND_LOG_DEVICE_FLUSH_TIMEOUT).
#ifndef MILLPOND_SRC_BASE_LOG_H_
#define MILLPOND_SRC_BASE_LOG_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace millpond::log {

enum class Level : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kNone = 4 };

// Module names as they appear in a line and in ASCEND_MODULE_LOG_LEVEL.
inline constexpr const char* kRuntime = "RUNTIME";
inline constexpr const char* kAscendCl = "ASCENDCL";
inline constexpr const char* kApp = "APP";
inline constexpr const char* kGe = "GE";

struct Where {
  const char* function = nullptr;
  const char* file = nullptr;
  uint32_t line = 0;
};

// True when a line of this level would be written. Cheap: a compare after the first call.
bool Enabled(Level level, const char* module);
// One line. A failure to write is silent: a log must not break the program.
void Write(Level level, const char* module, std::string_view text, Where where = {});

// The variables' settings. Exposed for tests; the process's own settings are read once, at the first use.
struct Settings {
  Level level = Level::kError;
  std::map<std::string, Level, std::less<>> module_levels;
  bool to_stdout = false;
  std::string folder;  // where plog files go, such as ~/ascend/log/debug/plog; empty when there is no home
  uint32_t max_files = 10;

  Level LevelOf(std::string_view module) const;
};
Settings SettingsFromEnvironment();

// Files of one process in one folder: plog-<pid>_<time>.log, a new one after `max_bytes`, the oldest deleted beyond
// `max_files`. Not thread-safe.
class FileRing {
 public:
  static constexpr uint64_t kMaxBytes = 20 * 1024 * 1024;

  FileRing(std::string folder, uint32_t max_files, uint64_t max_bytes = kMaxBytes)
      : folder_(std::move(folder)), max_files_(max_files), max_bytes_(max_bytes) {}
  ~FileRing();
  FileRing(const FileRing&) = delete;
  FileRing& operator=(const FileRing&) = delete;

  // False when it could not be written (no folder, disk full).
  bool Append(std::string_view line);

 private:
  bool OpenNext();
  void DeleteOldest();

  const std::string folder_;
  const uint32_t max_files_;
  const uint64_t max_bytes_;
  int fd_ = -1;
  uint64_t bytes_ = 0;
  int pid_ = 0;  // a forked child starts files of its own
};

}  // namespace millpond::log

#endif  // MILLPOND_SRC_BASE_LOG_H_
