// SPDX-License-Identifier: Apache-2.0
// Runs kernels that work with other ranks of a group (src/ops/group_steps.h): its steps compute, and between them the
// task is parked in an operation of src/comm. A task takes its turn among a communicator's operations when it is
// launched, and keeps it from its first operation to its end.
#ifndef MILLPOND_SRC_EXEC_OP_GROUP_RUN_H_
#define MILLPOND_SRC_EXEC_OP_GROUP_RUN_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/status.h"
#include "src/comm/communicator.h"
#include "src/device/stream/stream.h"
#include "src/exec/op/float_rules.h"
#include "src/kernels/runtime/group_kernel.h"
#include "src/ops/group_steps.h"

namespace millpond {

// Does this process know the groups that the call names? Says which ones it knows where not.
Status CheckGroups(const OpCall& call);

// Asks the kernel whether it would refuse the call's arguments, before anything is promised to other ranks: what fails
// while it runs costs the group its communicator. Says nothing where the groups' ranks on `device` are not known. pre:
// the call's memory is validated.
Status CheckInGroup(const kernels::Kernel& kernel, OpCall& call, int32_t device);

// The groups that a task works in, each with the task's turn.
class GroupTurns {
 public:
  GroupTurns() = default;
  // For one more run of a recorded task: its turns are as free as each replay's.
  GroupTurns(const GroupTurns& other);
  GroupTurns& operator=(const GroupTurns&) = delete;
  ~GroupTurns();

  // Adds the groups that a call names. A task that is recorded draws no turns.
  Status Join(const OpCall& call, const Stream& stream);
  // The task is about to be queued: other ranks count on it, and hear of it if it is dropped before it is over.
  void Promise() { promised_ = true; }
  // It was not queued, and whoever called knows.
  void Refuse() { promised_ = false; }

  struct Member {
    std::string name;
    const char* api = nullptr;   // the operator that named it first
    comm::CommunicatorPtr comm;  // null: the process alone
    uint64_t number = 0;         // of the turn
    std::unique_ptr<comm::Turn> turn;
  };
  const std::vector<Member>& members() const { return members_; }
  Member* Find(std::string_view name);
  // Gives the turns up; the next run is a replay.
  void End();
  // Other ranks would wait in vain for what this one does not do any more.
  void Fail(const Status& status) const;
  // The same of a task that ends with its stream.
  void FailDropped() const;

 private:
  std::vector<Member> members_;
  bool promised_ = false;
};

// One call on its way.
class GroupRun {
 public:
  // `caller`: the address that the client's call returns to; null in graphs, where the operator's name has to do.
  explicit GroupRun(const void* caller = nullptr) : caller_(caller) {}
  ~GroupRun();
  GroupRun(const GroupRun&) = delete;
  GroupRun& operator=(const GroupRun&) = delete;

  // kBlocked: the stream is parked, and comes back here.
  TaskEnd Run(const kernels::Kernel& kernel, OpCall& call, const FloatRules& rules, GroupTurns& turns, Stream& stream,
              Status* out_status);

 private:
  TaskEnd Go(const kernels::Kernel& kernel, OpCall& call, GroupTurns& turns, Stream& stream, Status* out_status);
  Status Begin(const OpCall& call, GroupTurns& turns);

  GroupSteps steps_;
  // What the task is parked in; empty when it computes.
  std::function<TaskEnd(Stream& stream, Status* out_status)> pending_;
  const void* const caller_;
  GroupTurns* turns_ = nullptr;  // while the run is under way
};

// Queues a call of such a kernel. `what` stands before a failure's text, if it is not empty.
Status LaunchInGroup(const kernels::Kernel* kernel, OpCallPtr call, Stream* stream, std::string what,
                     const void* caller = nullptr);

}  // namespace millpond

#endif  // MILLPOND_SRC_EXEC_OP_GROUP_RUN_H_
