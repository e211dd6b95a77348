// SPDX-License-Identifier: Apache-2.0
// A second process for the tests of sharing: the test program starts itself again with "--peer" and talks to it in
// lines. PeerMain is what runs over there; Peer is the handle here. A test program has its own main:
//   int main(int argc, char** argv) { return peer::Main(argc, argv); }
#ifndef MILLPOND_TESTS_ACL_PEER_PROCESS_H_
#define MILLPOND_TESTS_ACL_PEER_PROCESS_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "tests/acl/memory/physical_memory.h"

extern char** environ;

namespace peer {

using acl_test::HugeProp;

inline constexpr size_t kPage = acl_test::kHugePage;

class PeerTest : public acl_test::PlainDeviceTest {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);  // a peer that died is an answer, not our end
    PlainDeviceTest::SetUp();
  }
};

inline aclError Write(void* to, const std::string& text) {
  return aclrtMemcpy(to, text.size(), text.data(), text.size(), ACL_MEMCPY_HOST_TO_DEVICE);
}
inline std::string Read(const void* from, size_t bytes) {
  std::string text(bytes, '\0');
  const aclError code = aclrtMemcpy(text.data(), bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
  return code == ACL_SUCCESS ? text : std::to_string(code);
}

inline std::string ToHex(const void* data, size_t bytes) {
  std::string text;
  char digits[3];
  for (size_t i = 0; i < bytes; ++i) {
    snprintf(digits, sizeof(digits), "%02x", static_cast<const uint8_t*>(data)[i]);
    text += digits;
  }
  return text;
}
inline void FromHex(const std::string& text, void* out) {
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    static_cast<uint8_t*>(out)[i / 2] = static_cast<uint8_t>(std::stoi(text.substr(i, 2), nullptr, 16));
  }
}

// What the other process can do. Each command answers one line that begins with its acl code.
class Commands {
 public:
  std::string Run(const std::string& line) {
    std::istringstream in(line);
    std::string verb;
    in >> verb;
    std::ostringstream out;
    if (verb == "device") {
      int32_t device = 0, pid = 0;
      in >> device;
      aclError code = aclrtSetDevice(device);
      if (code == ACL_SUCCESS) code = aclrtDeviceGetBareTgid(&pid);
      out << code << ' ' << pid;
    } else if (verb == "read") {
      size_t offset = 0, bytes = 0;
      in >> offset >> bytes;
      std::string text(bytes, '\0');
      const aclError code = aclrtMemcpy(text.data(), bytes, at_ + offset, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
      out << code << ' ' << text;
    } else if (verb == "write") {
      size_t offset = 0;
      std::string text;
      in >> offset >> text;
      out << Write(at_ + offset, text);
    } else if (verb == "setuid") {
      uid_t user = 0;
      in >> user;
      out << setuid(user);
    } else if (verb == "free-bytes") {
      size_t free = 0, total = 0;
      out << aclrtGetMemInfo(ACL_HBM_MEM, &free, &total) << ' ' << free;
    } else if (!Keys(verb, in, out) && !Handles(verb, in, out) && !Fabric(verb, in, out) && !Sync(verb, in, out)) {
      out << "-1 unknown command " << verb;
    }
    return out.str();
  }

 private:
  bool Keys(const std::string& verb, std::istringstream& in, std::ostringstream& out) {
    std::string key;
    uint64_t flags = 0;
    if (verb == "malloc") {
      size_t bytes = 0;
      in >> bytes;
      void* address = nullptr;
      out << aclrtMalloc(&address, bytes, ACL_MEM_MALLOC_HUGE_FIRST);
      at_ = static_cast<char*>(address);
    } else if (verb == "export-key") {
      size_t bytes = 0;
      in >> bytes >> flags;
      char text[65] = {};
      out << aclrtIpcMemGetExportKey(at_, bytes, text, sizeof(text), flags) << ' ' << text;
    } else if (verb == "allow-key") {
      int32_t pid = 0;
      in >> key >> pid;
      out << aclrtIpcMemSetImportPid(key.c_str(), &pid, 1);
    } else if (verb == "import-key") {
      in >> key >> flags;
      void* address = nullptr;
      out << aclrtIpcMemImportByKey(&address, key.c_str(), flags);
      if (address != nullptr) at_ = static_cast<char*>(address);
    } else if (verb == "close-key") {
      in >> key;
      out << aclrtIpcMemClose(key.c_str());
    } else if (verb == "attributes") {
      aclrtPtrAttributes attributes{};
      out << aclrtPointerGetAttributes(at_, &attributes) << ' ' << attributes.location.type;
    } else if (verb == "free") {
      out << aclrtFree(at_);
    } else {
      return false;
    }
    return true;
  }

  bool Handles(const std::string& verb, std::istringstream& in, std::ostringstream& out) {
    uint64_t shareable = 0;
    if (verb == "physical") {
      const aclrtPhysicalMemProp prop = HugeProp();
      out << aclrtMallocPhysical(&handle_, kPage, &prop, 0);
    } else if (verb == "export-handle") {
      uint64_t flags = 0;
      in >> flags;
      out << aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, flags, &shareable) << ' ' << shareable;
    } else if (verb == "allow-handle") {
      int32_t pid = 0;
      in >> shareable >> pid;
      out << aclrtMemSetPidToShareableHandle(shareable, &pid, 1);
    } else if (verb == "import-handle") {
      int32_t device = 0;
      in >> shareable >> device;
      out << aclrtMemImportFromShareableHandle(shareable, device, &handle_);
    } else if (verb == "map") {
      void* address = nullptr;
      aclError code = aclrtReserveMemAddress(&address, kPage, 0, nullptr, 0);
      if (code == ACL_SUCCESS) code = aclrtMapMem(address, kPage, 0, handle_, 0);
      at_ = static_cast<char*>(address);
      out << code;
    } else if (verb == "unmap") {
      aclError code = aclrtUnmapMem(at_);
      if (code == ACL_SUCCESS) code = aclrtReleaseMemAddress(at_);
      out << code;
    } else if (verb == "free-handle") {
      out << aclrtFreePhysical(handle_);
    } else if (verb == "properties") {
      aclrtPhysicalMemProp prop{};
      out << aclrtMemGetAllocationPropertiesFromHandle(handle_, &prop) << ' ' << prop.location.id << ' '
          << prop.memAttr;
    } else {
      return false;
    }
    return true;
  }

