// SPDX-License-Identifier: Apache-2.0
// Callbacks other than allocators: on streams, for failed tasks, for dumps, for kernels of the user.
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "include/acl/acl_dump.h"
#include "include/acl/acl_mdl.h"
#include "include/acl/acl_op.h"
#include "include/acl/acl_rt.h"
#include "python/acl/allocator.h"
#include "python/acl/callback.h"

namespace millpond::python {

namespace {

// What a callback on a stream calls: once, or, from a captured graph, at each replay.
struct Task {
  Ref function;
  Ref argument;
  uint64_t stream;
  bool repeats;
};

// By the number the runtime has, so that one that comes late finds nothing instead of an object that is gone. Guarded
// by the GIL, never destroyed.
using Tasks = std::map<uintptr_t, std::shared_ptr<Task>>;
Tasks& tasks() {
  static auto& instance = *new Tasks;
  return instance;
}

void RunTask(void* number) {
  const WithGil gil;
  if (!gil) return;
  const auto found = tasks().find(reinterpret_cast<uintptr_t>(number));
  if (found == tasks().end()) return;
  const std::shared_ptr<Task> task = found->second;
  if (!task->repeats) tasks().erase(found);
  PyObject* answer = CallFromOutside(task->function.get(), task->argument.get());
  if (answer == nullptr) ReportException("a callback on a stream", task->function.get());
  Py_XDECREF(answer);
}

// How often a graph is replayed nobody knows: what it calls is kept.
bool IsCaptured(uint64_t stream) {
  aclmdlRICaptureStatus status = ACL_MODEL_RI_CAPTURE_STATUS_NONE;
  aclmdlRI model = nullptr;
  return stream != 0 && aclmdlRICaptureGetInfo(reinterpret_cast<aclrtStream>(stream), &status, &model) == ACL_SUCCESS &&
         status == ACL_MODEL_RI_CAPTURE_STATUS_ACTIVE;
}

template <class Launch>
PyObject* LaunchTask(Args& args, Py_ssize_t function, Py_ssize_t argument, uint64_t stream, Launch launch) {
  PyObject* callable = args.Callable(function);
  if (!args.ok()) return nullptr;
  static uintptr_t next_number = 1;
  const uintptr_t number = next_number++;
  tasks().emplace(number,
                  std::make_shared<Task>(Task{Ref(callable), Ref(args.Object(argument)), stream, IsCaptured(stream)}));
  const aclError ret = Released([&] { return launch(reinterpret_cast<void*>(number)); });
  if (ret != ACL_SUCCESS) tasks().erase(number);
  return Make(ret);
}

// What was queued on a stream that is gone will not run.
template <class Destroy>
PyObject* DestroyStream(Args& args, Destroy destroy) {
  const uint64_t stream = args.Word(0);
  if (!args.ok()) return nullptr;
  const aclError ret = Destroying([&] { return destroy(reinterpret_cast<aclrtStream>(stream)); });
  if (ret != ACL_SUCCESS) return Make(ret);
  std::vector<std::shared_ptr<Task>> dropped;  // letting go may run Python code: after the loop
  for (auto it = tasks().begin(); it != tasks().end();) {
    if (it->second->stream == stream && !it->second->repeats) {
      dropped.push_back(std::move(it->second));
      it = tasks().erase(it);
    } else {
      ++it;
    }
  }
  return Make(ret);
}

// One per process, as in C. Guarded by the GIL, never destroyed.
Ref& exception_callback() {
  static auto& slot = *new Ref;
  return slot;
}
Ref& dump_callback() {
  static auto& slot = *new Ref;
  return slot;
}

void TellException(aclrtExceptionInfo* info) {
  const WithGil gil;
  if (!gil) return;
  const Ref callable = exception_callback();
  PyObject* answer = nullptr;
  if (!callable) return;
  CallWithInts("the exception info callback", callable.get(), {reinterpret_cast<uintptr_t>(info)}, &answer);
  Py_XDECREF(answer);
}

int32_t TellDump(const acldumpChunk* chunk, int32_t) {
  const WithGil gil;
  if (!gil) return -1;
  const Ref callable = dump_callback();
  if (!callable) return -1;
  PyObject* dict = MakeDict({{"file_name", FixedText(chunk->fileName, sizeof(chunk->fileName))},
                             {"data_buf", ToPython(chunk->dataBuf)},
                             {"buf_len", ToPython(chunk->bufLen)},
                             {"is_last_chunk", ToPython(chunk->isLastChunk)},
                             {"offset", ToPython(chunk->offset)},
                             {"flag", ToPython(chunk->flag)}});
  PyObject* answer = dict != nullptr ? CallFromOutside(callable.get(), dict) : nullptr;
  if (answer == nullptr) ReportException("the dump callback", callable.get());
  Py_XDECREF(dict);
  const bool done = answer != nullptr;
  Py_XDECREF(answer);
  return done ? 0 : -1;
}

// Kernels of the user are code for an NPU: the registration is refused, so this is never called.
aclError NoCompilation(int, const aclTensorDesc* const*, int, const aclTensorDesc* const*, const aclopAttr*,
                       aclopKernelDesc*) {
  return ACL_ERROR_API_NOT_SUPPORT;
}

}  // namespace

PyObject* rt_launch_callback(Args& args) {
  const auto block_type = static_cast<aclrtCallbackBlockType>(args.Checked<int32_t>(2));
  const uint64_t stream = args.Word(3);
  return LaunchTask(args, 0, 1, stream, [&](void* task) {
    return aclrtLaunchCallback(RunTask, task, block_type, reinterpret_cast<aclrtStream>(stream));
  });
}

PyObject* rt_launch_host_func(Args& args) {
  const uint64_t stream = args.Word(0);
  return LaunchTask(args, 1, 2, stream, [&](void* task) {
    return aclrtLaunchHostFunc(reinterpret_cast<aclrtStream>(stream), RunTask, task);
  });
}

PyObject* rt_destroy_stream(Args& args) { return DestroyStream(args, aclrtDestroyStream); }
PyObject* rt_destroy_stream_force(Args& args) { return DestroyStream(args, aclrtDestroyStreamForce); }

PyObject* rt_set_exception_info_callback(Args& args) {
  const bool none = args.size() == 0 || args.Object(0) == Py_None;
  PyObject* callable = none ? nullptr : args.Callable(0);
  if (!args.ok()) return nullptr;
  const aclError ret = Released([&] { return aclrtSetExceptionInfoCallback(none ? nullptr : TellException); });
  if (ret == ACL_SUCCESS) exception_callback() = Ref(callable);
  return Make(ret);
}

PyObject* mdl_dump_reg_callback(Args& args) {
  PyObject* callable = args.Callable(0);
  const auto flag = args.Checked<int32_t>(1);
  if (!args.ok()) return nullptr;
  const aclError ret = Released([&] { return acldumpRegCallback(TellDump, flag); });
  if (ret == ACL_SUCCESS) dump_callback() = Ref(callable);
  return Make(ret);
}

PyObject* mdl_dump_unreg_callback(Args&) {
  Released([] { acldumpUnregCallback(); });
  dump_callback() = Ref();
  return Make(None{});
}

PyObject* op_register_compile_func(Args& args) {
  const char* type = args.String(0);
  args.Callable(1);
  if (!args.ok()) return nullptr;
  return Make(Released([&] { return aclopRegisterCompileFunc(type, NoCompilation); }));
}

}  // namespace millpond::python
