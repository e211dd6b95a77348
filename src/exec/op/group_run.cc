// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/group_run.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/base/format.h"
#include "src/comm/collective.h"
#include "src/comm/messages.h"
#include "src/comm/vigil.h"
#include "src/device/device.h"
#include "src/device/memory/memory.h"
#include "src/exec/op/accesses.h"
#include "src/exec/op/launch.h"
#include "src/kernels/runtime/team.h"

namespace millpond {
namespace {

using What = GroupRequest::What;
using comm::Communicators;
using comm::Operation;

// The name that HCCL gives to all ranks. A process that met no other is all of them.
constexpr std::string_view kWorld = "hccl_world_group";

bool IsWorldOfOne(std::string_view name) { return name == kWorld && !Communicators::Get().HasPeers(); }

Status UnknownGroup(std::string_view name, const std::string& why) {
  return InvalidArgument(Format("there is no group '%s' %s; pass the name that HcclGetCommName gives. Known groups: %s",
                                std::string(name).c_str(), why.c_str(), Communicators::Get().NameGroups().c_str()));
}

// Each group that the call names, once; one that is left empty is none.
std::vector<std::string_view> GroupsOf(const OpCall& call) {
  std::vector<std::string_view> names;
  for (size_t place = 0; place < call.size(); ++place) {
    if (!NamesGroup(call.row().args[place]) || !call.has(place) || call.text(place).empty()) continue;
    if (std::find(names.begin(), names.end(), call.text(place)) == names.end()) names.push_back(call.text(place));
  }
  return names;
}

template <class Ours, class Theirs, size_t kCount>
Theirs Counterpart(const std::pair<Ours, Theirs> (&table)[kCount], Ours ours, Theirs otherwise) {
  for (const auto& [from, to] : table) {
    if (from == ours) return to;
  }
  return otherwise;
}

// What only moves is told as bytes where HCCL has no such type.
comm::Element ElementOf(DType type) {
  using comm::Element;
  static constexpr std::pair<DType, Element> kSame[] = {
      {DType::kInt8, Element::kInt8},     {DType::kInt16, Element::kInt16},    {DType::kInt32, Element::kInt32},
      {DType::kInt64, Element::kInt64},   {DType::kUint16, Element::kUint16},  {DType::kUint32, Element::kUint32},
      {DType::kUint64, Element::kUint64}, {DType::kHalf, Element::kFloat16},   {DType::kBfloat16, Element::kBfloat16},
      {DType::kFloat, Element::kFloat32}, {DType::kDouble, Element::kFloat64},
  };
  return Counterpart(kSame, type, Element::kUint8);
}

size_t BytesOf(DType type) {
  return ElementOf(type) == comm::Element::kUint8 ? 1 : static_cast<size_t>(BitsOf(type)) / 8;
}

bool Reduces(What what) {
  return what == What::kAllReduce || what == What::kReduce || what == What::kReduceScatter ||
         what == What::kReduceScatterV;
}

// The documented types of reductions, as in HCCL's own calls (docs/hccl.md).
Status ReductionOf(const GroupRequest& request, comm::Reduction* out) {
  static constexpr const char* kNames[] = {"sum", "prod", "max", "min"};
  const auto* found = std::find(std::begin(kNames), std::end(kNames), request.reduction);
  MP_REQUIRE(found != std::end(kNames), "the reduction '%s' is not one of sum, prod, max, min",
             request.reduction.c_str());
  *out = static_cast<comm::Reduction>(found - std::begin(kNames));
  const bool narrow = request.type == DType::kInt16 || request.type == DType::kBfloat16;
  MP_REQUIRE(!narrow || *out != comm::Reduction::kProd, "prod is documented for neither int16 nor bfloat16");
  static constexpr DType kTypes[] = {DType::kInt8, DType::kInt16, DType::kInt32,   DType::kInt64,
                                     DType::kHalf, DType::kFloat, DType::kBfloat16};
  MP_REQUIRE(std::find(std::begin(kTypes), std::end(kTypes), request.type) != std::end(kTypes),
             "type %s has no reduction over ranks; int8, int16, int32, int64, float16, float32 and bfloat16 have",
             DTypeName(request.type));
  return Ok();
}

Operation OperationOf(What what) {
  static constexpr std::pair<What, Operation> kSame[] = {
      {What::kAllReduce, Operation::kAllReduce},         {What::kReduce, Operation::kReduce},
      {What::kReduceScatter, Operation::kReduceScatter}, {What::kReduceScatterV, Operation::kReduceScatterV},
      {What::kAllGather, Operation::kAllGather},         {What::kAllGatherV, Operation::kAllGatherV},
      {What::kAlltoAll, Operation::kAlltoAll},           {What::kAlltoAllV, Operation::kAlltoAllV},
      {What::kBroadcast, Operation::kBroadcast},
  };
  return Counterpart(kSame, what, Operation::kBarrier);
}

std::vector<comm::Part> PartsOf(const std::vector<GroupPart>& parts) {
  std::vector<comm::Part> made;
  made.reserve(parts.size());
  for (const GroupPart& part : parts) made.push_back({part.offset, part.bytes});
  return made;
}

Status SpecOf(const char* api, const GroupRequest& request, comm::CollectiveSpec* out) {
  out->api = api;
  out->operation = OperationOf(request.what);
  out->type = ElementOf(request.type);
  out->element_bytes = BytesOf(request.type);
  if (Reduces(request.what)) MP_RETURN_IF_ERROR(ReductionOf(request, &out->reduction));
  out->root = static_cast<uint32_t>(request.root);
  out->send = static_cast<const char*>(request.send);
  out->receive = static_cast<char*>(request.receive);
  out->bytes = request.bytes;
  out->send_parts = PartsOf(request.send_parts);
  out->receive_parts = PartsOf(request.receive_parts);
  // Operations with lists compare the lists.
  if (comm::CountsOf(out->operation) == comm::Counts::kNone) {
    const size_t bytes = !out->send_parts.empty()      ? out->send_parts[0].bytes
                         : !out->receive_parts.empty() ? out->receive_parts[0].bytes
                                                       : out->bytes;
    out->count = bytes / out->element_bytes;
  }
  return Ok();
}

// In a group of one rank a reduction of one value is that value, a gather of one part is that part.
void MoveAlone(const GroupRequest& request) {
  if (request.what == What::kBroadcast || request.what == What::kBarrier) return;
  const GroupPart from = request.send_parts.empty() ? GroupPart{0, request.bytes} : request.send_parts[0];
  const GroupPart to = request.receive_parts.empty() ? GroupPart{0, from.bytes} : request.receive_parts[0];
  const size_t bytes = std::max(from.bytes, to.bytes);
  char* const into = static_cast<char*>(request.receive) + to.offset;
  const char* const source = static_cast<const char*>(request.send) + from.offset;
  if (bytes != 0 && into != source) CopyBytes(into, source, bytes);
}

bool IsMessage(const GroupRequest& request) { return request.what == What::kSend || request.what == What::kReceive; }

GroupSteps::Member MemberOf(std::string_view name, const comm::Communicator* comm) {
  if (comm == nullptr) return {std::string(name), 1, 0, nullptr};
  return {std::string(name), comm->ranks, comm->rank, [comm](int64_t rank) -> GroupWindow {
            const comm::RankWindow known = comm->windows.Of(static_cast<uint32_t>(rank));
            // A thread's memory may be gone by now.
            if (known.address == nullptr || !CheckRange("window", known.address, known.bytes).ok()) return {};
            return {reinterpret_cast<std::byte*>(known.address), known.bytes};
          }};
}

// A task that waits until other ranks have cleared words of their memory. Nobody rings for that: it is looked at.
class ClearWait {
 public:
  ClearWait(comm::CommunicatorPtr comm, const char* api, std::vector<GroupFlag> flags)
      : comm_(std::move(comm)), flags_(std::move(flags)), vigil_(api) {}

