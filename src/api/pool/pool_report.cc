// SPDX-License-Identifier: Apache-2.0
// Statistics, snapshots and plans: what a pool holds, and what is read from and written to files.
#include <cstring>
#include <string>

#include "src/api/pool/pool_table.h"
#include "src/base/files.h"

using namespace millpond;            // NOLINT: a shim is a page of delegation
using namespace millpond::pool_api;  // NOLINT

namespace {

// A recording of a million blocks has some 30 MB.
constexpr uint64_t kMaxBytes = uint64_t{4} << 30;

// A recording may have taken hours to make.
Status WriteText(const char* path, const std::string& text) {
  return files::Write(path, text, files::Survives::kPowerLoss);
}

Status WritePlan(const pool::Recording& recording, const char* path) {
  pool::Plan plan;
  MP_RETURN_IF_ERROR(pool::MakePlan(recording, pool::Pool::kAlignment, &plan));
  return WriteText(path, plan.ToText());
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
    // A caller built with an older header has a shorter struct, one with a newer header a longer one: fill the common
    // part.
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
    MP_REQUIRE(path != nullptr, "path is null; pass the file to write");
    MP_REQUIRE(format != nullptr, "format is null; pass 'json' or 'memory_viz'");
    const bool json = std::strcmp(format, "json") == 0;
    MP_REQUIRE(json || std::strcmp(format, "memory_viz") == 0, "format is '%s'; it must be 'json' or 'memory_viz'",
               format);
    const pool::Snapshot snapshot = entry.pool->TakeSnapshot();
    return files::Write(path, json ? pool::ToJson(snapshot) : pool::ToMemoryVizPickle(snapshot));
  });
}

aclError millpondPoolStartRecording(millpondPool pool) {
  return WithPool("millpondPoolStartRecording", pool, [&](Entry& entry) { return entry.pool->StartRecording(); });
}

aclError millpondPoolStopRecording(millpondPool pool, const char* recording_path, const char* plan_path) {
  return WithPool("millpondPoolStopRecording", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(recording_path != nullptr || plan_path != nullptr,
               "recording_path and plan_path are both null; pass at least one file to write");
    return entry.pool->StopRecording([&](const pool::Recording& recording) -> Status {
      Status status = recording_path != nullptr ? WriteText(recording_path, recording.ToText()) : Ok();
      if (status.ok() && plan_path != nullptr) status = WritePlan(recording, plan_path);
      if (status.ok()) return status;
      return {status.code(), Format("%s; the recording (%zu steps) is kept: call millpondPoolStopRecording again with "
                                    "a file that can be written",
                                    status.message().c_str(), recording.steps.size())};
    });
  });
}

aclError millpondPoolMakePlan(const char* recording_path, const char* plan_path) {
  return Guard("millpondPoolMakePlan", [&]() -> Status {
    MP_REQUIRE(recording_path != nullptr, "recording_path is null; pass a file that millpondPoolStopRecording wrote");
    MP_REQUIRE(plan_path != nullptr, "plan_path is null; pass the file to write");
    std::string text;
    MP_RETURN_IF_ERROR(files::Read(recording_path, "the recording", kMaxBytes, &text));
    pool::Recording recording;
    MP_RETURN_IF_ERROR(pool::Recording::Parse(text, &recording).Prefixed(recording_path));
    return WritePlan(recording, plan_path);
  });
}

aclError millpondPoolFollow(millpondPool pool, const char* plan_path) {
  return WithPool("millpondPoolFollow", pool, [&](Entry& entry) -> Status {
    MP_REQUIRE(plan_path != nullptr, "plan_path is null; pass a file that millpondPoolMakePlan wrote");
    std::string text;
    MP_RETURN_IF_ERROR(files::Read(plan_path, "the plan", kMaxBytes, &text));
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