  bool Fabric(const std::string& verb, std::istringstream& in, std::ostringstream& out) {
    aclrtMemFabricHandle fabric{};
    std::string hex;
    if (verb == "export-fabric") {
      out << aclrtMemExportToShareableHandleV2(handle_, ACL_RT_VMM_EXPORT_FLAG_DEFAULT,
                                               ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric);
      out << ' ' << ToHex(&fabric, sizeof(fabric));
    } else if (verb == "allow-fabric") {
      int32_t pid = 0;
      in >> hex >> pid;
      FromHex(hex, &fabric);
      out << aclrtMemSetPidToShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &pid, 1);
    } else if (verb == "import-fabric") {
      in >> hex;
      FromHex(hex, &fabric);
      out << aclrtMemImportFromShareableHandleV2(&fabric, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, 0, &handle_);
    } else if (verb == "import-v2") {
      uint64_t shareable = 0;
      in >> shareable;
      out << aclrtMemImportFromShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &handle_);
    } else {
      return false;
    }
    return true;
  }

  // Everything on one stream, which the first such command makes.
  bool Sync(const std::string& verb, std::istringstream& in, std::ostringstream& out) {
    if (stream_ == nullptr && aclrtCreateStream(&stream_) != ACL_SUCCESS) return false;
    std::string key;
    uint64_t flags = 0;
    if (verb == "import-notify") {
      in >> key >> flags;
      out << aclrtNotifyImportByKey(&notify_, key.c_str(), flags);
    } else if (verb == "record-notify") {
      out << aclrtRecordNotify(notify_, stream_);
    } else if (verb == "wait-notify") {
      out << aclrtWaitAndResetNotify(notify_, stream_, 0);
    } else if (verb == "destroy-notify") {
      out << aclrtDestroyNotify(notify_);
    } else if (verb == "re-export-notify") {
      char text[65] = {};
      out << aclrtNotifyGetExportKey(notify_, text, sizeof(text), 0);
    } else if (verb == "open-event") {
      aclrtIpcEventHandle handle{};
      in >> key;
      memcpy(handle.reserved, key.data(), std::min(key.size(), sizeof(handle.reserved)));
      out << aclrtIpcOpenEventHandle(handle, &event_);
    } else if (verb == "wait-event") {
      out << aclrtStreamWaitEvent(stream_, event_);
    } else if (verb == "event-status") {
      aclrtEventRecordedStatus status{};
      out << aclrtQueryEventStatus(event_, &status) << ' ' << status;
    } else if (verb == "record-event") {
      out << aclrtRecordEvent(event_, stream_);
    } else if (verb == "destroy-event") {
      out << aclrtDestroyEvent(event_);
    } else if (verb == "sync") {
      out << aclrtSynchronizeStreamWithTimeout(stream_, 10000);
    } else if (verb == "busy") {
      aclrtStreamStatus status{};
      out << aclrtStreamQuery(stream_, &status) << ' ' << (status == ACL_STREAM_STATUS_NOT_READY);
    } else {
      return false;
    }
    return true;
  }

  char* at_ = nullptr;
  aclrtDrvMemHandle handle_ = nullptr;
  aclrtStream stream_ = nullptr;
  aclrtNotify notify_ = nullptr;
  aclrtEvent event_ = nullptr;
};