  TaskEnd Run(Stream& stream, Status* out_status) {
    return comm::RunParking(
        stream, [this](Status* status) { return Step(status); },
        [this] { return vigil_.Look(*comm_, [this] { return Awaited(); }); }, out_status);
  }

 private:
  static bool IsSet(const GroupFlag& flag) { return __atomic_load_n(flag.at, __ATOMIC_ACQUIRE) == 1; }

  comm::Advance Step(Status* out_status) {
    if (comm_->trouble() != comm::Communicator::Trouble::kNone) {
      *out_status = comm_->Failure();
      return comm::Advance::kOver;
    }
    const size_t before = flags_.size();
    std::erase_if(flags_, [](const GroupFlag& flag) { return !IsSet(flag); });
    if (flags_.empty()) return comm::Advance::kOver;
    if (flags_.size() == before) return comm::Advance::kNothing;
    vigil_.Progressed();
    return comm::Advance::kSomething;
  }
  std::vector<uint32_t> Awaited() const {
    std::vector<uint32_t> ranks;
    for (const GroupFlag& flag : flags_) {
      if (IsSet(flag)) ranks.push_back(static_cast<uint32_t>(flag.rank));
    }
    return ranks;
  }

  const comm::CommunicatorPtr comm_;
  std::vector<GroupFlag> flags_;
  comm::Vigil vigil_;  // looks at the communicator when it ends
};

Status CheckRoot(const GroupRequest& request, const comm::Communicator* comm) {
  const int64_t ranks = comm != nullptr ? comm->ranks : 1;
  MP_REQUIRE(request.root >= 0 && request.root < ranks, "rank %lld was named; the group '%s' has %lld of them",
             static_cast<long long>(request.root), request.group.c_str(), static_cast<long long>(ranks));
  MP_REQUIRE(!IsMessage(request) || comm == nullptr || comm->ranks == 1 || request.root != comm->rank,
             "rank %lld would exchange a message with itself", static_cast<long long>(request.root));
  return Ok();
}

}  // namespace

Status CheckGroups(const OpCall& call) {
  for (const std::string_view name : GroupsOf(call)) {
    if (!Communicators::Get().HasGroup(name) && !IsWorldOfOne(name)) return UnknownGroup(name, "in this process");
  }
  return Ok();
}

Status CheckInGroup(const kernels::Kernel& kernel, OpCall& call, int32_t device) {
  GroupSteps steps;
  steps.checking = true;
  std::vector<comm::CommunicatorPtr> comms;
  for (const std::string_view name : GroupsOf(call)) {
    size_t count = 0;
    comm::CommunicatorPtr found = Communicators::Get().FindGroup(name, device, &count);
    if (found == nullptr && !IsWorldOfOne(name)) return Ok();  // the launch says what is wrong
    steps.members.push_back(MemberOf(name, found.get()));
    comms.push_back(std::move(found));
  }
  Status status = kernels::AsGroupKernel(kernel).run_step(call, steps);
  AfterRun();
  if (!status.ok() || steps.request.what == What::kNone) return status;
  for (size_t i = 0; i < comms.size(); ++i) {
    if (steps.members[i].group != steps.request.group) continue;
    comm::CollectiveSpec spec;
    status = CheckRoot(steps.request, comms[i].get());
    if (status.ok() && !IsMessage(steps.request)) status = SpecOf(call.row().name, steps.request, &spec);
  }
  return std::move(status).Prefixed(call.row().name);
}

GroupTurns::GroupTurns(const GroupTurns& other) {
  for (const Member& member : other.members_) {
    members_.push_back({member.name, member.api, member.comm, comm::Turns::kReplay, nullptr});
  }
}

// A recorded task owes nothing to anybody until it is replayed: see GroupBody::Abandon.
GroupTurns::~GroupTurns() {
  const bool owes = std::any_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.turn != nullptr && member.number != comm::Turns::kReplay;
  });
  if (promised_ && owes) FailDropped();
}

