// SPDX-License-Identifier: Apache-2.0
// Physical memory between processes by shareable handle.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "acl/acl.h"
#include "tests/acl/peer_process.h"

namespace {

using acl_test::FreeBytes;
using peer::kPage;
using peer::Peer;

class ShareableHandle : public peer::PeerTest {
 protected:
  void SetUp() override {
    PeerTest::SetUp();
    free_before_ = FreeBytes();
    const aclrtPhysicalMemProp prop = peer::HugeProp();
    ASSERT_EQ(aclrtMallocPhysical(&handle_, kPage, &prop, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtReserveMemAddress(&at_, kPage, 0, nullptr, 0), ACL_SUCCESS);
    ASSERT_EQ(aclrtMapMem(at_, kPage, 0, handle_, 0), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtUnmapMem(at_), ACL_SUCCESS);
    EXPECT_EQ(aclrtReleaseMemAddress(at_), ACL_SUCCESS);
    if (handle_ != nullptr) {
      EXPECT_EQ(aclrtFreePhysical(handle_), ACL_SUCCESS);
    }
    PeerTest::TearDown();
  }
  uint64_t Export(uint64_t flags = ACL_RT_VMM_EXPORT_FLAG_DEFAULT) {
    uint64_t shareable = 0;
    EXPECT_EQ(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, flags, &shareable), ACL_SUCCESS);
    return shareable;
  }
  static std::string Import(uint64_t shareable) { return "import-handle " + std::to_string(shareable) + " 0"; }

  size_t free_before_ = 0;
  aclrtDrvMemHandle handle_ = nullptr;
  void* at_ = nullptr;
};

// Page "aclrtMemExportToShareableHandle": the whole course of A and B.
TEST_F(ShareableHandle, AllowedProcessMapsTheSameBytes) {
  const uint64_t shareable = Export();
  Peer importer;
  ASSERT_EQ(importer.start_code(), ACL_SUCCESS);
  int32_t pid = importer.pid();
  ASSERT_EQ(aclrtMemSetPidToShareableHandle(shareable, &pid, 1), ACL_SUCCESS);
  ASSERT_EQ(peer::Write(at_, "from-the-exporter"), ACL_SUCCESS);
  ASSERT_EQ(importer.Code(Import(shareable)), ACL_SUCCESS);
  EXPECT_EQ(importer.Text("properties"), "0 " + std::to_string(ACL_HBM_MEM_HUGE));
  ASSERT_EQ(importer.Code("map"), ACL_SUCCESS);
  EXPECT_EQ(importer.Text("read 0 17"), "from-the-exporter");
  EXPECT_EQ(importer.Code("write 1000000 from-the-importer"), ACL_SUCCESS);
  EXPECT_EQ(peer::Read(static_cast<char*>(at_) + 1000000, 17), "from-the-importer");
  EXPECT_EQ(importer.Code("unmap"), ACL_SUCCESS);
  EXPECT_EQ(importer.Code("free-handle"), ACL_SUCCESS);
  EXPECT_EQ(importer.Quit(), 0);
}

TEST_F(ShareableHandle, ProcessThatIsNotNamedIsRefusedUntilItIs) {
  const uint64_t shareable = Export();
  Peer importer;
  EXPECT_EQ(importer.Code(Import(shareable)), ACL_ERROR_RT_NO_PERMISSION);
  int32_t others[] = {1, getpid()};
  ASSERT_EQ(aclrtMemSetPidToShareableHandle(shareable, others, 2), ACL_SUCCESS);
  EXPECT_EQ(importer.Code(Import(shareable)), ACL_ERROR_RT_NO_PERMISSION);
  int32_t pid = importer.pid();
  ASSERT_EQ(aclrtMemSetPidToShareableHandle(shareable, &pid, 1), ACL_SUCCESS);
  EXPECT_EQ(importer.Code(Import(shareable)), ACL_SUCCESS);
  EXPECT_EQ(importer.Quit(), 0);
}

TEST_F(ShareableHandle, WithoutPidValidationTheHandleIsEnough) {
  const uint64_t shareable = Export(ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  Peer importer;
  EXPECT_EQ(importer.Code(Import(shareable)), ACL_SUCCESS);
  EXPECT_EQ(importer.Quit(), 0);
}

TEST_F(ShareableHandle, ArgumentsAreChecked) {
  uint64_t shareable = 5;
  int32_t pid = 1;
  aclrtDrvMemHandle out = nullptr;
  EXPECT_EQ(aclrtMemExportToShareableHandle(nullptr, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_POSIX, 0, &shareable),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 2, &shareable),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemExportToShareableHandle(at_, ACL_MEM_HANDLE_TYPE_NONE, 0, &shareable), ACL_ERROR_RT_INVALID_HANDLE);
  EXPECT_EQ(shareable, 5u);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(5, &pid, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(0, &pid, 1), ACL_ERROR_RT_PARAM_INVALID);
  shareable = Export();
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetPidToShareableHandle(shareable, &pid, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(0, 0, &out), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 4096, &out), ACL_ERROR_RT_INVALID_DEVICEID);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(0x1234567812345678, 0, &out), ACL_ERROR_RT_IPC_ERROR) << "made up";
  // V2 of the same.
  EXPECT_EQ(aclrtMemExportToShareableHandleV2(handle_, 0, static_cast<aclrtMemSharedHandleType>(3), &shareable),
            ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 1, &out),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemImportFromShareableHandleV2(nullptr, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &out),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtMemSetPidToShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, nullptr, 1),
            ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(out, nullptr);
}

