// SPDX-License-Identifier: Apache-2.0
// Ranks of another version of Millpond: they are told of it (EI0008, with both versions) instead of reading memory or
// frames that are laid out in another way.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "src/base/format.h"
#include "src/comm/handshake.h"
#include "src/comm/meeting.h"
#include "src/comm/place.h"
#include "src/comm/world.h"
#include "src/device/share/broker.h"
#include "tests/hccl/ranks_test.h"

namespace {

using namespace ranks_test;  // NOLINT
using millpond::comm::kWorldMagic;
using millpond::comm::MeetingPlace;

constexpr uint64_t kOther = kWorldMagic + 1;

std::string BothVersions() {
  return millpond::Format("(%016llx there, %016llx here)", static_cast<unsigned long long>(kOther),
                          static_cast<unsigned long long>(kWorldMagic));
}

// Where the root info has it: behind what the address is searched by in ranks_hosts_test.cc.
MeetingPlace PlaceIn(const HcclRootInfo& root, size_t* out_offset) {
  const std::string bytes(reinterpret_cast<const char*>(&root), sizeof(root));
  MeetingPlace place;
  for (*out_offset = 0; *out_offset + sizeof(place) <= bytes.size(); ++*out_offset) {
    std::memcpy(&place, bytes.data() + *out_offset, sizeof(place));
    if (millpond::comm::FileOfOffer(millpond::comm::TextOf(place.key, sizeof(place.key))) != nullptr) return place;
  }
  ADD_FAILURE() << "the root info has no key of a world";
  return place;
}

struct MadeRoot {
  HcclRootInfo root;
  size_t offset = 0;
  MeetingPlace place;

  MadeRoot() {
    EXPECT_EQ(HcclGetRootInfo(&root), HCCL_SUCCESS) << acl_test::RecentMessage();
    place = PlaceIn(root, &offset);
  }
  void Write(const std::string& path) {
    std::memcpy(reinterpret_cast<char*>(&root) + offset, &place, sizeof(place));
    WriteFile(path, &root, sizeof(root));
  }
};

// Comes with the root info in TEST_ROOT and says what it heard.
MP_ROLE(comes) {
  HcclRootInfo root;
  HcclComm comm = nullptr;
  ROLE_CHECK(aclInit(nullptr) == 0 && aclrtSetDevice(0) == 0);
  ROLE_CHECK(AwaitFile(getenv("TEST_ROOT"), &root, sizeof(root)));
  ROLE_CHECK(HcclCommInitRootInfo(2, &root, 1, &comm) == HCCL_E_REMOTE && comm == nullptr);
  std::fputs(acl_test::RecentMessage().c_str(), stderr);
  // The process lives, and goes on with ranks of its own version.
  ROLE_CHECK(HcclGetRootInfo(&root) == HCCL_SUCCESS && HcclCommInitRootInfo(1, &root, 0, &comm) == HCCL_SUCCESS);
  ROLE_CHECK(HcclCommDestroy(comm) == HCCL_SUCCESS);
  return 0;
}

void ExpectHeard(const std::string& path, const std::string& words, std::map<std::string, std::string> variables = {}) {
  variables["TEST_ROOT"] = path;
  const auto begin = std::chrono::steady_clock::now();
  const auto result = acl_test::RunRole("comes", variables);
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_NE(result.output.find("EI0008"), std::string::npos) << result.output;
  EXPECT_NE(result.output.find(words), std::string::npos) << result.output;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));  // and not when the time is over
}

class AnotherVersion : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclInit(nullptr), 0) << acl_test::RecentMessage();
    ASSERT_EQ(aclrtSetDevice(0), 0) << acl_test::RecentMessage();
  }
  void TearDown() override { EXPECT_EQ(aclFinalize(), 0) << acl_test::RecentMessage(); }
  const TemporaryFolder folder_;
};

TEST_F(AnotherVersion, OnOneHostIsNamedByWhatItsMemorySays) {
  MadeRoot made;
  std::shared_ptr<millpond::comm::World> world;
  const auto file = millpond::comm::FileOfOffer(millpond::comm::TextOf(made.place.key, sizeof(made.place.key)));
  ASSERT_TRUE(millpond::comm::World::Map(file->get(), 2, &world).ok());
  world->header().magic = kOther;
  made.Write(folder_ / "root");
  ExpectHeard(folder_ / "root", BothVersions());
  HcclComm comm = nullptr;  // a thread of the same process, too
  EXPECT_EQ(HcclCommInitRootInfo(2, &made.root, 0, &comm), HCCL_E_REMOTE);
  EXPECT_NE(acl_test::RecentMessage().find("EI0008"), std::string::npos);
}

TEST_F(AnotherVersion, OnOneHostIsNamedByTheSizeOfItsMemory) {
  MadeRoot made;
  const auto file = millpond::comm::FileOfOffer(millpond::comm::TextOf(made.place.key, sizeof(made.place.key)));
  millpond::ShareOffer offer;
  offer.kind = millpond::ShareKind::kRanks;
  offer.file = file;
  offer.bytes = millpond::comm::World::FileBytes() - 4096;
  offer.any_pid = true;
  millpond::ShareName name;
  ASSERT_TRUE(millpond::Broker::Get().Publish(offer, /*short_name=*/false, &name).ok());
  name.Print(made.place.key);
  made.Write(folder_ / "root");
  ExpectHeard(folder_ / "root", "share " + std::to_string(offer.bytes) + " bytes, and here it would be " +
                                    std::to_string(millpond::comm::World::FileBytes()));
  EXPECT_TRUE(millpond::Broker::Get().Withdraw(name).ok());
}

// Whoever listens shows its version first; whoever comes reads no further.
TEST_F(AnotherVersion, OnAnotherHostIsNamedByTheHandshake) {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = inet_addr("127.0.0.1");
  socklen_t length = sizeof(address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length), 0);
  std::string answered = "nobody came";
  std::thread peer([&] {
    const int guest = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    auto challenge = millpond::comm::MakeChallenge();
    challenge.version = kOther;
    send(guest, &challenge, sizeof(challenge), MSG_NOSIGNAL);
    char bytes[256];
    answered = recv(guest, bytes, sizeof(bytes), 0) <= 0 ? "" : "it said something";
    close(guest);
  });
  MadeRoot made;
  millpond::comm::SetText(made.place.host, sizeof(made.place.host), "another host");
  millpond::comm::SetText(made.place.address, sizeof(made.place.address), "127.0.0.1");
  made.place.port = ntohs(address.sin_port);
  made.Write(folder_ / "root");
  ExpectHeard(folder_ / "root", BothVersions(), {{"MILLPOND_RANK_HOST", "h1"}});
  shutdown(listener, SHUT_RDWR);
  peer.join();
  close(listener);
  EXPECT_EQ(answered, "");  // no code that the secret gives is shown to it
}

}  // namespace

MP_TEST_MAIN()
