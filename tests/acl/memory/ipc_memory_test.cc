// SPDX-License-Identifier: Apache-2.0
// Device memory between processes by key.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "tests/acl/peer_process.h"

namespace {

using peer::Peer;

constexpr size_t kBytes = 10000;

class IpcMemory : public peer::PeerTest {
 protected:
  void SetUp() override {
    PeerTest::SetUp();
    void* address = nullptr;
    ASSERT_EQ(aclrtMalloc(&address, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    block_ = static_cast<char*>(address);
  }
  void TearDown() override {
    if (block_ != nullptr) {
      EXPECT_EQ(aclrtFree(block_), ACL_SUCCESS);
    }
    PeerTest::TearDown();
  }
  std::string Export(uint64_t flags = ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT) {
    char key[65] = {};
    EXPECT_EQ(aclrtIpcMemGetExportKey(block_, kBytes, key, sizeof(key), flags), ACL_SUCCESS);
    return key;
  }
  static std::string Import(const std::string& key) { return "import-key " + key + " 0"; }
  // What an importer reads at the block's beginning before and after `act` lets the stream write there.
  template <class Act>
  void ExpectImporterSees(const std::string& before, const std::string& after, aclrtStream stream, Act act) {
    const std::string key = Export(ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
    const std::string read = "read 0 " + std::to_string(before.size());
    Peer importer;
    ASSERT_EQ(importer.Code(Import(key)), ACL_SUCCESS);
    EXPECT_EQ(importer.Text(read), before);
    ASSERT_EQ(act(), ACL_SUCCESS);
    ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_EQ(importer.Text(read), after);
    EXPECT_EQ(importer.Quit(), 0);
    EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
  }
  char* block_ = nullptr;
};

// Page "aclrtIpcMemGetExportKey".
TEST_F(IpcMemory, ExportChecksItsArguments) {
  char key[65] = {};
  EXPECT_EQ(aclrtIpcMemGetExportKey(nullptr, kBytes, key, 65, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemGetExportKey(block_, kBytes, nullptr, 65, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemGetExportKey(block_, 0, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID);
  for (const size_t len : {0, 64, 66, 1024}) {  // docs/compat.md, "What clients rely on": exactly 65
    EXPECT_EQ(aclrtIpcMemGetExportKey(block_, kBytes, key, len, 0), ACL_ERROR_RT_PARAM_INVALID) << len;
  }
  EXPECT_EQ(aclrtIpcMemGetExportKey(block_, kBytes, key, 65, 2), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemGetExportKey(block_, size_t{1} << 40, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID) << "past its end";
  EXPECT_STREQ(key, "") << "a refused call leaves its output alone";
  int local = 0;
  EXPECT_EQ(aclrtIpcMemGetExportKey(&local, sizeof(local), key, 65, 0), ACL_ERROR_RT_PARAM_INVALID) << "host memory";
  void* pinned = nullptr;
  ASSERT_EQ(aclrtMallocHost(&pinned, 4096), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcMemGetExportKey(pinned, 4096, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID) << "pinned host memory";
  EXPECT_EQ(aclrtFreeHost(pinned), ACL_SUCCESS);
  ASSERT_EQ(aclrtIpcMemGetExportKey(block_, kBytes, key, 65, 0), ACL_SUCCESS);
  EXPECT_EQ(strlen(key), 64u);
  EXPECT_EQ(aclrtIpcMemClose(key), ACL_SUCCESS);
}

// CANN's chapter on memory between processes: the whole course of A and B.
TEST_F(IpcMemory, AllowedProcessSeesTheSameBytesBothWays) {
  const std::string key = Export();
  Peer importer;
  ASSERT_EQ(importer.start_code(), ACL_SUCCESS);
  int32_t pid = importer.pid();
  ASSERT_EQ(aclrtIpcMemSetImportPid(key.c_str(), &pid, 1), ACL_SUCCESS);
  ASSERT_EQ(peer::Write(block_ + 100, "from-the-exporter"), ACL_SUCCESS);
  ASSERT_EQ(importer.Code(Import(key)), ACL_SUCCESS);
  EXPECT_EQ(importer.Text("read 100 17"), "from-the-exporter");
  EXPECT_EQ(importer.Code("write 5000 from-the-importer"), ACL_SUCCESS);
  EXPECT_EQ(peer::Read(block_ + 5000, 17), "from-the-importer");
  EXPECT_EQ(importer.Text("attributes"), std::to_string(ACL_MEM_LOCATION_TYPE_DEVICE));
  EXPECT_NE(importer.Code("free"), ACL_SUCCESS) << "an import is closed, not freed";
  EXPECT_NE(importer.Code("read 9990 11"), ACL_SUCCESS) << "no byte past what was exported";
  EXPECT_EQ(importer.Code("close-key " + key), ACL_SUCCESS);
  EXPECT_NE(importer.Code("read 100 17"), ACL_SUCCESS) << "closed is unmapped";
  EXPECT_NE(importer.Code("close-key " + key), ACL_SUCCESS) << "closed twice";
  EXPECT_EQ(importer.Quit(), 0);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_ERROR_RT_PARAM_INVALID);
}

// Page "aclrtIpcMemSetImportPid": only the named processes.
TEST_F(IpcMemory, ProcessThatIsNotNamedIsRefusedUntilItIs) {
  const std::string key = Export();
  Peer importer;
  EXPECT_EQ(importer.Code(Import(key)), ACL_ERROR_RT_NO_PERMISSION) << "nobody is named";
  int32_t others[] = {getpid(), 1};
  ASSERT_EQ(aclrtIpcMemSetImportPid(key.c_str(), others, 2), ACL_SUCCESS);
  EXPECT_EQ(importer.Code(Import(key)), ACL_ERROR_RT_NO_PERMISSION) << "others are named";
  int32_t pid = importer.pid();
  ASSERT_EQ(aclrtIpcMemSetImportPid(key.c_str(), &pid, 1), ACL_SUCCESS);
  EXPECT_EQ(importer.Code(Import(key)), ACL_SUCCESS);
  EXPECT_EQ(importer.Code("allow-key " + key + " 1"), ACL_ERROR_RT_PARAM_INVALID) << "only the exporter may allow";
  EXPECT_EQ(importer.Quit(), 0);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

TEST_F(IpcMemory, SetImportPidChecksItsArguments) {
  const std::string key = Export();
  int32_t pid = 1;
  EXPECT_EQ(aclrtIpcMemSetImportPid(nullptr, &pid, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemSetImportPid(key.c_str(), nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemSetImportPid(key.c_str(), &pid, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemSetImportPid("no key", &pid, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcMemSetImportPid(key.c_str(), &pid, 1), ACL_ERROR_RT_PARAM_INVALID) << "closed";
}

// CANN's chapter on memory between processes: flag 1 turns the list off.
TEST_F(IpcMemory, WithoutPidValidationTheKeyIsEnough) {
  const std::string key = Export(ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  ASSERT_EQ(peer::Write(block_, "open-to-all"), ACL_SUCCESS);
  Peer first, second;
  for (Peer* importer : {&first, &second}) {
    ASSERT_EQ(importer->Code("import-key " + key + " 1"), ACL_SUCCESS) << "import flag 1 enables peer access";
    EXPECT_EQ(importer->Text("read 0 11"), "open-to-all");
  }
  EXPECT_EQ(first.Code("write 0 one-to-all."), ACL_SUCCESS);
  EXPECT_EQ(second.Text("read 0 11"), "one-to-all.");
  EXPECT_EQ(first.Quit(), 0);
  EXPECT_EQ(second.Quit(), 0);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

TEST_F(IpcMemory, WrongKeysAreRefusedByKind) {
  std::string key = Export(ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  Peer importer;
  EXPECT_EQ(importer.Code("import-key nonsense 0"), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(importer.Code("import-key " + std::string(64, '0') + " 0"), ACL_ERROR_RT_PARAM_INVALID);
  std::string mangled = key;
  mangled[63] = mangled[63] == 'a' ? 'b' : 'a';
  EXPECT_EQ(importer.Code(Import(mangled)), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(importer.Code("import-key " + key + " 2"), ACL_ERROR_RT_PARAM_INVALID) << "flags";
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
  EXPECT_EQ(importer.Code(Import(key)), ACL_ERROR_RT_IPC_ERROR) << "closed by the exporter";
  EXPECT_EQ(importer.Quit(), 0);
}

TEST_F(IpcMemory, TheExporterDoesNotImportItsOwnKey) {
  const std::string key = Export(ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  void* address = nullptr;
  EXPECT_EQ(aclrtIpcMemImportByKey(&address, key.c_str(), 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemImportByKey(nullptr, key.c_str(), 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemImportByKey(&address, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcMemClose(nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

// Here the peer exports, and dies.
TEST_F(IpcMemory, ExporterDeathLeavesImportsGoodAndKeysDead) {
  Peer exporter;
  ASSERT_EQ(exporter.Code("malloc 10000"), ACL_SUCCESS);
  ASSERT_EQ(exporter.Code("write 200 outlives-its-process"), ACL_SUCCESS);
  const std::string key = exporter.Text("export-key 10000 1");
  const std::string other = exporter.Text("export-key 10000 1");
  void* address = nullptr;
  ASSERT_EQ(aclrtIpcMemImportByKey(&address, key.c_str(), 0), ACL_SUCCESS);
  exporter.Kill();
  EXPECT_EQ(peer::Read(static_cast<char*>(address) + 200, 20), "outlives-its-process") << "the mapping stays";
  EXPECT_EQ(peer::Write(address, "and-may-be-written"), ACL_SUCCESS);
  void* late = nullptr;
  EXPECT_EQ(aclrtIpcMemImportByKey(&late, other.c_str(), 0), ACL_ERROR_RT_IPC_ERROR);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("export"), std::string::npos);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

// CANN's chapter on memory between processes: the memory must exist when it is imported.
TEST_F(IpcMemory, FreedMemoryIsNotImported) {
  const std::string key = Export(ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  Peer importer;
  ASSERT_EQ(aclrtFree(block_), ACL_SUCCESS);
  block_ = nullptr;
  EXPECT_EQ(importer.Code(Import(key)), ACL_ERROR_RT_IPC_ERROR);
  EXPECT_EQ(importer.Quit(), 0);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

TEST_F(IpcMemory, AnInnerRangeMayBeExported) {
  char key[65];
  ASSERT_EQ(peer::Write(block_ + 4000, "0123456789"), ACL_SUCCESS);
  ASSERT_EQ(aclrtIpcMemGetExportKey(block_ + 4001, 8, key, 65, 1), ACL_SUCCESS);
  Peer importer;
  ASSERT_EQ(importer.Code(Import(key)), ACL_SUCCESS);
  EXPECT_EQ(importer.Text("read 0 8"), "12345678");
  EXPECT_NE(importer.Code("read 0 9"), ACL_SUCCESS);
  EXPECT_EQ(importer.Quit(), 0);
  EXPECT_EQ(aclrtIpcMemClose(key), ACL_SUCCESS);
}

TEST_F(IpcMemory, ImportingTwiceReturnsOneAddressAndNeedsTwoCloses) {
  Peer exporter;
  ASSERT_EQ(exporter.Code("malloc 4096"), ACL_SUCCESS);
  ASSERT_EQ(exporter.Code("write 0 twice"), ACL_SUCCESS);
  const std::string key = exporter.Text("export-key 4096 1");
  void *first = nullptr, *second = nullptr;
  ASSERT_EQ(aclrtIpcMemImportByKey(&first, key.c_str(), 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtIpcMemImportByKey(&second, key.c_str(), 0), ACL_SUCCESS);
  EXPECT_EQ(first, second);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
  EXPECT_EQ(peer::Read(first, 5), "twice");
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(exporter.Quit(), 0);
}

TEST_F(IpcMemory, ManyKeysToManyProcesses) {
  constexpr size_t kKeys = 20;
  Peer importers[3];
  std::vector<std::string> keys;
  for (size_t i = 0; i < kKeys; ++i) {
    char key[65];
    ASSERT_EQ(aclrtIpcMemGetExportKey(block_ + i * 64, 64, key, 65, 0), ACL_SUCCESS);
    ASSERT_EQ(peer::Write(block_ + i * 64, "key" + std::to_string(10 + i)), ACL_SUCCESS);
    keys.push_back(key);
    int32_t pids[] = {importers[0].pid(), importers[1].pid(), importers[2].pid()};
    ASSERT_EQ(aclrtIpcMemSetImportPid(key, pids, 3), ACL_SUCCESS);
  }
  for (Peer& importer : importers) {
    for (size_t i = 0; i < kKeys; ++i) {
      ASSERT_EQ(importer.Code(Import(keys[i])), ACL_SUCCESS);
      EXPECT_EQ(importer.Text("read 0 5"), "key" + std::to_string(10 + i));
    }
    for (const std::string& key : keys) EXPECT_EQ(importer.Code("close-key " + key), ACL_SUCCESS);
    EXPECT_EQ(importer.Quit(), 0);
  }
  for (const std::string& key : keys) EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

// CANN's chapter on memory between processes: link attributes and other servers are for the A3 series; the default
// profile is an A2.
TEST_F(IpcMemory, LinksAndOtherServersAreRefused) {
  const std::string key = Export();
  EXPECT_EQ(aclrtIpcMemSetAttr(key.c_str(), ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK_SIO),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtIpcMemSetAttr(nullptr, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemSetAttr(key.c_str(), ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 99), ACL_ERROR_RT_PARAM_INVALID);
  int32_t pid = 1;
  aclrtServerPid server{0, &pid, 1};
  EXPECT_EQ(aclrtIpcMemImportPidInterServer(key.c_str(), &server, 1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtIpcMemImportPidInterServer(key.c_str(), nullptr, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

// Issue 13, point 2: what is allocated at the same place afterwards is no business of an old importer.
TEST_F(IpcMemory, OldImportersDoNotSeeWhatIsAllocatedNextAtTheSamePlace) {
  const std::string key = Export(ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  ASSERT_EQ(peer::Write(block_, "was-exported"), ACL_SUCCESS);
  Peer importer;
  ASSERT_EQ(importer.Code(Import(key)), ACL_SUCCESS);
  void* const place = block_;
  ASSERT_EQ(aclrtFree(block_), ACL_SUCCESS);
  void* again = nullptr;
  ASSERT_EQ(aclrtMalloc(&again, kBytes, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  block_ = static_cast<char*>(again);
  ASSERT_EQ(again, place);
  ASSERT_EQ(peer::Write(block_, "never-shared"), ACL_SUCCESS);
  EXPECT_EQ(importer.Text("read 0 12"), "was-exported");
  EXPECT_EQ(importer.Code("write 0 overwritten!"), ACL_SUCCESS);
  EXPECT_EQ(peer::Read(block_, 12), "never-shared");
  EXPECT_EQ(importer.Quit(), 0);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

// Issue 13, point 2: the task waits for something that only happens after the export, so an export that waited for it
// would never end.
TEST_F(IpcMemory, AnExportWaitsForNoTaskAndItsWritesAreSeen) {
  aclrtStream stream = nullptr, other = nullptr;
  aclrtNotify held = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateNotify(&held, 0), ACL_SUCCESS);
  ASSERT_EQ(peer::Write(block_, "before"), ACL_SUCCESS);
  ASSERT_EQ(aclrtWaitAndResetNotify(held, stream, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(block_, kBytes, 'q', 6, stream), ACL_SUCCESS);
  ExpectImporterSees("before", "qqqqqq", stream, [&] { return aclrtRecordNotify(held, other); });
  EXPECT_EQ(aclrtDestroyNotify(held), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
}

TEST_F(IpcMemory, AGraphCapturedBeforeTheExportWritesWhereImportersRead) {
  aclrtStream stream = nullptr;
  aclmdlRI graph = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemsetAsync(block_, kBytes, 'g', 5, stream), ACL_SUCCESS);
  ASSERT_EQ(aclmdlRICaptureEnd(stream, &graph), ACL_SUCCESS);
  ASSERT_EQ(peer::Write(block_, "first"), ACL_SUCCESS);
  ExpectImporterSees("first", "ggggg", stream, [&] { return aclmdlRIExecuteAsync(graph, stream); });
  EXPECT_EQ(aclmdlRIDestroy(graph), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
}

// Where the host may touch device memory, and where a seed orders the tasks.
TEST_F(IpcMemory, ExportsWorkInSharedModeAndUnderASeed) {
  for (const char* setting : {"MILLPOND_DEVICE_MEMORY=shared", "MILLPOND_SEED=7"}) {
    Peer exporter({setting});
    ASSERT_EQ(exporter.Code("malloc 10000"), ACL_SUCCESS) << setting;
    ASSERT_EQ(exporter.Code("write 9000 from-there"), ACL_SUCCESS) << setting;
    const std::string key = exporter.Text("export-key 10000 1");
    void* address = nullptr;
    ASSERT_EQ(aclrtIpcMemImportByKey(&address, key.c_str(), 0), ACL_SUCCESS) << setting;
    EXPECT_EQ(peer::Read(static_cast<char*>(address) + 9000, 10), "from-there") << setting;
    EXPECT_EQ(peer::Write(address, "from-here"), ACL_SUCCESS);
    EXPECT_EQ(exporter.Text("read 0 9"), "from-here") << setting;
    EXPECT_EQ(exporter.Code("free"), ACL_SUCCESS) << setting;
    EXPECT_EQ(peer::Read(address, 9), "from-here") << "the importer's own end stays; " << setting;
    EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
    EXPECT_EQ(exporter.Quit(), 0) << setting;
  }
}

// Issue 13, point 1.
TEST_F(IpcMemory, AProcessOfAnotherUserIsRefusedEvenWithTheKey) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  const std::string key = Export(ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  Peer importer;
  ASSERT_EQ(importer.Code("setuid 65534"), 0);
  EXPECT_EQ(importer.Code(Import(key)), ACL_ERROR_RT_NO_PERMISSION);
  EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
}

// Virtual memory has handles of its own for this.
TEST_F(IpcMemory, MappedVirtualMemoryIsReferredToShareableHandles) {
  void* address = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&address, peer::kPage, 0, nullptr, 0), ACL_SUCCESS);
  const aclrtPhysicalMemProp prop = peer::HugeProp();
  aclrtDrvMemHandle handle = nullptr;
  ASSERT_EQ(aclrtMallocPhysical(&handle, peer::kPage, &prop, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(address, peer::kPage, 0, handle, 0), ACL_SUCCESS);
  char key[65];
  EXPECT_EQ(aclrtIpcMemGetExportKey(address, peer::kPage, key, 65, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("aclrtMemExportToShareableHandle"), std::string::npos);
  EXPECT_EQ(aclrtUnmapMem(address), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(address), ACL_SUCCESS);
}

}  // namespace

int main(int argc, char** argv) { return peer::Main(argc, argv); }
