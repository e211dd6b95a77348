// SPDX-License-Identifier: Apache-2.0
// What evidence is made of. A record names things by number or handle and points at nothing that outlives the call it
// is given in, unless its comment says so. Times are 0 unless some sink asked for clocks, stacks likewise.
#ifndef MILLPOND_SRC_TRACE_RECORDS_H_
#define MILLPOND_SRC_TRACE_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace millpond::trace {

// --- Accesses ---------------------------------------------------------------------------------------------------

// kWrite is write-only: what was there before does not matter to the task.
enum class Mode : uint8_t { kRead, kWrite, kReadWrite };

enum AccessFlag : uint8_t {
  // The task touches some of the range, which part is known only when it runs (scatter, paged cache), or the range is a
  // hull around what it touches. Never proof of a conflict by itself.
  kMayTouch = 1,
};

// Bytes a task touches, by the address the client knows (never our alias): `rows` rows of `bytes`, `pitch` bytes from
// the beginning of one to the next.
struct Access {
  const void* address;
  size_t bytes;
  Mode mode;
  uint8_t flags = 0;  // AccessFlag
  uint32_t rows = 1;
  size_t pitch = 0;  // read only when there are several rows

  // From the first byte to the last.
  size_t extent() const { return bytes + (rows > 1 ? (rows - 1) * pitch : 0); }
};

// `rows` rows of `bytes`, as one range where they touch. pre: rows > 0, pitch >= bytes, and the last byte has an
// address.
inline Access RowsOf(const void* address, size_t bytes, size_t rows, size_t pitch, Mode mode) {
  if (pitch == bytes || rows == 1) return {address, bytes * rows, mode};
  if (rows > UINT32_MAX) return {address, (rows - 1) * pitch + bytes, mode, kMayTouch};
  return {address, bytes, mode, 0, static_cast<uint32_t>(rows), pitch};
}

// --- Tasks ------------------------------------------------------------------------------------------------------

enum class TaskKind : uint8_t {
  kCompute,
  kCopy,
  kSet,
  kEventRecord,
  kEventWait,
  kEventReset,
  kValueWrite,
  kValueWait,
  kNotifyRecord,
  kNotifyWait,
  kHostFunc,
  kCallback,
  kGraph,
  kOther,
};

// What two ends of an order share.
enum class Link : uint8_t {
  kEvent,        // `id` is the event's handle, `generation` which record of it, from 1
  kSharedEvent,  // the same, counted over all processes that have it
  kNotify,       // `id` is the notify's handle
  kValue,        // `id` is the word's address
  kPoint,        // `id` is a stream, `generation` the count of a task there: there is no record of it
};

// One end of an order between tasks: this task is what the other end waits for (kRecord), or waits itself (kWait), or
// takes back what a record has told, so that later waits wait again (kReset).
struct Edge {
  enum class Kind : uint8_t { kRecord, kWait, kReset } kind;
  Link link;
  // The ends find each other when they run, not now: OnSignal tells which met (level events, notifies, value words).
  bool binds_when_run;
  uint32_t node = 0;  // which node of the graph has the edge, when the task is a replay
  uint64_t id;
  uint64_t generation;  // 0 when it binds when run, except that records of level events have theirs
  // Of waits: the other end may be made by nobody that can be seen (another process), or the wait ends by itself.
  bool may_end_otherwise = false;
};

enum TaskFlag : uint8_t {
  kInternal = 1,      // an order that Millpond adds by itself: no program may rely on it
  kInsideTask = 2,    // a node of a replay or a step of a loaded graph: runs inside the task announced next
  kBlocksStream = 4,  // a host function or callback that the stream waits for
};

