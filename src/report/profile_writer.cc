// SPDX-License-Identifier: Apache-2.0
#include "src/report/profile_writer.h"

#include <unistd.h>

#include <atomic>
#include <ctime>
#include <sstream>

#include "src/base/files.h"

namespace millpond::report {

namespace {

namespace fs = std::filesystem;

// PROF_000001_20261116170512892_0000ABCD0001
std::string FolderName() {
  static std::atomic<uint32_t> number{0};
  const uint32_t mine = number.fetch_add(1) + 1;
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  tm parts{};
  localtime_r(&now.tv_sec, &parts);
  return Format("PROF_%06u_%04d%02d%02d%02d%02d%02d%03ld_%08X%04X", mine, parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec, now.tv_nsec / 1'000'000,
                static_cast<unsigned>(getpid()), mine);
}

}  // namespace

Status MakeProfileFolder(const std::string& path, const std::vector<uint32_t>& devices, fs::path* out_folder) {
  const fs::path folder = fs::path(path) / FolderName();
  std::error_code error;
  fs::create_directories(path, error);
  // A folder that was there already is somebody else's.
  if (!error && !fs::create_directory(folder, error) && !error) error = std::make_error_code(std::errc::file_exists);
  if (!error) fs::create_directories(folder / "host" / "data", error);
  for (const uint32_t device : devices) {
    if (!error) fs::create_directory(folder / ("device_" + std::to_string(device)), error);
  }
  MP_CHECK(!error, kInvalidFile, "the profile's folder '%s' cannot be created: %s", folder.c_str(),
           error.message().c_str());
  *out_folder = folder;
  return Ok();
}

Status WriteProfile(const Profile& profile, const fs::path& folder) {
  const auto wall = [&](uint64_t ns) -> unsigned long long { return ns + profile.to_wall_ns; };
  const fs::path data = folder / "host" / "data" / "millpond.tsv";
  std::ostringstream out;
  out << "millpond\t1\t" << getpid() << '\t' << profile.dropped << '\n';
  for (const Profile::Task& task : profile.tasks) {
    out << Format("task\t%d\t%d\t%llu\t%s\t%u\t%llu\t%llu\t%llu\n", task.device, task.stream,
                  static_cast<unsigned long long>(task.task), task.name.c_str(), task.thread, wall(task.enqueued_ns),
                  wall(task.start_ns), wall(task.end_ns));
  }
  for (const Profile::Call& call : profile.calls) {
    out << Format("call\t%u\t%s\t%llu\t%llu\n", call.thread, call.name.c_str(), wall(call.start_ns), wall(call.end_ns));
  }
  MP_RETURN_IF_ERROR(files::Write(data.string(), std::move(out).str()));
  return files::Write((folder / "host" / "start_info").string(),
                      Format("{\"collectionTimeBegin\": \"%llu\", \"clockMonotonicRaw\": \"%llu\"}\n",
                             static_cast<unsigned long long>(profile.begin_wall_ns / 1000),
                             static_cast<unsigned long long>(profile.begin_raw_ns)));
}

}  // namespace millpond::report
