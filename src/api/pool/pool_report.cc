// SPDX-License-Identifier: Apache-2.0
// Statistics, snapshots and plans: what a pool holds, and what is read from and written to files.
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "src/api/pool/pool_table.h"

using namespace millpond;            // NOLINT: a shim is a page of delegation
using namespace millpond::pool_api;  // NOLINT

namespace {

struct Closer {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Closer>;

Status WriteFile(const char* path, const std::string& text) {
  File file(std::fopen(path, "wb"));
  MP_CHECK(file != nullptr, kInvalidFile, "'%s' cannot be opened for writing: %s", path, std::strerror(errno));
  const bool written = std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
  const bool closed = std::fclose(file.release()) == 0;
  MP_CHECK(written && closed, kInvalidFile, "'%s' could not be written whole (%zu bytes): %s", path, text.size(),
           std::strerror(errno));
  return Ok();
}

Status ReadFile(const char* path, std::string* out_text) {
  File file(std::fopen(path, "rb"));
  MP_CHECK(file != nullptr, kInvalidFile, "'%s' cannot be opened: %s", path, std::strerror(errno));
  char buffer[65536];
  size_t got = 0;
  while ((got = std::fread(buffer, 1, sizeof(buffer), file.get())) > 0) out_text->append(buffer, got);
  MP_CHECK(std::ferror(file.get()) == 0, kInvalidFile, "'%s' cannot be read: %s", path, std::strerror(errno));
  return Ok();
}

Status WritePlan(const pool::Recording& recording, const char* path) {
  const pool::Plan plan = pool::MakePlan(recording, pool::Pool::kAlignment);
  MP_RETURN_IF_ERROR(plan.Validate(recording, pool::Pool::kAlignment));
  return WriteFile(path, plan.ToText());
}

millpondPoolStatistics Translate(const pool::Statistics& from) {
  millpondPoolStatistics to = {};
  to.liveBytes = from.live_bytes;
  to.liveBytesHigh = from.live_bytes_high;
  to.usedBytes = from.used_bytes;
  to.usedBytesHigh = from.used_bytes_high;
  to.reservedBytes = from.reserved_bytes;
  to.reservedBytesHigh = from.reserved_bytes_high;
  to.pendingBytes = from.pending_bytes;
  to.strandedBytes = from.stranded_bytes;
  to.largestFreeBytes = from.largest_free_bytes;
  to.liveBlocks = from.live_blocks;
  to.allocations = from.allocations;
  to.frees = from.frees;
  to.pagesTaken = from.pages_taken;
  to.pagesGiven = from.pages_given;
  to.pagesMoved = from.pages_moved;
  to.waits = from.waits;
  to.retries = from.retries;
  to.failures = from.failures;
  to.planned = from.planned;
  to.diverged = from.diverged;
  return to;
}

}  // namespace

aclError millpondPoolGetStatistics(millpondPool pool, millpondPoolStatistics* statistics) {
  return WithPool("millpondPoolGetStatistics", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(statistics != nullptr, "statistics is null");
    // A caller of an older header has a shorter struct, one of a newer header a longer: each gets what both know.
    const size_t size = statistics->size;
    MP_REQUIRE(size >= 2 * sizeof(size_t),
               "statistics->size is %zu; set it to sizeof(millpondPoolStatistics), here %zu", size,
               sizeof(millpondPoolStatistics));
    millpondPoolStatistics ours = Translate(entry.pool->GetStatistics());
    ours.size = size < sizeof(ours) ? size : sizeof(ours);
    std::memcpy(statistics, &ours, ours.size);
    return Ok();
  });
}

aclError millpondPoolResetHighs(millpondPool pool) {
  return WithPool("millpondPoolResetHighs", pool, [&](Entry& entry) -> Status {
    entry.pool->ResetHighs();
    return Ok();
  });
}

aclError millpondPoolSaveSnapshot(millpondPool pool, const char* path, const char* format) {
  return WithPool("millpondPoolSaveSnapshot", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(path != nullptr, "path is null; name the file to write");
    MP_REQUIRE(format != nullptr, "format is null; it is 'json' or 'memory_viz'");
    const bool json = std::strcmp(format, "json") == 0;
    MP_REQUIRE(json || std::strcmp(format, "memory_viz") == 0, "format is '%s'; it is 'json' or 'memory_viz'", format);
    const pool::Snapshot snapshot = entry.pool->TakeSnapshot();
    return WriteFile(path, json ? pool::ToJson(snapshot) : pool::ToMemoryVizPickle(snapshot));
  });
}

aclError millpondPoolStartRecording(millpondPool pool) {
  return WithPool("millpondPoolStartRecording", pool, [&](Entry& entry) { return entry.pool->StartRecording(); });
}

aclError millpondPoolStopRecording(millpondPool pool, const char* recording_path, const char* plan_path) {
  return WithPool("millpondPoolStopRecording", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(recording_path != nullptr || plan_path != nullptr,
               "recording_path and plan_path are both null; name at least one file to write");
    pool::Recording recording;
    MP_RETURN_IF_ERROR(entry.pool->StopRecording(&recording));
    if (recording_path != nullptr) MP_RETURN_IF_ERROR(WriteFile(recording_path, recording.ToText()));
    return plan_path != nullptr ? WritePlan(recording, plan_path) : Ok();
  });
}

aclError millpondPoolMakePlan(const char* recording_path, const char* plan_path) {
  return Guard("millpondPoolMakePlan", [&]() -> Status {
    MP_REQUIRE(recording_path != nullptr, "recording_path is null; name a file that millpondPoolStopRecording wrote");
    MP_REQUIRE(plan_path != nullptr, "plan_path is null; name the file to write");
    std::string text;
    MP_RETURN_IF_ERROR(ReadFile(recording_path, &text));
    pool::Recording recording;
    MP_RETURN_IF_ERROR(pool::Recording::Parse(text, &recording).Prefixed(recording_path));
    return WritePlan(recording, plan_path);
  });
}

aclError millpondPoolFollow(millpondPool pool, const char* plan_path) {
  return WithPool("millpondPoolFollow", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(plan_path != nullptr, "plan_path is null; name a file that millpondPoolMakePlan wrote");
    std::string text;
    MP_RETURN_IF_ERROR(ReadFile(plan_path, &text));
    pool::Plan plan;
    MP_RETURN_IF_ERROR(pool::Plan::Parse(text, &plan).Prefixed(plan_path));
    return entry.pool->Follow(plan);
  });
}

aclError millpondPoolBeginRun(millpondPool pool) {
  return WithPool("millpondPoolBeginRun", pool, [&](Entry& entry) { return entry.pool->BeginRun(); });
}

aclError millpondPoolEndRun(millpondPool pool) {
  return WithPool("millpondPoolEndRun", pool, [&](Entry& entry) { return entry.pool->EndRun(); });
}

aclError millpondPoolUnfollow(millpondPool pool) {
  return WithPool("millpondPoolUnfollow", pool, [&](Entry& entry) { return entry.pool->Unfollow(); });
}
