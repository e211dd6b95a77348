// SPDX-License-Identifier: Apache-2.0
// The broker and its importers among strangers: other users, names that changed hands, lies on the wire.
// Issue 13, points 1 and 3.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "src/device/share/broker.h"
#include "src/device/share/broker_wire.h"

namespace millpond {
namespace {

constexpr uid_t kStranger = 65534;

#define SKIP_UNLESS_ROOT() \
  if (geteuid() != 0) GTEST_SKIP() << "only root can play another user"

size_t OpenDescriptors() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) count += !entry.path().empty();
  return count;
}

UniqueFd ConnectTo(const ShareName& name) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = wire::MakeAddress(name, true, &address);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) return UniqueFd();
  return fd;
}

UniqueFd ListenAs(const ShareName& name) {
  UniqueFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = wire::MakeAddress(name, true, &address);
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(fd.get(), 8) != 0) return UniqueFd();
  return fd;
}

bool SendWith(int socket_fd, const void* data, size_t bytes, const std::vector<int>& files) {
  iovec part{const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(8 * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!files.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    memcpy(CMSG_DATA(header), files.data(), files.size() * sizeof(int));
  }
  return sendmsg(socket_fd, &message, MSG_NOSIGNAL) >= 0;
}

// Another process that runs `body` and lives until told to end; each side can wait for the other's byte.
class Other {
 public:
  explicit Other(const std::function<int(Other&)>& body) {
    int to[2], from[2];
    if (pipe(to) != 0 || pipe(from) != 0) abort();
    child_ = fork();
    const int read_end = child_ == 0 ? to[0] : from[0];
    const int write_end = child_ == 0 ? from[1] : to[1];
    close(child_ == 0 ? to[1] : to[0]);
    close(child_ == 0 ? from[0] : from[1]);
    read_ = UniqueFd(read_end);
    write_ = UniqueFd(write_end);
    if (child_ == 0) _exit(body(*this));
  }
  ~Other() {
    if (child_ > 0) End();
  }
  void Tell() { EXPECT_EQ(write(write_.get(), "x", 1), 1); }
  void Await() {
    char byte;
    EXPECT_EQ(read(read_.get(), &byte, 1), 1);
  }
  int End() {
    int status = -1;
    waitpid(child_, &status, 0);
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  pid_t pid() const { return child_; }

 private:
  pid_t child_ = -1;
  UniqueFd read_, write_;
};

class BrokerUnderFire : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(MakeOwnFile("broker-test", 4096, &file_).ok());
    offer_.kind = ShareKind::kNotify;
    offer_.file = file_;
    offer_.bytes = 4096;
    offer_.any_pid = true;
  }
  ShareName Publish(Broker* broker) {
    ShareName name;
    const Status status = broker->Publish(offer_, /*short_name=*/false, &name);
    EXPECT_TRUE(status.ok()) << status.message();
    return name;
  }
  // The key of a process that has died.
  static ShareName DeadExporter() {
    Other exporter([](Other&) { return 0; });
    ShareName name{ShareKind::kMemory, 0, exporter.pid(), geteuid(), 1, 2};
    EXPECT_EQ(exporter.End(), 0);
    EXPECT_EQ(getentropy(&name.broker, sizeof(name.broker)), 0);
    name.broker = (name.broker & 0xFFFFF) | 1;
    return name;
  }
  // Serves one caller under `name`, offering its own file; 0 when the caller never asked it for anything.
  static int Impersonate(const ShareName& name, Other& test) {
    UniqueFd listener = ListenAs(name);
    if (!listener) return 3;
    test.Tell();
    UniqueFd caller(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    SharedFd bait;
    if (!MakeOwnFile("bait", 4096, &bait).ok()) return 4;
    wire::Reply reply;
    reply.verdict = wire::Verdict::kGranted;
    reply.bytes = 4096;
    SendWith(caller.get(), &reply, sizeof(reply), {bait->get()});
    wire::Request request;
    return recv(caller.get(), &request, sizeof(request), 0) > 0 ? 1 : 0;
  }
  // A process of `user` that listens where `name` says. With `same_pid` the name gets the process's own pid.
  static std::unique_ptr<Other> Stranger(uid_t user, bool same_pid, ShareName* name) {
    auto stranger = std::make_unique<Other>([&](Other& test) {
      if (same_pid) name->pid = getpid();
      return setuid(user) != 0 ? 2 : Impersonate(*name, test);
    });
    stranger->Await();
    if (same_pid) name->pid = stranger->pid();
    return stranger;
  }
  static void ExpectNotBelieved(const ShareName& name, const std::string& expected, const std::string& answered) {
    ShareGrant grant;
    const Status status = FetchShare(name, &grant);
    EXPECT_EQ(status.code(), Code::kIpc) << status.message();
    EXPECT_NE(status.message().find(expected), std::string::npos) << status.message();
    EXPECT_NE(status.message().find(answered), std::string::npos) << status.message();
    EXPECT_FALSE(grant.file);
  }

  SharedFd file_;
  ShareOffer offer_;
};

// --- Importers ---

TEST_F(BrokerUnderFire, AnotherUserBehindADeadExportersNameIsNamedNotBelievedAndTakenNothingFrom) {
  SKIP_UNLESS_ROOT();
  ShareName name = DeadExporter();
  const auto stranger = Stranger(kStranger, /*same_pid=*/false, &name);
  ExpectNotBelieved(name, Format("process %d of user 0", name.pid),
                    Format("process %d of user 65534", stranger->pid()));
  EXPECT_EQ(stranger->End(), 0) << "not even the key's number was told to it";
}

TEST_F(BrokerUnderFire, AnotherProcessOfThisUserBehindADeadExportersNameIsNotBelievedEither) {
  ShareName name = DeadExporter();
  const auto stranger = Stranger(geteuid(), /*same_pid=*/false, &name);
  ExpectNotBelieved(name, Format("process %d of user %u", name.pid, geteuid()),
                    Format("process %d of user %u", stranger->pid(), geteuid()));
  EXPECT_EQ(stranger->End(), 0);
}

TEST_F(BrokerUnderFire, AStrangerWhoGotTheDeadExportersPidIsToldByItsUser) {
  SKIP_UNLESS_ROOT();
  ShareName name = DeadExporter();
  const auto stranger = Stranger(kStranger, /*same_pid=*/true, &name);
  ExpectNotBelieved(name, Format("process %d of user 0", name.pid), Format("process %d of user 65534", name.pid));
  EXPECT_EQ(stranger->End(), 0);
}

TEST_F(BrokerUnderFire, AShareableHandleIsGoodWithinOneUserOnly) {
  SKIP_UNLESS_ROOT();
  ShareName name = DeadExporter();
  const auto stranger = Stranger(kStranger, /*same_pid=*/true, &name);
  name.high = 0;
  ShareName from_handle;
  ASSERT_TRUE(ShareName::FromHandle(name.ToHandle(), ShareKind::kPhysical, &from_handle).ok());
  EXPECT_EQ(from_handle.pid, name.pid);
  EXPECT_EQ(from_handle.broker, name.broker);
  EXPECT_EQ(from_handle.low, name.low);
  ExpectNotBelieved(from_handle, "of user 0", "of user 65534");
  EXPECT_EQ(stranger->End(), 0);
}

TEST_F(BrokerUnderFire, AProcessOfAnotherUserIsRefusedByItsKeyAlone) {
  SKIP_UNLESS_ROOT();
  Broker broker;
  const ShareName name = Publish(&broker);
  Other stranger([&](Other&) {
    if (setuid(kStranger) != 0) return 2;
    ShareGrant grant;
    const Status status = FetchShare(name, &grant);
    const bool told = status.message().find("of user 0") != std::string::npos &&
                      status.message().find("user 65534") != std::string::npos;
    return status.code() == Code::kNoPermission && told && !grant.file ? 0 : 1;
  });
  EXPECT_EQ(stranger.End(), 0);
}

// Here the liar has the right pid and user: only what it sends is wrong.
TEST_F(BrokerUnderFire, OnlyOneMemoryFileOfFixedSizeThatHoldsTheRangeIsTaken) {
  UniqueFd loose(memfd_create("loose", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(ftruncate(loose.get(), 4096), 0);
  UniqueFd folder(open("/", O_RDONLY | O_CLOEXEC));
  wire::Reply good;
  good.verdict = wire::Verdict::kGranted;
  good.bytes = 4096;
  wire::Reply past = good, wraps = good, empty = good, odd = good;
  past.offset = 1;
  wraps.offset = UINT64_MAX - 100;
  empty.bytes = 0;
  odd.verdict = static_cast<wire::Verdict>(77);
  const int own = file_->get();
  struct Lie {
    const char* what;
    wire::Reply reply;
    size_t bytes;
    std::vector<int> files;
  };
  const Lie lies[] = {
      {"granted without a descriptor", good, sizeof(good), {}},
      {"two descriptors", good, sizeof(good), {own, own}},
      {"many descriptors", good, sizeof(good), {own, own, own, own, own}},
      {"a file whose size may change", good, sizeof(good), {loose.get()}},
      {"a folder", good, sizeof(good), {folder.get()}},
      {"a range past the end", past, sizeof(good), {own}},
      {"a range that wraps", wraps, sizeof(good), {own}},
      {"no bytes at all", empty, sizeof(good), {own}},
      {"no verdict there is", odd, sizeof(good), {}},
      {"half a reply", good, sizeof(good) / 2, {own}},
      {"a refusal with a gift", wire::Reply(), sizeof(good), {own}},
  };
  ShareName name = DeadExporter();
  name.pid = getpid();
  UniqueFd listener = ListenAs(name);
  ASSERT_TRUE(listener);
  const auto serve = [&](const Lie& lie) {
    return std::thread([&] {
      const UniqueFd caller(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
      wire::Request request;
      EXPECT_EQ(recv(caller.get(), &request, sizeof(request), 0), static_cast<ssize_t>(sizeof(request)));
      EXPECT_TRUE(SendWith(caller.get(), &lie.reply, lie.bytes, lie.files)) << lie.what;
    });
  };
  const size_t before = OpenDescriptors();
  for (const Lie& lie : lies) {
    std::thread liar = serve(lie);
    ShareGrant grant;
    const Status status = FetchShare(name, &grant);
    liar.join();
    EXPECT_EQ(status.code(), Code::kIpc) << lie.what;
    EXPECT_FALSE(grant.file) << lie.what;
    EXPECT_EQ(OpenDescriptors(), before) << "what came is closed again: " << lie.what;
  }
  const Lie truth{"the truth", good, sizeof(good), {own}};
  std::thread honest = serve(truth);
  ShareGrant grant;
  EXPECT_TRUE(FetchShare(name, &grant).ok());
  honest.join();
}

// --- Exporters ---

TEST_F(BrokerUnderFire, OtherUsersConnectionsAreClosedAtOnceAndCostNoDescriptor) {
  SKIP_UNLESS_ROOT();
  Broker broker;
  const ShareName name = Publish(&broker);
  const size_t before = OpenDescriptors();
  Other stranger([&](Other& test) {
    if (setuid(kStranger) != 0) return 2;
    std::vector<UniqueFd> held;
    for (int i = 0; i < 300; ++i) {
      held.push_back(ConnectTo(name));
      if (!held.back()) return 3;
      char byte;
      if (i % 10 == 0 && recv(held.back().get(), &byte, 1, 0) > 0) return 4;  // closed: it returns
    }
    test.Tell();
    test.Await();
    return 0;
  });
  stranger.Await();
  ShareGrant grant;
  EXPECT_TRUE(FetchShare(name, &grant).ok()) << "and those who queued before this one have been seen";
  grant = ShareGrant();
  EXPECT_LE(OpenDescriptors(), before + 4) << "the pipes to the stranger, and this fetch";
  stranger.Tell();
  EXPECT_EQ(stranger.End(), 0);
}

TEST_F(BrokerUnderFire, ConnectionsThatAskNothingAreFewAndOnlyTheirOwnerLosesThem) {
  Broker broker(/*abstract=*/true, std::chrono::hours(1));
  const ShareName name = Publish(&broker);
  const UniqueFd patient = ConnectTo(name);  // an honest importer that was interrupted before it asked
  ASSERT_TRUE(patient);
  const size_t before = OpenDescriptors();
  Other hoarder([&](Other& test) {
    std::vector<UniqueFd> held;
    for (int i = 0; i < 1000; ++i) held.push_back(ConnectTo(name));
    test.Tell();
    test.Await();
    return held.back() ? 0 : 3;
  });
  hoarder.Await();
  ShareGrant grant;
  EXPECT_TRUE(FetchShare(name, &grant).ok());
  EXPECT_LE(OpenDescriptors(), before + 64 + 8);
  wire::Request request;
  request.kind = static_cast<uint32_t>(name.kind);
  request.high = name.high;
  request.low = name.low;
  ASSERT_EQ(send(patient.get(), &request, sizeof(request), MSG_NOSIGNAL), static_cast<ssize_t>(sizeof(request)));
  wire::Reply reply;
  EXPECT_EQ(recv(patient.get(), &reply, sizeof(reply), 0), static_cast<ssize_t>(sizeof(reply)))
      << "another's thousand connections did not cost it its own";
  hoarder.Tell();
  EXPECT_EQ(hoarder.End(), 0);
}

TEST_F(BrokerUnderFire, AConnectionThatNeverAsksIsClosedByAndBy) {
  Broker broker(/*abstract=*/true, std::chrono::milliseconds(20));
  const ShareName name = Publish(&broker);
  const UniqueFd silent = ConnectTo(name);
  ASSERT_TRUE(silent);
  char byte;
  EXPECT_EQ(recv(silent.get(), &byte, 1, 0), 0) << "would wait for ever otherwise";
}

TEST_F(BrokerUnderFire, RubbishOnTheSocketHarmsNobody) {
  Broker broker;
  const ShareName name = Publish(&broker);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 20; ++i) {
    silent.push_back(ConnectTo(name));
    ASSERT_TRUE(silent.back());
    const char rubbish[100] = "no request";
    if (i % 2 == 0) {
      EXPECT_GT(send(silent.back().get(), rubbish, static_cast<size_t>(1 + i), MSG_NOSIGNAL), 0);
    }
  }
  ShareGrant grant;
  EXPECT_TRUE(FetchShare(name, &grant).ok()) << "others are served meanwhile";
}

TEST_F(BrokerUnderFire, MessagesOfAWrongSizeEndTheirConnection) {
  Broker broker;
  const ShareName name = Publish(&broker);
  std::vector<char> rubbish(4096, 'r');
  wire::Request request;
  for (const size_t bytes : {size_t{1}, sizeof(request) - 1, sizeof(request) + 1, rubbish.size()}) {
    memcpy(rubbish.data(), &request, sizeof(request));
    const UniqueFd sender = ConnectTo(name);
    ASSERT_EQ(send(sender.get(), rubbish.data(), bytes, MSG_NOSIGNAL), static_cast<ssize_t>(bytes));
    char byte;
    EXPECT_LE(recv(sender.get(), &byte, 1, 0), 0) << bytes;
  }
  ShareGrant grant;
  EXPECT_TRUE(FetchShare(name, &grant).ok());
}

TEST_F(BrokerUnderFire, LeasesStayWithinAQuarterOfTheDescriptorsAndOneProcessWithinHalfOfThat) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  rlimit lower = limit;
  lower.rlim_cur = 256;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &lower), 0);
  {
    Broker broker;
    offer_.lease = std::make_shared<int>(1);
    const ShareName name = Publish(&broker);
    std::vector<ShareGrant> held(32);
    for (ShareGrant& grant : held) EXPECT_TRUE(FetchShare(name, &grant).ok());
    ShareGrant more;
    const Status status = FetchShare(name, &more);
    EXPECT_EQ(status.code(), Code::kIpc);
    EXPECT_NE(status.message().find("as many imports in use"), std::string::npos) << status.message();
    Other second([&](Other&) {
      ShareGrant grant;
      return FetchShare(name, &grant).ok() ? 0 : 1;
    });
    EXPECT_EQ(second.End(), 0) << "another process has its share";
    held.pop_back();
    EXPECT_TRUE(FetchShare(name, &more).ok()) << "let go, so one more";
  }
  EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

}  // namespace
}  // namespace millpond