// A task was appended to its stream. Given under the lock that orders the stream's tasks, so the counts a sink sees of
// one stream only grow, and a wait comes after the record it is for.
struct TaskEnqueued {
  uint64_t task;  // unique in the process, from 1
  int32_t device;
  int32_t stream;  // unique in the process: no second life of a handle has it
  // The stream's completed() reaches this when the task has run. Goes up by one with each task of a stream; where it
  // starts means nothing.
  uint64_t count;
  TaskKind kind;
  uint8_t flags;   // TaskFlag
  uint32_t lane;   // of the captured graph, for a node of a replay
  uint32_t graph;  // of replays: the captured graph, else 0
  uint64_t nodes;  // of replays: node n runs as task `nodes + n`
  const char* name;
  uint32_t thread;
  uint32_t stack;  // StackDepot
  uint64_t time_ns;
  std::span<const Access> accesses;
  std::span<const Edge> edges;
};

// A task ended.
struct TaskRan {
  uint64_t task;
  int32_t device;
  int32_t stream;
  const char* name;
  uint32_t thread;
  uint64_t start_ns, end_ns;
  bool ok;
  uint8_t flags = 0;  // TaskFlag
};

// The ends of an edge that binds when run: given under the link's own lock, or, where it has none (value words), before
// a record takes effect and after a wait has seen it.
struct Signal {
  // kPassed: the host has seen that no wait for the link is left; of a kPoint, that the stream's tasks up to `count`
  // were dropped.
  enum class Kind : uint8_t { kRaised, kMet, kLowered, kPassed } kind;
  Link link;
  uint64_t id;
  uint64_t generation;  // kMet: the latest kRaised it can have seen
  int32_t stream;       // -1: the host
  uint64_t count;       // of the task in its stream
};

// A client's function that a stream called begins or ends on the thread given: stream -> thread, and thread -> stream
// at its end when the stream waits for it.
struct HostFunction {
  bool begins;
  bool blocks_stream;
  TaskKind kind;  // kHostFunc or kCallback
  int32_t stream;
  uint64_t count;
  uint32_t thread;
};

// --- Captured graphs --------------------------------------------------------------------------------------------

struct GraphNode {
  TaskKind kind;
  bool runs;  // false: it only orders others (an event inside the graph), or was disabled
  uint32_t lane;
  const char* name;
  uint64_t event;  // of event nodes: the client's handle, else 0
  std::span<const Access> accesses;
  std::span<const uint32_t> after;  // nodes of other lanes it waits for; its own lane runs in order of number
};

// The calling thread has just recorded a task into a graph, as node `node`; its shape comes when it is sealed.
struct NodeCaptured {
  uint32_t graph;  // as in GraphShape
  uint32_t node;
  uint32_t thread;
  uint32_t stack;
};

// A captured graph as it will replay from now on. Given when it is sealed, again when its nodes have changed, and
// before its next replay to sinks attached meanwhile.
struct GraphShape {
  uint32_t graph;  // unique in the process, from 1
  int32_t device;
  std::span<const int32_t> lanes;      // the streams that were captured
  std::span<const uint32_t> children;  // bodies of conditional nodes
  std::span<const GraphNode> nodes;
};

// --- The host ---------------------------------------------------------------------------------------------------

enum class WaitKind : uint8_t {
  kInternal,  // Millpond waits for reasons of its own: no program may rely on it
  kStream,    // aclrtSynchronizeStream and its like
  kDevice,
  kEvent,
  kQuery,    // asked whether it is done, and it was
  kCopy,     // a copy or fill that is asynchronous by name but takes pageable memory
  kDestroy,  // a stream's destruction
};

// The calling thread knows that `stream` has completed `count` tasks.
struct HostWait {
  WaitKind kind;
  int32_t device;
  int32_t stream;  // -1 when an event of another process or a captured graph was waited for: see `event`
  uint64_t count;
  uint64_t event;  // the event's handle, or 0
  uint64_t generation;
  uint64_t last_of_client;  // the count of the stream's last task that is not Millpond's own, or 0
  uint32_t thread;
  uint64_t time_ns;
};

