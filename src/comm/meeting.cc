// SPDX-License-Identifier: Apache-2.0
#include "src/comm/meeting.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "src/base/mutex.h"
#include "src/comm/expected.h"
#include "src/comm/links.h"
#include "src/comm/peers.h"
#include "src/device/share/broker.h"

namespace millpond::comm {

namespace {

constexpr auto kFirstPause = std::chrono::microseconds(50);
constexpr auto kLongestPause = std::chrono::milliseconds(2);
constexpr auto kLookAtProcesses = std::chrono::milliseconds(20);

struct Offers {
  Mutex mutex;
  std::map<std::string, std::pair<SharedFd, ShareName>> by_key GUARDED_BY(mutex);
};
Offers& TheOffers() {
  static auto& offers = *new Offers;  // leaked: process groups end in static destructors
  return offers;
}

bool IsThere(const World& world, uint32_t rank) {
  return world.cell(rank).state.load(std::memory_order_acquire) >= RankState::kJoined;
}

Status CalledOff(const World& world) {
  const WorldHeader& header = world.header();
  std::string reason = "[EI0015] another rank gave the meeting up";
  for (int i = 0; i < 1000 && header.reason_written.load(std::memory_order_acquire) == 0; ++i) {
    std::this_thread::sleep_for(kFirstPause);
  }
  if (header.reason_written.load(std::memory_order_acquire) != 0) reason = TextOf(header.reason, kReasonBytes);
  return {Code::kTaskTimeout, std::move(reason)};
}

// "200 (rank 0), 100 (ranks 1, 2)", empty when all ranks have the same.
template <class Value>
std::string Differing(const World& world, const Value& value) {
  std::map<std::string, std::vector<uint32_t>> ranks;
  for (uint32_t rank = 0; rank < world.ranks(); ++rank) ranks[value(world.cell(rank))].push_back(rank);
  if (ranks.size() == 1) return {};
  std::string text;
  for (const auto& [what, who] : ranks) {
    text += (text.empty() ? "" : ", ") + ("'" + what + "' (" + NameRanks(who) + ")");
  }
  return text;
}

Status CompareSettings(const World& world) {
  std::string text;
  const auto compare = [&](const char* setting, const auto& value) {
    const std::string differing = Differing(world, value);
    if (!differing.empty()) text += (text.empty() ? "" : "; ") + std::string(setting) + " is " + differing;
  };
  compare("hcclCommName", [](const RankCell& cell) { return TextOf(cell.name, kNameBytes); });
  compare("hcclBufferSize", [](const RankCell& cell) { return std::to_string(cell.buffer_mib); });
  compare("hcclDeterministic", [](const RankCell& cell) { return std::to_string(cell.deterministic); });
  MP_CHECK(text.empty(), kInvalidArgument,
           "[EI0016] the ranks were given different settings for one communicator: %s; pass equal ones on all ranks",
           text.c_str());
  return Ok();
}

}  // namespace

Status CallOff(World* world, Code code, const std::string& reason) {
  WorldHeader& header = world->header();
  auto expected = MeetingState::kOpen;
  if (header.meeting.compare_exchange_strong(expected, MeetingState::kBroken)) {
    SetText(header.reason, kReasonBytes, reason);
    header.reason_written.store(1, std::memory_order_release);
    world->Ring();
  }
  return {code, reason};
}

Status OfferWorld(std::string* out_key) {
  SharedFd file;
  MP_RETURN_IF_ERROR(World::MakeFile(&file));
  ShareOffer offer;
  offer.kind = ShareKind::kRanks;
  offer.file = file;
  offer.bytes = World::FileBytes();
  offer.any_pid = true;  // which processes the ranks will be is not known yet; they must be this user's
  ShareName name;
  MP_RETURN_IF_ERROR(Broker::Get().Publish(offer, /*short_name=*/false, &name));
  char key[kShareKeyBytes];
  name.Print(key);
  *out_key = key;
  Offers& offers = TheOffers();
  MutexLock lock(offers.mutex);
  offers.by_key.emplace(*out_key, std::pair(std::move(file), name));
  return Ok();
}

SharedFd FileOfOffer(const std::string& key) {
  Offers& offers = TheOffers();
  MutexLock lock(offers.mutex);
  const auto found = offers.by_key.find(key);
  return found != offers.by_key.end() ? found->second.first : nullptr;
}

void WithdrawWorld(const std::string& key) {
  Links::Get().Withdraw(key);
  Offers& offers = TheOffers();
  MutexLock lock(offers.mutex);
  const auto found = offers.by_key.find(key);
  if (found == offers.by_key.end()) return;
  Broker::Get().Withdraw(found->second.second).Ignore();  // it is ours, and nobody else withdraws it
  offers.by_key.erase(found);
}

Status OpenWorld(const std::string& key, uint32_t ranks, std::shared_ptr<World>* out_world) {
  ShareName name;
  MP_RETURN_IF_ERROR(ShareName::Parse(key.c_str(), ShareKind::kRanks, &name));
  const SharedFd own = FileOfOffer(key);
  ShareGrant grant;
  if (own == nullptr) {
    MP_CHECK(!Broker::Get().Owns(name), kIpc,
             "[EI0015] the ranks of this root info have met already, or gave up; call HcclGetRootInfo again");
    Status fetched = FetchShare(name, &grant);
    MP_CHECK(fetched.ok(), kIpc, "[EI0015] no communicator is waiting for this root info: %s",
             fetched.message().c_str());
    MP_CHECK(grant.bytes == World::FileBytes(), kIpc,
             "[EI0008] the process that made the root info has another version of Millpond: its ranks share %llu "
             "bytes, and here it would be %llu",
             static_cast<unsigned long long>(grant.bytes), static_cast<unsigned long long>(World::FileBytes()));
  }
  MP_RETURN_IF_ERROR(World::Map(own != nullptr ? own->get() : grant.file.get(), ranks, out_world));
  MP_CHECK((*out_world)->header().magic == kWorldMagic, kIpc,
           "[EI0008] the process that made the root info has another version of Millpond (%016llx there, %016llx here)",
           static_cast<unsigned long long>((*out_world)->header().magic), static_cast<unsigned long long>(kWorldMagic));
  return Ok();
}

Status TakeSeat(World* world, uint32_t rank, int32_t device, const RankSettings& settings) {
  uint32_t expected = 0;
  if (!world->header().ranks.compare_exchange_strong(expected, world->ranks()) && expected != world->ranks()) {
    return CallOff(world, Code::kInvalidArgument,
                   Format("[EI0015] rank %u was told of %u ranks, and others of %u; pass the same nRanks on all ranks",
                          rank, world->ranks(), expected));
  }
  RankCell& cell = world->cell(rank);
  auto absent = RankState::kAbsent;
  if (!cell.state.compare_exchange_strong(absent, RankState::kClaimed)) {
    return CallOff(world, Code::kInvalidArgument,
                   Format("[EI0015] rank %u has come twice, as process %d and as process %d; each rank joins once",
                          rank, cell.pid, static_cast<int>(getpid())));
  }
  cell.pid = getpid();
  cell.device = device;
  cell.buffer_mib = settings.buffer_mib;
  cell.deterministic = settings.deterministic;
  SetText(cell.name, kNameBytes, settings.name);
  cell.state.store(RankState::kJoined, std::memory_order_release);
  world->Ring();
  return Ok();
}

Status AwaitAll(World* world, uint32_t rank, Clock::time_point deadline, const std::function<void()>& idle) {
  const auto begin = Clock::now();
  std::chrono::microseconds pause = kFirstPause;
  auto look = begin + kLookAtProcesses;
  WorldHeader& header = world->header();
  for (;;) {
    std::vector<uint32_t> missing;
    for (uint32_t i = 0; i < world->ranks(); ++i) {
      if (!IsThere(*world, i)) missing.push_back(i);
    }
    if (missing.empty() && header.follows.load(std::memory_order_relaxed) == 0) {
      auto open = MeetingState::kOpen;
      header.meeting.compare_exchange_strong(open, MeetingState::kComplete);
    }
    const MeetingState state = header.meeting.load(std::memory_order_acquire);
    if (state == MeetingState::kComplete) {
      world->Ring();  // the other hosts are to hear of it
      return CompareSettings(*world);
    }
    if (state == MeetingState::kBroken) return CalledOff(*world);
    if (const Status wanted = Expected::Check(); !wanted.ok()) {
      return CallOff(world, Code::kStreamAborted, wanted.message());
    }
    const auto now = Clock::now();
    if (now >= deadline) {
      return CallOff(
          world, Code::kTaskTimeout,
          Format("[EI0015] %s did not come within %lld ms to the communicator of %u ranks; start all of them with the "
                 "same root info, make communicators in the same order on all ranks, or raise HCCL_CONNECT_TIMEOUT",
                 NameRanks(missing).c_str(),
                 static_cast<long long>(std::chrono::duration_cast<Milliseconds>(now - begin).count()),
                 world->ranks()));
    }
    if (now >= look) {
      look = now + kLookAtProcesses;
      for (uint32_t i = 0; i < world->ranks(); ++i) {
        const RankCell& cell = world->cell(i);
        if (i == rank || !IsThere(*world, i) || cell.host.load() != 0 || ProcessLives(cell.pid)) continue;
        CallOff(world, Code::kIpc,
                Format("[EI0015] rank %u (process %d) has ended while %s had yet to come", i, cell.pid,
                       NameRanks(missing).c_str()))
            .Ignore();  // told by the next look at the meeting
      }
    }
    if (idle) idle();
    world->Ring();  // a rank of another host may have made it a communicator of several just now
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(pause * 2, kLongestPause);
  }
}

}  // namespace millpond::comm