inline int PeerMain() {
  if (aclInit(nullptr) != ACL_SUCCESS) return 3;
  Commands commands;
  std::string line;
  while (std::getline(std::cin, line)) {
    if (line == "quit") return aclFinalize() == ACL_SUCCESS ? 0 : 4;
    std::cout << commands.Run(line) << std::endl;
  }
  return 5;  // the test went away
}

inline int Main(int argc, char** argv) {
  if (argc > 1 && strcmp(argv[1], "--peer") == 0) return PeerMain();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

class Peer {
 public:
  // Starts it with `settings` ("NAME=value") added to the environment, and sets its device.
  explicit Peer(const std::vector<std::string>& settings = {}, int device = 0) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) return;
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    std::vector<char*> environment;
    for (const std::string& setting : settings) environment.push_back(const_cast<char*>(setting.c_str()));
    for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
    environment.push_back(nullptr);
    char program[] = "/proc/self/exe", role[] = "--peer";
    char* arguments[] = {program, role, nullptr};
    const int result = posix_spawn(&process_, program, &actions, nullptr, arguments, environment.data());
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    to_ = to[1];
    from_ = fdopen(from[0], "r");
    if (result != 0) process_ = -1;
    std::istringstream(Ask("device " + std::to_string(device))) >> start_code_ >> pid_;
  }
  Peer(const Peer&) = delete;
  ~Peer() {
    if (process_ > 0) Kill();
    close(to_);
    fclose(from_);
  }

  // The pid as reported by the peer (aclrtDeviceGetBareTgid).
  int32_t pid() const { return pid_; }
  aclError start_code() const { return start_code_; }

  std::string Ask(const std::string& command) {
    const std::string line = command + "\n";
    if (write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) return "-1 peer is gone";
    std::string answer;
    int c;
    while ((c = fgetc(from_)) != EOF && c != '\n') answer += static_cast<char>(c);
    return c == EOF ? "-1 peer is gone" : answer;
  }
  // The code of an answer, and what follows it.
  aclError Code(const std::string& command) { return std::stoi(Ask(command)); }
  std::string Text(const std::string& command) {
    const std::string answer = Ask(command);
    const size_t space = answer.find(' ');
    EXPECT_EQ(answer.substr(0, space), "0") << command;
    return space == std::string::npos ? "" : answer.substr(space + 1);
  }

  int Quit() {
    static_cast<void>(!write(to_, "quit\n", 5));
    return Wait();
  }
  void Kill() {
    kill(process_, SIGKILL);
    Wait();
  }

 private:
  int Wait() {
    int status = -1;
    waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }
  pid_t process_ = -1;
  int to_ = -1;
  FILE* from_ = nullptr;
  int32_t pid_ = 0;
  aclError start_code_ = -1;
};

}  // namespace peer

#endif  // MILLPOND_TESTS_ACL_PEER_PROCESS_H_