// The calling thread is about to wait for as long as it takes until `stream` has completed `count` tasks. A sink that
// knows the wait to be endless says so: the streams that wait for each other are then aborted, and the wait ends.
struct HostBlocks {
  int32_t stream;
  uint64_t count;
  uint32_t thread;
  uint32_t stack;
  std::span<int32_t> room;  // for their numbers ...
  size_t* out_stuck;        // ... and how many of them there are
};

// The calling thread reads and writes these ranges itself, now (aclrtMemcpy, aclrtMemset ...).
struct HostAccess {
  const char* name;
  uint32_t thread;
  uint32_t stack;
  uint64_t time_ns;
  std::span<const Access> accesses;
};

struct ApiCall {
  const char* name;
  uint32_t thread;
  uint64_t start_ns, end_ns;
  int result;  // the ABI's own code
};

// --- Memory -----------------------------------------------------------------------------------------------------

enum class MemoryKind : uint8_t { kDevice, kPhysical, kPinned, kRegistered, kManaged };

// Memory was allocated or given back.
struct MemoryChange {
  bool allocated;
  MemoryKind kind;
  int32_t device;  // -1 for host memory
  const void* address;
  size_t bytes;
  uint32_t thread;
  uint64_t time_ns;
  uint64_t device_live_bytes;  // after the change
  uint32_t stack = 0;
};

// Virtual addresses were reserved or released, physical memory was mapped there or unmapped. Given under the lock that
// orders them all.
struct MappingChange {
  enum class Kind : uint8_t { kReserved, kReleased, kMapped, kUnmapped } kind;
  int32_t device;
  const void* address;
  size_t bytes;
  uint64_t physical;  // number of the physical memory, as MemoryChange has it for an address; 0 for reservations
  uint32_t thread;
  uint32_t stack;
  uint64_t time_ns;
};

// Bytes are not what they were although nobody may have written them. Given to sinks that ask for guards or sources.
struct Damage {
  enum class Kind : uint8_t {
    kRedZone,    // beyond a block
    kAfterFree,  // in a block that was freed
    kSource,     // the pinned source of a copy, between its enqueueing and its run
    // The host touched the pinned target of a copy that it has not waited for. The stack is the touch's.
    kTargetRead,
    kTargetWritten,
  } kind;
  int32_t device;       // -1 for host memory
  const void* address;  // from the first byte that differs
  size_t bytes;         // to the last
  const void* block;    // the beginning of the block, or null where only the address is known
  int32_t stream;       // of kSource: the task that copies, else -1
  uint64_t count;
  bool at_free;  // found while the block is being freed, by the caller
  uint32_t thread;
  uint32_t stack;
  uint64_t time_ns;
};

// --- What clients tell of themselves (millpond/check.h, mstx) -------------------------------------------------------

// A piece that a pool cut from its memory and gave out, or has back. Given without a lock of ours.
struct PoolPiece {
  bool begins;
  // A pool of the program's own, or one that tells regions (mstxMemRegionsRegister), as torch_npu's does.
  enum class Teller : uint8_t { kProgram, kRegions } teller;
  int32_t device;  // -1 when that is not told
  const void* address;
  size_t bytes;        // 0 at its end: a piece is known by its beginning
  const char* name;    // may be null
  const void* stream;  // the handle it was asked for on; null: not known
  uint32_t thread;
  uint32_t stack;
};

// The next task that the calling thread launches touches these too.
struct NextTask {
  std::span<const Access> accesses;
};

// --- Allocators that clients bring ------------------------------------------------------------------------------

enum class Door : uint8_t { kAcl, kGe };

// Given under the registry's lock.
struct AllocatorRegistration {
  enum class Kind : uint8_t { kRegistered, kReplaced, kUnregistered, kStreamDestroyed } kind;
  Door door;
  const void* stream;  // the client's handle, which need not be a live stream
  const void* object;  // the client's allocator object; null when unregistered
  const void* former;  // what it replaced, or what went; null when there was nothing to unregister
  bool former_ended;   // the former one is no object any more: the client has destroyed it
  uint32_t thread;
  uint32_t stack;
  uint64_t time_ns;
};

