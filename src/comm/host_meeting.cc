// SPDX-License-Identifier: Apache-2.0
#include "src/comm/host_meeting.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "src/base/files.h"
#include "src/base/format.h"
#include "src/base/options.h"
#include "src/base/random_bytes.h"
#include "src/base/sha256.h"
#include "src/comm/expected.h"
#include "src/comm/handshake.h"
#include "src/comm/links.h"
#include "src/comm/local_door.h"
#include "src/comm/network.h"

namespace millpond::comm {

namespace {

constexpr auto kRetry = std::chrono::milliseconds(2);
constexpr auto kDoorCloses = std::chrono::seconds(1);  // of this table's last communicator, whose ranks have met
constexpr uint32_t kTablePort = 60000;                 // HCCL_IF_BASE_PORT's default

std::string_view SecretOf(const MeetingPlace& place) {
  return {reinterpret_cast<const char*>(place.secret), kSecretBytes};
}

// Where the ranks of one host get the key to its world; who does not have the secret cannot know the name.
std::string DoorOf(const MeetingPlace& place, const std::string& identity) {
  const std::string text = Format("door of %s for user %u", identity.c_str(), static_cast<unsigned>(geteuid()));
  return "millpond-host-" + HexOf(HmacSha256(SecretOf(place), text), 16);
}

Status Lead(MeetingPlace place, const std::string& identity, uint32_t ranks, bool is_new, UniqueFd door,
            Clock::time_point deadline, std::string* out_key) {
  UniqueFd root;
  MP_RETURN_IF_ERROR(ConnectTo(place.address, place.port, is_new, deadline, &root));
  Tune(root.get());
  MP_RETURN_IF_ERROR(ShowSecret(root.get(), place.secret, Format("%s, port %u", place.address, place.port), deadline));
  MP_RETURN_IF_ERROR(OfferWorld(out_key));
  std::shared_ptr<World> world;
  Status status = OpenWorld(*out_key, ranks, &world);
  if (status.ok()) {
    world->header().follows.store(1);
    world->header().spans.store(1);
    SetText(world->header().identity, sizeof(world->header().identity), identity);
    SetText(place.key, sizeof(place.key), *out_key);
    // For hosts that come later; where it cannot be, they and this one speak through the root's.
    UniqueFd listener;
    uint32_t port = 0;
    ListenAt(OwnAddressOf(root.get()), 0, &listener, &port).Ignore();
    status = Links::Get().Add(
        std::make_unique<Link>(place, std::move(world), std::move(root), std::move(listener), port, std::move(door)));
  }
  if (!status.ok()) WithdrawWorld(*out_key);
  return status;
}

// `is_new`: the place may come to be later.
Status ComeFromAfar(const MeetingPlace& place, const std::string& identity, uint32_t ranks, bool is_new,
                    Clock::time_point deadline, std::shared_ptr<World>* out_world) {
  const std::string name = DoorOf(place, identity);
  for (;;) {
    UniqueFd door;
    bool taken = false;
    MP_RETURN_IF_ERROR(OpenDoor(name, &door, &taken));
    if (!taken) {
      std::string key;
      MP_RETURN_IF_ERROR(Lead(place, identity, ranks, is_new, std::move(door), deadline, &key));
      return OpenWorld(key, ranks, out_world);
    }
    bool found = false;  // false: whoever led has given up, or ended, or led to an earlier communicator of the table
    MP_RETURN_IF_ERROR(AskForWorld(name, ranks, deadline, out_world, &found));
    if (found) return Ok();
    MP_CHECK(Clock::now() < deadline, kTaskTimeout,
             "[EI0015] the process that speaks for this host did not reach rank 0's host at %s, port %u", place.address,
             place.port);
    MP_RETURN_IF_ERROR(Expected::Check());
    std::this_thread::sleep_for(kRetry);
  }
}

}  // namespace

Status OfferPlace(bool listens, const std::string& address, const std::string& identity, MeetingPlace* out_place) {
  *out_place = {};
  SetText(out_place->host, sizeof(out_place->host), identity);
  FillRandom(out_place->secret, kSecretBytes);
  std::string chosen = address;
  UniqueFd listener;
  if (listens) {
    if (chosen.empty()) MP_RETURN_IF_ERROR(ChooseAddress(&chosen));
    MP_RETURN_IF_ERROR(ListenAt(chosen, 0, &listener, &out_place->port));
    SetText(out_place->address, sizeof(out_place->address), chosen);
  }
  std::string key;
  MP_RETURN_IF_ERROR(OfferWorld(&key));
  SetText(out_place->key, sizeof(out_place->key), key);
  if (!listens) return Ok();
  Status status =
      Links::Get().Add(std::make_unique<Link>(*out_place, FileOfOffer(key), std::move(listener), UniqueFd()));
  if (!status.ok()) WithdrawWorld(key);
  return status;
}

Status OpenPlace(const MeetingPlace& place, const std::string& identity, uint32_t ranks, Clock::time_point deadline,
                 std::shared_ptr<World>* out_world) {
  if (TextOf(place.host, sizeof(place.host)) == identity) {
    return OpenWorld(TextOf(place.key, sizeof(place.key)), ranks, out_world);
  }
  MP_CHECK(place.address[0] != '\0', kIpc,
           "[EI0015] the root info was made on another host, where nothing listens for ranks of other hosts; set "
           "HCCL_IF_IP or HCCL_SOCKET_IFNAME, or MILLPOND_RANK_NETWORK=1, where HcclGetRootInfo is called");
  return ComeFromAfar(place, identity, ranks, /*is_new=*/false, deadline, out_world);
}

namespace {

Status LeadByTable(MeetingPlace place, const std::string& identity, std::string* out_key) {
  UniqueFd door, listener;
  bool taken = false;
  const auto until = Clock::now() + kDoorCloses;
  do {
    MP_RETURN_IF_ERROR(OpenDoor(DoorOf(place, identity), &door, &taken));
    if (taken) std::this_thread::sleep_for(kRetry);
  } while (taken && Clock::now() < until);
  MP_CHECK(!taken, kIpc,
           "[EI0019] the meeting place of this rank table is taken on this host; another job of this user has the same "
           "table, end it or give this job a table of its own");
  MP_RETURN_IF_ERROR(ListenAt(place.address, place.port, &listener, &place.port));
  MP_RETURN_IF_ERROR(OfferWorld(out_key));
  SetText(place.key, sizeof(place.key), *out_key);
  Status status =
      Links::Get().Add(std::make_unique<Link>(place, FileOfOffer(*out_key), std::move(listener), std::move(door)));
  if (!status.ok()) WithdrawWorld(*out_key);
  return status;
}

}  // namespace

namespace {

constexpr uint64_t kMaxSecretBytes = 64 * 1024;

// The table's text lets in whoever has the table; a file beside it, whoever has that too.
Status SecretOfTable(const RankTable& table, MeetingPlace* place) {
  const std::string text = "ranks of the table " + table.text;
  Digest secret = Sha256(text);
  if (const std::string& path = GetOptions().rank_secret; !path.empty()) {
    struct stat found {};
    MP_CHECK(stat(path.c_str(), &found) == 0 && (found.st_mode & 077) == 0, kInvalidFile,
             "[EI0001] MILLPOND_RANK_SECRET is '%s', %s; make it a file that only its owner can read (chmod 600)",
             path.c_str(), found.st_mode == 0 ? "which is not there" : "which others can read");
    std::string key;
    MP_RETURN_IF_ERROR(files::Read(path, "the ranks' secret", kMaxSecretBytes, &key));
    MP_CHECK(!key.empty(), kInvalidFile, "[EI0001] MILLPOND_RANK_SECRET is '%s', which is empty", path.c_str());
    secret = HmacSha256(key, text);
  }
  std::memcpy(place->secret, secret.data(), kSecretBytes);
  return Ok();
}

}  // namespace

Status MeetByServers(const RankTable& table, uint32_t rank, int32_t device, const RankSettings& settings,
                     Clock::time_point deadline, std::shared_ptr<World>* out_world) {
  const RankTable::Seat& root = table.seats.at(0);
  MeetingPlace place;
  MP_RETURN_IF_ERROR(SecretOfTable(table, &place));
  SetText(place.address, sizeof(place.address), root.address);
  place.port = root.port;
  if (place.port == 0) MP_RETURN_IF_ERROR(BasePort(kTablePort, &place.port));
  const auto identity = [](uint32_t server) { return Format("server %u of a table", server); };
  const std::string own = identity(table.seats.at(rank).server);
  SetText(place.host, sizeof(place.host), identity(root.server));
  std::string key;
  if (rank == 0) {
    MP_RETURN_IF_ERROR(LeadByTable(place, own, &key));
    MP_RETURN_IF_ERROR(OpenWorld(key, table.ranks, out_world));
  } else if (table.seats.at(rank).server != root.server) {
    MP_RETURN_IF_ERROR(ComeFromAfar(place, own, table.ranks, /*is_new=*/true, deadline, out_world));
  } else {
    MP_RETURN_IF_ERROR(OpenWorldByDoor(DoorOf(place, own), table.ranks, deadline, out_world));
  }
  Status status = TakeSeat(out_world->get(), rank, device, settings);
  if (status.ok()) status = AwaitAll(out_world->get(), rank, deadline);
  if (rank == 0) WithdrawWorld(key);
  return status;
}

}  // namespace millpond::comm
