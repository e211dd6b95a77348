// SPDX-License-Identifier: Apache-2.0
#include "src/base/log.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <optional>
#include <vector>

#include "src/base/files.h"
#include "src/base/folder.h"
#include "src/base/format.h"
#include "src/base/mutex.h"

namespace millpond::log {

namespace fs = std::filesystem;

namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::optional<Level> ParseLevel(std::string_view text) {
  if (text.size() != 1 || text[0] < '0' || text[0] > '4') return std::nullopt;
  return static_cast<Level>(text[0] - '0');
}

bool IsModuleName(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
}

// "TBE=0:RUNTIME=1". Documented: one bad part and the whole variable is ignored.
std::map<std::string, Level, std::less<>> ParseModuleLevels(std::string_view text) {
  std::map<std::string, Level, std::less<>> levels;
  while (!text.empty()) {
    const size_t colon = text.find(':');
    const std::string_view part = text.substr(0, colon);
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) return {};
    const auto level = ParseLevel(part.substr(equals + 1));
    const std::string_view name = part.substr(0, equals);
    if (!level || !IsModuleName(name)) return {};
    levels.emplace(name, *level);
    text = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
  }
  return levels;
}

std::string FolderFromEnvironment() {
  if (const std::string path = Environment("ASCEND_PROCESS_LOG_PATH"); !path.empty()) return path + "/debug/plog";
  if (const std::string work = Environment("ASCEND_WORK_PATH"); !work.empty()) return work + "/log/debug/plog";
  if (const std::string home = Environment("HOME"); !home.empty()) return home + "/ascend/log/debug/plog";
  return {};
}

std::string TimeText(const char* format, const char* tail_format) {
  timeval now{};
  gettimeofday(&now, nullptr);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  char seconds[64];
  strftime(seconds, sizeof(seconds), format, &parts);
  const int millis = static_cast<int>(now.tv_usec / 1000);
  const int micros = static_cast<int>(now.tv_usec % 1000);
  char tail[32];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  snprintf(tail, sizeof(tail), tail_format, millis, micros);
#pragma GCC diagnostic pop
  return std::string(seconds) + tail;
}

const char* LevelName(Level level) {
  switch (level) {
    case Level::kDebug:
      return "DEBUG";
    case Level::kInfo:
      return "INFO";
    case Level::kWarning:
      return "WARNING";
    case Level::kError:
      return "ERROR";
    case Level::kNone:
      return "NULL";
  }
  return "NULL";
}

struct Logger {
  Settings settings = SettingsFromEnvironment();
  Mutex mutex;  // guards ring
  FileRing ring GUARDED_BY(mutex){settings.folder, settings.max_files};
};

Logger& GetLogger() {
  static Logger& logger = *new Logger;  // leaked: used from static destructors too
  return logger;
}

std::string Line(Level level, const char* module, std::string_view text, const Where& where) {
  std::string line = Format("[%s] %s(%d,%s):%s ", LevelName(level), module, static_cast<int>(getpid()),
                            program_invocation_short_name, TimeText("%Y-%m-%d-%H:%M:%S", ".%03d.%03d").c_str());
  if (where.file != nullptr) {
    line += Format("[%s:%u]", fs::path(where.file).filename().c_str(), where.line);
  }
  line += Format("%ld ", syscall(SYS_gettid));
  if (where.function != nullptr) line += std::string(where.function) + ": ";
  line += text;
  if (line.back() != '\n') line += '\n';
  return line;
}

}  // namespace

Level Settings::LevelOf(std::string_view module) const {
  const auto found = module_levels.find(module);
  return found == module_levels.end() ? level : found->second;
}

Settings SettingsFromEnvironment() {
  Settings settings;
  settings.level = ParseLevel(Environment("ASCEND_GLOBAL_LOG_LEVEL")).value_or(Level::kError);
  settings.module_levels = ParseModuleLevels(Environment("ASCEND_MODULE_LOG_LEVEL"));
  settings.to_stdout =
      Environment("ASCEND_LOG_PRINT_TO_STDOUT") == "1" || Environment("ASCEND_SLOG_PRINT_TO_STDOUT") == "1";
  settings.folder = FolderFromEnvironment();
  const auto files = ParseInt(Environment("ASCEND_HOST_LOG_FILE_NUM"));
  if (files && *files >= 1 && *files <= 1000) settings.max_files = static_cast<uint32_t>(*files);
  return settings;
}

bool Enabled(Level level, const char* module) { return level >= GetLogger().settings.LevelOf(module); }

void Write(Level level, const char* module, std::string_view text, Where where) {
  try {
    Logger& logger = GetLogger();
    if (level == Level::kNone || level < logger.settings.LevelOf(module)) return;
    const std::string line = Line(level, module, text, where);
    MutexLock lock(logger.mutex);
    if (logger.settings.to_stdout) {
      // Straight to the descriptor: stdio's buffer belongs to the program.
      files::WriteAll(STDOUT_FILENO, line);
      return;
    }
    logger.ring.Append(line);
  } catch (const std::exception&) {  // NOLINT: no memory for the line; a log must not break the program
  }
}

FileRing::~FileRing() {
  if (fd_ >= 0) ::close(fd_);
}

bool FileRing::Append(std::string_view line) {
  if (folder_.empty()) return false;
  const bool forked = fd_ >= 0 && pid_ != getpid();
  if (fd_ < 0 || forked || (bytes_ > 0 && bytes_ + line.size() > max_bytes_)) {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
    if (!OpenNext()) return false;
  }
  if (!files::WriteAll(fd_, line)) return false;
  bytes_ += line.size();
  return true;
}

bool FileRing::OpenNext() {
  std::error_code error;
  fs::create_directories(folder_, error);
  pid_ = static_cast<int>(getpid());
  for (int attempt = 0; attempt < 100; ++attempt) {
    // The millisecond makes the name unique: at most one file starts in each.
    const std::string name = Format("plog-%d_%s.log", pid_, TimeText("%Y%m%d%H%M%S", "%03d").c_str());
    UniqueFd made;
    const bool failed = !files::CreateToAppend(fs::path(folder_) / name, &made);
    fd_ = made.Release();
    if (!failed || errno != EEXIST) break;
    usleep(1000);
  }
  bytes_ = 0;
  if (fd_ < 0) return false;
  DeleteOldest();
  return true;
}

void FileRing::DeleteOldest() {
  const std::string prefix = Format("plog-%d_", pid_);
  std::vector<fs::path> mine;
  ForEachName(folder_.c_str(), [&](std::string_view name) {
    if (name.starts_with(prefix)) mine.push_back(fs::path(folder_) / name);
  });
  std::sort(mine.begin(), mine.end());
  std::error_code error;
  for (size_t i = 0; i + max_files_ < mine.size(); ++i) fs::remove(mine[i], error);
}

}  // namespace millpond::log