enum class Purpose : uint8_t { kUnknown, kConstants, kFeature, kOutput, kWorkspace, kIntermediate };

// On whose behalf memory is asked for. The texts outlive the asking.
struct Asker {
  Purpose purpose = Purpose::kUnknown;
  const char* who = nullptr;  // the graph, model or operator
  const void* stream = nullptr;
};

// What a block of a client's says of itself. At acl's door blocks say nothing.
struct BlockFacts {
  bool known = false;
  size_t bytes = 0;            // its own size
  size_t owners = 0;           // its count
  const void* home = nullptr;  // the allocator object that its Free goes to
};

// One call into a client's allocator, after it has returned. Given under the lock that serialises calls into the
// object.
struct AllocatorCall {
  // kHandOver is no call: from now on the client itself gives the block back.
  enum class Kind : uint8_t { kAllocate, kAllocateAdvise, kAddress, kFree, kHandOver } kind;
  // kRefused: the block cannot be used. kEnded: the client has destroyed the object, so it was not called.
  enum class Outcome : uint8_t { kOk, kNull, kThrew, kRefused, kEnded } outcome;
  const char* callback;  // as the client calls it: "the allocator's Malloc"
  const void* object;
  Asker asker;
  size_t bytes;
  const void* hint;     // of kAllocateAdvise
  const void* block;    // the client's token
  const void* address;  // of kAddress, and of kFree when it is known
  BlockFacts facts;     // of kAddress, and of kFree before the call
  bool only_ours;       // of kFree: the client holds the object no more, it lives because the runtime does
  uint32_t thread;
  uint32_t stack;
  uint64_t start_ns, end_ns;
};

// --- Lives ------------------------------------------------------------------------------------------------------

enum class ObjectKind : uint8_t {
  kStream,  // `id` is the stream number, `detail` its priority
  kEvent,   // `detail`: the flags it was made with
  kNotify,
  kCountNotify,
  kContext,
  kAllocatorDescriptor,
  kCapturedGraph,  // `id` is the number GraphShape has
  kSession,
  kSessionGraph,
  kModel,
  kOutput,  // memory that a session's run found for an output: `handle` is its address, `detail` the session's `id`
};

// An object the client has a handle of was made or destroyed.
struct ObjectLife {
  bool created;
  ObjectKind kind;
  int32_t device;  // -1 when it belongs to none
  uint64_t handle;
  uint64_t id;  // a number no other object of its kind gets, or 0
  uint64_t detail;
  uint32_t thread;
  uint32_t stack;
  uint64_t time_ns;
};

// A graph or model was loaded, runs for the first time on a stream, or was unloaded.
struct ProgramStage {
  enum class Kind : uint8_t { kLoaded, kFirstRun, kUnloaded } kind;
  ObjectKind what;  // kSessionGraph or kModel
  const char* name;
  uint64_t handle;  // as in its ObjectLife
  const void* stream;
  int32_t device;
  bool given_memory;  // of kLoaded: constants or feature memory are the client's, set for this program
  uint32_t thread;
  uint32_t stack;
  uint64_t time_ns;
};

// --- Misuse -----------------------------------------------------------------------------------------------------

// A call that a rule of the checker forbids, told by whoever noticed: with every refusal that has a rule, and where the
// call goes on although the documents ask for something else.
struct Misuse {
  const char* rule;     // "MP501"
  const char* call;     // the entry point
  const char* message;  // what was asked, found, the bound, the next step
  uint64_t subject;     // the address or handle it is about, or 0
  uint32_t thread;
  uint32_t stack;
  uint64_t time_ns;
};

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_RECORDS_H_