// CANN's chapter on virtual memory: handle and shareable handle are one to one; import is for other processes.
TEST_F(ShareableHandle, OneExportPerHandleAndNoImportInTheExporter) {
  const uint64_t shareable = Export(ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  uint64_t again = 0;
  EXPECT_EQ(aclrtMemExportToShareableHandle(handle_, ACL_MEM_HANDLE_TYPE_NONE, 0, &again), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(again, 0u);
  aclrtDrvMemHandle mine = nullptr;
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &mine), ACL_ERROR_RT_PARAM_INVALID);
  Peer importer;
  ASSERT_EQ(importer.Code(Import(shareable)), ACL_SUCCESS);
  EXPECT_EQ(importer.Code(Import(shareable)), ACL_ERROR_RT_PARAM_INVALID) << "imported already";
  EXPECT_EQ(importer.Code("export-handle 0"), ACL_ERROR_RT_PARAM_INVALID) << "only the maker exports";
  EXPECT_EQ(importer.Code("free-handle"), ACL_SUCCESS);
  EXPECT_EQ(importer.Code(Import(shareable)), ACL_SUCCESS) << "freed, so once more";
  EXPECT_EQ(importer.Quit(), 0);
}

// Page "aclrtMapMem": a reservation holds own or imported memory, not both.
TEST_F(ShareableHandle, OwnAndImportedMemoryDoNotMixInOneReservation) {
  Peer exporter;
  ASSERT_EQ(exporter.Code("physical"), ACL_SUCCESS);
  const uint64_t shareable = std::stoull(exporter.Text("export-handle 1"));
  aclrtDrvMemHandle imported = nullptr;
  ASSERT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &imported), ACL_SUCCESS);
  void* base = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&base, 2 * kPage, 0, nullptr, 0), ACL_SUCCESS);
  char* second = static_cast<char*>(base) + kPage;
  ASSERT_EQ(aclrtMapMem(base, kPage, 0, imported, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtMapMem(second, kPage, 0, handle_, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  EXPECT_EQ(aclrtMapMem(second, kPage, 0, handle_, 0), ACL_SUCCESS) << "not at the same time, but afterwards";
  EXPECT_EQ(aclrtMapMem(base, kPage, 0, imported, 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtUnmapMem(second), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(imported), ACL_SUCCESS);
  EXPECT_EQ(exporter.Quit(), 0);
}

// CANN's chapter on virtual memory: physical memory is released when every process that has it has freed it.
TEST_F(ShareableHandle, MemoryLivesUntilTheLastProcessFreesIt) {
  const uint64_t shareable = Export(ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  Peer first, second;
  ASSERT_EQ(peer::Write(at_, "kept"), ACL_SUCCESS);
  for (Peer* importer : {&first, &second}) {
    ASSERT_EQ(importer->Code(Import(shareable)), ACL_SUCCESS);
    ASSERT_EQ(importer->Code("map"), ACL_SUCCESS);
  }
  ASSERT_EQ(aclrtUnmapMem(at_), ACL_SUCCESS);
  ASSERT_EQ(aclrtFreePhysical(handle_), ACL_SUCCESS);
  handle_ = nullptr;
  EXPECT_EQ(FreeBytes(), free_before_ - kPage);
  // Whatever is allocated next must not land on it.
  const aclrtPhysicalMemProp prop = peer::HugeProp();
  ASSERT_EQ(aclrtMallocPhysical(&handle_, kPage, &prop, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(at_, kPage, 0, handle_, 0), ACL_SUCCESS);
  ASSERT_EQ(peer::Write(at_, "other"), ACL_SUCCESS);
  EXPECT_EQ(first.Text("read 0 4"), "kept");
  Peer late;
  EXPECT_EQ(late.Code(Import(shareable)), ACL_ERROR_RT_IPC_ERROR) << "the export ended with the exporter's handle";
  EXPECT_EQ(first.Code("free-handle"), ACL_SUCCESS);
  EXPECT_EQ(first.Code("unmap"), ACL_SUCCESS);
  EXPECT_EQ(first.Quit(), 0);
  EXPECT_EQ(second.Text("read 0 4"), "kept");
  EXPECT_EQ(FreeBytes(), free_before_ - 2 * kPage);
  second.Kill();  // dies without freeing
  size_t free = 0;
  for (int i = 0; i < 5000 && (free = FreeBytes()) != free_before_ - kPage; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(free, free_before_ - kPage);
}

TEST_F(ShareableHandle, ImportsOutliveTheExporter) {
  Peer exporter;
  ASSERT_EQ(exporter.Code("physical"), ACL_SUCCESS);
  ASSERT_EQ(exporter.Code("map"), ACL_SUCCESS);
  ASSERT_EQ(exporter.Code("write 0 outlives-its-process"), ACL_SUCCESS);
  const uint64_t shareable = std::stoull(exporter.Text("export-handle 1"));
  aclrtDrvMemHandle imported = nullptr;
  ASSERT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &imported), ACL_SUCCESS);
  exporter.Kill();
  void* base = nullptr;
  ASSERT_EQ(aclrtReserveMemAddress(&base, kPage, 0, nullptr, 0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMapMem(base, kPage, 0, imported, 0), ACL_SUCCESS) << "mapped after the exporter's death";
  EXPECT_EQ(peer::Read(base, 20), "outlives-its-process");
  EXPECT_EQ(aclrtUnmapMem(base), ACL_SUCCESS);
  EXPECT_EQ(aclrtReleaseMemAddress(base), ACL_SUCCESS);
  EXPECT_EQ(aclrtFreePhysical(imported), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemImportFromShareableHandle(shareable, 0, &imported), ACL_ERROR_RT_IPC_ERROR);
}

// Page "aclrtMemExportToShareableHandleV2": the default form is the same number; the fabric form is the A3 series' and
// refused elsewhere.
TEST_F(ShareableHandle, V2DefaultIsTheSameHandleAndFabricIsRefusedOnThisSeries) {
  aclrtMemFabricHandle fabric{};
  EXPECT_EQ(aclrtMemExportToShareableHandleV2(handle_, 0, ACL_MEM_SHARE_HANDLE_TYPE_FABRIC, &fabric),
            ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  uint64_t shareable = 0;
  ASSERT_EQ(aclrtMemExportToShareableHandleV2(handle_, 0, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &shareable), ACL_SUCCESS);
  Peer importer;
  const std::string number = std::to_string(shareable);
  EXPECT_EQ(importer.Code("import-v2 " + number), ACL_ERROR_RT_NO_PERMISSION);
  int32_t pid = importer.pid();
  ASSERT_EQ(aclrtMemSetPidToShareableHandleV2(&shareable, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &pid, 1), ACL_SUCCESS);
  EXPECT_EQ(importer.Code("import-v2 " + number), ACL_SUCCESS);
  EXPECT_EQ(importer.Code("free-handle"), ACL_SUCCESS);
  EXPECT_EQ(importer.Code(Import(shareable)), ACL_SUCCESS) << "V1 understands it too";
  EXPECT_EQ(importer.Quit(), 0);
}

TEST_F(ShareableHandle, FabricHandlesWorkWithinTheHostOnA3) {
  const std::vector<std::string> settings{"MILLPOND_SOC=Ascend910_9392"};
  Peer exporter(settings), importer(settings);
  ASSERT_EQ(exporter.start_code(), ACL_SUCCESS);
  ASSERT_EQ(exporter.Code("physical"), ACL_SUCCESS);
  ASSERT_EQ(exporter.Code("map"), ACL_SUCCESS);
  ASSERT_EQ(exporter.Code("write 0 over-the-fabric"), ACL_SUCCESS);
  const std::string fabric = exporter.Text("export-fabric");
  EXPECT_EQ(fabric.size(), 2 * sizeof(aclrtMemFabricHandle));
  EXPECT_EQ(importer.Code("import-fabric " + fabric), ACL_ERROR_RT_NO_PERMISSION);
  EXPECT_EQ(importer.Code("import-fabric " + std::string(256, '0')), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(exporter.Code("allow-fabric " + fabric + " " + std::to_string(importer.pid())), ACL_SUCCESS);
  ASSERT_EQ(importer.Code("import-fabric " + fabric), ACL_SUCCESS);
  ASSERT_EQ(importer.Code("map"), ACL_SUCCESS);
  EXPECT_EQ(importer.Text("read 0 15"), "over-the-fabric");
  EXPECT_EQ(importer.Quit(), 0);
  EXPECT_EQ(exporter.Quit(), 0);
}

// Page "aclrtMemImportFromShareableHandle": exported on one device, imported on another.
TEST_F(ShareableHandle, ImportMayNameAnotherDevice) {
  const uint64_t shareable = Export(ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
  ASSERT_EQ(peer::Write(at_, "on-device-one"), ACL_SUCCESS);
  Peer importer({"MILLPOND_DEVICES=2"}, 1);
  ASSERT_EQ(importer.start_code(), ACL_SUCCESS);
  const std::string number = std::to_string(shareable);
  EXPECT_EQ(importer.Code("import-handle " + number + " 2"), ACL_ERROR_RT_INVALID_DEVICEID);
  ASSERT_EQ(importer.Code("import-handle " + number + " 1"), ACL_SUCCESS);
  EXPECT_EQ(importer.Text("properties"), "1 " + std::to_string(ACL_HBM_MEM_HUGE));
  ASSERT_EQ(importer.Code("map"), ACL_SUCCESS);
  EXPECT_EQ(importer.Text("read 0 13"), "on-device-one");
  EXPECT_EQ(importer.Quit(), 0);
}

}  // namespace

int main(int argc, char** argv) { return peer::Main(argc, argv); }