Status GroupTurns::Join(const OpCall& call, const Stream& stream) {
  for (const std::string_view name : GroupsOf(call)) {
    if (Find(name) != nullptr) continue;
    const int32_t device = stream.device()->id();
    size_t count = 0;
    comm::CommunicatorPtr found = Communicators::Get().FindGroup(name, device, &count);
    MP_REQUIRE(count <= 1,
               "%zu ranks of the group '%s' are on device %d, so its name does not tell which one is meant; give each "
               "rank a device of its own",
               count, std::string(name).c_str(), device);
    if (found == nullptr && !IsWorldOfOne(name)) return UnknownGroup(name, Format("on device %d", device));
    MP_CHECK(found == nullptr || !found->suspended.load(), kStreamAborted,
             "the communicator '%s' is suspended; call HcclCommResume first", std::string(name).c_str());
    Member member{std::string(name), call.row().name, std::move(found), comm::Turns::kReplay, nullptr};
    if (member.comm != nullptr) {
      const bool recorded = stream.capture() != nullptr || stream.update() != nullptr;
      if (!recorded) member.number = member.comm->collectives.Draw();
      member.turn = std::make_unique<comm::Turn>(&member.comm->collectives, member.number);
    }
    members_.push_back(std::move(member));
  }
  return Ok();
}

