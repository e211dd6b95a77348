// SPDX-License-Identifier: Apache-2.0
// Notifies and events between processes.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "acl/acl.h"
#include "tests/acl/peer_process.h"

namespace {

using peer::Peer;

class IpcSync : public peer::PeerTest {
 protected:
  void SetUp() override {
    PeerTest::SetUp();
    ASSERT_EQ(aclrtCreateStream(&stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtCreateNotify(&notify_, 0), ACL_SUCCESS);
  }
  void TearDown() override {
    EXPECT_EQ(aclrtDestroyStream(stream_), ACL_SUCCESS);
    if (notify_ != nullptr) {
      EXPECT_EQ(aclrtDestroyNotify(notify_), ACL_SUCCESS);
    }
    PeerTest::TearDown();
  }
  std::string Export(uint64_t flags = ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION) {
    char key[65] = {};
    EXPECT_EQ(aclrtNotifyGetExportKey(notify_, key, sizeof(key), flags), ACL_SUCCESS);
    return key;
  }
  bool Busy() {
    aclrtStreamStatus status = ACL_STREAM_STATUS_RESERVED;
    EXPECT_EQ(aclrtStreamQuery(stream_, &status), ACL_SUCCESS);
    return status == ACL_STREAM_STATUS_NOT_READY;
  }
  static std::string KeyOf(aclrtEvent event) {
    aclrtIpcEventHandle handle{};
    EXPECT_EQ(aclrtIpcGetEventHandle(event, &handle), ACL_SUCCESS);
    return std::string(handle.reserved, sizeof(handle.reserved));
  }
  aclrtStream stream_ = nullptr;
  aclrtNotify notify_ = nullptr;
};

// Page "aclrtNotifyGetExportKey": A waits, B records.
TEST_F(IpcSync, WaitHereEndsWithARecordThere) {
  const std::string key = Export(ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT);
  Peer importer;
  EXPECT_EQ(importer.Code("import-notify " + key + " 0"), ACL_ERROR_RT_NO_PERMISSION) << "nobody is named";
  int32_t pid = importer.pid();
  ASSERT_EQ(aclrtNotifySetImportPid(notify_, &pid, 1), ACL_SUCCESS);
  ASSERT_EQ(importer.Code("import-notify " + key + " 2"), ACL_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(aclrtWaitAndResetNotify(notify_, stream_, 0), ACL_SUCCESS);
    EXPECT_TRUE(Busy()) << "a wait takes the notify, so that the next one waits again; round " << round;
    ASSERT_EQ(importer.Code("record-notify"), ACL_SUCCESS);
    ASSERT_EQ(importer.Code("sync"), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream_, 10000), ACL_SUCCESS);
  }
  EXPECT_EQ(importer.Code("destroy-notify"), ACL_SUCCESS);
  EXPECT_EQ(importer.Quit(), 0);
}

TEST_F(IpcSync, WaitThereEndsWithARecordHereEvenOneThatCameBefore) {
  ASSERT_EQ(aclrtRecordNotify(notify_, stream_), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  const std::string key = Export();
  Peer importer;
  ASSERT_EQ(importer.Code("import-notify " + key + " 0"), ACL_SUCCESS);
  ASSERT_EQ(importer.Code("wait-notify"), ACL_SUCCESS);
  EXPECT_EQ(importer.Code("sync"), ACL_SUCCESS) << "recorded before it was exported";
  ASSERT_EQ(importer.Code("wait-notify"), ACL_SUCCESS);
  EXPECT_EQ(importer.Text("busy"), "1");
  ASSERT_EQ(aclrtRecordNotify(notify_, stream_), ACL_SUCCESS);
  EXPECT_EQ(importer.Code("sync"), ACL_SUCCESS);
  EXPECT_EQ(importer.Quit(), 0);
}

TEST_F(IpcSync, NotifyArgumentsAreChecked) {
  char key[128] = {};
  int32_t pid = 1;
  aclrtNotify out = nullptr;
  EXPECT_EQ(aclrtNotifySetImportPid(notify_, &pid, 1), ACL_ERROR_RT_PARAM_INVALID) << "not exported";
  EXPECT_EQ(aclrtNotifyGetExportKey(nullptr, key, 65, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyGetExportKey(notify_, nullptr, 65, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyGetExportKey(notify_, key, 64, 0), ACL_ERROR_RT_PARAM_INVALID) << "65 at least";
  EXPECT_EQ(aclrtNotifyGetExportKey(notify_, key, 65, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifyGetExportKey(stream_, key, 65, 0), ACL_ERROR_RT_INVALID_HANDLE) << "a stream";
  ASSERT_EQ(aclrtNotifyGetExportKey(notify_, key, 128, 0), ACL_SUCCESS) << "more room than needed";
  EXPECT_EQ(strlen(key), 64u);
  EXPECT_EQ(aclrtNotifySetImportPid(notify_, nullptr, 1), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifySetImportPid(notify_, &pid, 0), ACL_ERROR_RT_PARAM_INVALID);
  aclrtServerPid server{0, &pid, 1};
  EXPECT_EQ(aclrtNotifySetImportPidInterServer(notify_, &server, 1), ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtNotifyImportByKey(nullptr, key, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyImportByKey(&out, nullptr, 0), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtNotifyImportByKey(&out, key, 1), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifyImportByKey(&out, "rubbish", 0), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtNotifyImportByKey(&out, key, 0), ACL_ERROR_RT_PARAM_INVALID) << "this process's own";
}

// Page "aclrtNotifyImportByKey": the notify must live when it is imported.
TEST_F(IpcSync, DestroyedNotifyIsNotImportedAndAnImportIsNotExportedOn) {
  const std::string key = Export();
  Peer importer;
  ASSERT_EQ(importer.Code("import-notify " + key + " 0"), ACL_SUCCESS);
  EXPECT_EQ(importer.Code("re-export-notify"), ACL_ERROR_RT_PARAM_INVALID);
  ASSERT_EQ(aclrtDestroyNotify(notify_), ACL_SUCCESS);
  notify_ = nullptr;
  EXPECT_EQ(importer.Code("record-notify"), ACL_SUCCESS) << "the importer's own end still works";
  EXPECT_EQ(importer.Code("sync"), ACL_SUCCESS);
  Peer late;
  EXPECT_EQ(late.Code("import-notify " + key + " 0"), ACL_ERROR_RT_IPC_ERROR);
  EXPECT_EQ(importer.Quit(), 0);
  EXPECT_EQ(late.Quit(), 0);
}

// Page "aclrtIpcGetEventHandle": A records, B's stream waits.
TEST_F(IpcSync, StreamThereWaitsForAnEventRecordedHere) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC), ACL_SUCCESS);
  const std::string key = KeyOf(event);
  Peer opener;
  ASSERT_EQ(opener.Code("open-event " + key), ACL_SUCCESS);
  EXPECT_EQ(opener.Code("wait-event"), ACL_SUCCESS) << "never recorded: nothing to wait for";
  EXPECT_EQ(opener.Code("sync"), ACL_SUCCESS);
  for (int round = 0; round < 2; ++round) {
    ASSERT_EQ(aclrtWaitAndResetNotify(notify_, stream_, 0), ACL_SUCCESS);  // holds the stream
    ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
    ASSERT_EQ(opener.Code("wait-event"), ACL_SUCCESS);
    EXPECT_EQ(opener.Text("busy"), "1") << "round " << round;
    EXPECT_EQ(opener.Text("event-status"), std::to_string(ACL_EVENT_RECORDED_STATUS_NOT_READY));
    aclrtStream other = nullptr;
    ASSERT_EQ(aclrtCreateStream(&other), ACL_SUCCESS);
    ASSERT_EQ(aclrtRecordNotify(notify_, other), ACL_SUCCESS);
    EXPECT_EQ(opener.Code("sync"), ACL_SUCCESS) << "round " << round;
    EXPECT_EQ(opener.Text("event-status"), std::to_string(ACL_EVENT_RECORDED_STATUS_COMPLETE));
    ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
    ASSERT_EQ(aclrtDestroyStream(other), ACL_SUCCESS);
  }
  EXPECT_EQ(opener.Code("destroy-event"), ACL_SUCCESS);
  EXPECT_EQ(opener.Quit(), 0);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

TEST_F(IpcSync, EventRecordedBeforeItsHandleIsTakenIsSeenAsComplete) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC), ACL_SUCCESS);
  ASSERT_EQ(aclrtRecordEvent(event, stream_), ACL_SUCCESS);
  const std::string key = KeyOf(event);
  Peer opener;
  ASSERT_EQ(opener.Code("open-event " + key), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream_), ACL_SUCCESS);
  EXPECT_EQ(opener.Text("event-status"), std::to_string(ACL_EVENT_RECORDED_STATUS_COMPLETE));
  EXPECT_EQ(opener.Code("wait-event"), ACL_SUCCESS);
  EXPECT_EQ(opener.Code("sync"), ACL_SUCCESS);
  EXPECT_EQ(opener.Quit(), 0);
  EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

// Page "aclrtIpcGetEventHandle": only events made by aclrtCreateEventExWithFlag with ACL_EVENT_IPC.
TEST_F(IpcSync, OtherEventsAndWrongHandlesAreRefused) {
  aclrtIpcEventHandle handle{};
  aclrtEvent plain = nullptr, synced = nullptr, out = nullptr;
  ASSERT_EQ(aclrtCreateEvent(&plain), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateEventExWithFlag(&synced, ACL_EVENT_SYNC), ACL_SUCCESS);
  EXPECT_EQ(aclrtIpcGetEventHandle(plain, &handle), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcGetEventHandle(synced, &handle), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(aclrtIpcGetEventHandle(nullptr, &handle), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcGetEventHandle(plain, nullptr), ACL_ERROR_INVALID_PARAM);
  EXPECT_EQ(aclrtIpcOpenEventHandle(handle, &out), ACL_ERROR_RT_PARAM_INVALID) << "all zero";
  EXPECT_EQ(aclrtIpcOpenEventHandle(handle, nullptr), ACL_ERROR_INVALID_PARAM);
  // A notify's key is not an event's handle.
  const std::string key = Export();
  memcpy(handle.reserved, key.data(), sizeof(handle.reserved));
  EXPECT_EQ(aclrtIpcOpenEventHandle(handle, &out), ACL_ERROR_RT_PARAM_INVALID);
  EXPECT_EQ(out, nullptr);
  EXPECT_EQ(aclrtDestroyEvent(plain), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyEvent(synced), ACL_SUCCESS);
}

TEST_F(IpcSync, DestroyedEventIsNotOpened) {
  aclrtEvent event = nullptr;
  ASSERT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC), ACL_SUCCESS);
  const std::string key = KeyOf(event);
  ASSERT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
  Peer opener;
  EXPECT_EQ(opener.Code("open-event " + key), ACL_ERROR_RT_IPC_ERROR);
  EXPECT_EQ(opener.Quit(), 0);
}

}  // namespace

int main(int argc, char** argv) { return peer::Main(argc, argv); }