GroupTurns::Member* GroupTurns::Find(std::string_view name) {
  const auto found = std::find_if(members_.begin(), members_.end(), [&](const Member& m) { return m.name == name; });
  return found == members_.end() ? nullptr : &*found;
}

void GroupTurns::End() {
  for (Member& member : members_) {
    member.turn.reset();
    member.number = comm::Turns::kReplay;
  }
}

void GroupTurns::Fail(const Status& status) const {
  for (const Member& member : members_) {
    if (member.comm != nullptr && member.comm->ranks > 1) {
      member.comm->Fail(comm::Communicator::Trouble::kRemote, status);
    }
  }
}

void GroupTurns::FailDropped() const {
  for (const Member& member : members_) {
    if (member.comm != nullptr && member.comm->ranks > 1) member.comm->FailDropped(member.api);
  }
}

GroupRun::~GroupRun() {
  if (turns_ == nullptr || steps_.step == 0) return;
  pending_ = nullptr;  // says more exactly what was dropped, if it was under way
  turns_->FailDropped();
}

TaskEnd GroupRun::Run(const kernels::Kernel& kernel, OpCall& call, const FloatRules& rules, GroupTurns& turns,
                      Stream& stream, Status* out_status) {
  if (turns_ == nullptr) {
    turns_ = &turns;
    for (const GroupTurns::Member& member : turns.members()) {
      steps_.members.push_back(MemberOf(member.name, member.comm.get()));
    }
  }
  const TaskEnd end = Go(kernel, call, turns, stream, out_status);
  if (end == TaskEnd::kBlocked) return end;
  turns_ = nullptr;
  steps_ = {};
  if (out_status->ok()) {
    rules.Finish(call);
  } else {
    turns.Fail(*out_status);  // the first failure stays
  }
  return end;
}

TaskEnd GroupRun::Go(const kernels::Kernel& kernel, OpCall& call, GroupTurns& turns, Stream& stream,
                     Status* out_status) {
  for (;;) {
    if (pending_) {
      const TaskEnd end = pending_(stream, out_status);
      if (end == TaskEnd::kBlocked) return end;
      pending_ = nullptr;
      if (!out_status->ok()) return end;
    }
    steps_.request = {};
    *out_status = kernels::AsGroupKernel(kernel).run_step(call, steps_);
    if (!out_status->ok() || steps_.request.what == What::kNone) return TaskEnd::kDone;
    ++steps_.step;
    *out_status = Begin(call, turns).Prefixed(call.row().name);
    if (!out_status->ok()) return TaskEnd::kDone;
  }
}

Status GroupRun::Begin(const OpCall& call, GroupTurns& turns) {
  const char* const api = call.row().name;
  const GroupRequest& request = steps_.request;
  GroupTurns::Member* const member = turns.Find(request.group);
  MP_CHECK(member != nullptr, kInternal, "the kernel asks for the group '%s', which the call does not name",
           request.group.c_str());
  const comm::CommunicatorPtr comm = member->comm;
  MP_RETURN_IF_ERROR(CheckRoot(request, comm.get()));
  if (comm == nullptr || comm->ranks == 1) {
    MP_REQUIRE(!IsMessage(request), "the group '%s' has one rank, which has nobody to exchange a message with",
               request.group.c_str());
    MoveAlone(request);
    return Ok();
  }
  if (request.what == What::kAwaitClear) {
    auto wait = std::make_shared<ClearWait>(comm, api, request.flags);
    pending_ = [wait](Stream& stream, Status* status) { return wait->Run(stream, status); };
    return Ok();
  }
  if (IsMessage(request)) {
    auto spec = std::make_shared<comm::BatchSpec>();
    const bool sends = request.what == What::kSend;
    spec->api = api;
    spec->messages.push_back({sends, sends ? const_cast<void*>(request.send) : request.receive, request.bytes,
                              ElementOf(request.type), static_cast<uint32_t>(request.root),
                              request.bytes / BytesOf(request.type), caller_, request.tag, api});
    // Along the pair's line, which has turns of its own: as in a replay it takes the next free one.
    auto run = std::make_shared<comm::BatchRun>(comm, std::move(spec), /*replay=*/true);
    pending_ = [run](Stream& stream, Status* status) { return run->Run(stream, status); };
    return Ok();
  }
  auto spec = std::make_shared<comm::CollectiveSpec>();
  MP_RETURN_IF_ERROR(SpecOf(api, request, spec.get()));
  spec->caller = caller_;
  spec->whole = api;
  if (member->turn == nullptr) member->turn = std::make_unique<comm::Turn>(&comm->collectives, member->number);
  comm::Turn* const turn = member->turn.get();
  auto run = std::make_shared<comm::CollectiveRun>(comm, std::move(spec));
  pending_ = [run, turn, waited = false](Stream& stream, Status* status) mutable {
    if (!waited) {
      const TaskEnd end = comm::RunParking(
          stream, [turn](Status*) { return turn->TryBegin() ? comm::Advance::kOver : comm::Advance::kNothing; },
          [] { return Ok(); }, status);
      if (end == TaskEnd::kBlocked) return end;
      waited = true;
    }
    return run->Run(stream, status);
  };
  return Ok();
}

namespace {

// The queued form: owns its call, copies it for capture.
class GroupBody {
 public:
  GroupBody(const kernels::Kernel* kernel, OpCallPtr call, std::shared_ptr<GroupTurns> turns, const Stream& stream,
            std::string what, const void* caller)
      : kernel_(kernel),
        call_(std::move(call)),
        turns_(std::move(turns)),
        rules_(stream),
        what_(std::move(what)),
        caller_(caller) {}
  GroupBody(const GroupBody& other)
      : kernel_(other.kernel_),
        call_(CloneOpCall(*other.call_)),
        turns_(std::make_shared<GroupTurns>(*other.turns_)),
        rules_(other.rules_),
        what_(other.what_),
        caller_(other.caller_) {}
  GroupBody(GroupBody&&) noexcept = default;
  GroupBody& operator=(const GroupBody&) = delete;
  GroupBody& operator=(GroupBody&&) = delete;
  ~GroupBody() { run_.reset(); }  // before the turns it refers to

  TaskEnd operator()(TaskSlot&, Stream& stream, Status* out_status) {
    if (run_ == nullptr) run_ = std::make_unique<GroupRun>(caller_);
    const TaskEnd end = run_->Run(*kernel_, *call_, rules_, *turns_, stream, out_status);
    if (end == TaskEnd::kBlocked) return end;
    run_.reset();
    turns_->End();
    if (!out_status->ok() && !what_.empty()) *out_status = std::move(*out_status).Prefixed(what_);
    return end;
  }

  // See TaskOps.
  void Abandon(TaskSlot&, bool mine) {
    turns_->FailDropped();
    if (!mine) return;
    run_.reset();
    turns_->End();
  }

 private:
  const kernels::Kernel* kernel_;
  OpCallPtr call_;
  std::shared_ptr<GroupTurns> turns_;  // a run that is parked refers to them, wherever the body goes meanwhile
  FloatRules rules_;
  std::string what_;
  const void* caller_;
  std::unique_ptr<GroupRun> run_;
};

struct TeamGroupBody : GroupBody {
  static constexpr bool kNeedsTeam = true;
  explicit TeamGroupBody(GroupBody&& body) : GroupBody(std::move(body)) {}
};

}  // namespace

Status LaunchInGroup(const kernels::Kernel* kernel, OpCallPtr call, Stream* stream, std::string what,
                     const void* caller) {
  const auto turns = std::make_shared<GroupTurns>();
  MP_RETURN_IF_ERROR(turns->Join(*call, *stream).Prefixed(what.empty() ? call->row().name : what));
  const std::vector<trace::Access> accesses =
      stream->wants_accesses() ? AccessesOf(*call) : std::vector<trace::Access>();
  const char* name = call->row().name;
  const bool needs_team = kernels::NeedsTeam(*call);
  turns->Promise();
  GroupBody body(kernel, std::move(call), turns, *stream, std::move(what), caller);
  Status launched = needs_team ? stream->Launch<TaskKind::kCompute>(name, accesses, TeamGroupBody(std::move(body)))
                               : stream->Launch<TaskKind::kCompute>(name, accesses, std::move(body));
  if (!launched.ok()) turns->Refuse();
  return launched;
}

}  // namespace millpond
