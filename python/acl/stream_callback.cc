// SPDX-License-Identifier: Apache-2.0
// Callbacks other than allocators: on streams, for failed tasks, for dumps, for kernels of the user.
#include <memory>

#include "include/acl/acl_dump.h"
#include "include/acl/acl_op.h"
#include "include/acl/acl_rt.h"
#include "python/acl/callback.h"

namespace millpond::python {

namespace {

// What a callback on a stream calls, once.
struct Task {
  Ref function;
  Ref argument;
};

void RunTask(void* data) {
  const WithGil gil;
  if (!gil) return;
  const std::unique_ptr<Task> task(static_cast<Task*>(data));
  PyObject* answer = PyObject_CallFunctionObjArgs(task->function.get(), task->argument.get(), nullptr);
  if (answer == nullptr) ReportException("a callback on a stream", task->function.get());
  Py_XDECREF(answer);
}

// The launch owns the task when it succeeds.
template <class Launch>
PyObject* LaunchTask(Args& args, Py_ssize_t function, Py_ssize_t argument, Launch launch) {
  PyObject* callable = args.Callable(function);
  if (!args.ok()) return nullptr;
  auto task = std::make_unique<Task>(Task{Ref(callable), Ref(args.Object(argument))});
  const aclError ret = Released([&] { return launch(task.get()); });
  if (ret == ACL_SUCCESS) static_cast<void>(task.release());
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
  PyObject* answer = dict != nullptr ? PyObject_CallFunctionObjArgs(callable.get(), dict, nullptr) : nullptr;
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
  return LaunchTask(args, 0, 1, [&](Task* task) {
    return aclrtLaunchCallback(RunTask, task, block_type, reinterpret_cast<aclrtStream>(stream));
  });
}

PyObject* rt_launch_host_func(Args& args) {
  const uint64_t stream = args.Word(0);
  return LaunchTask(args, 1, 2, [&](Task* task) {
    return aclrtLaunchHostFunc(reinterpret_cast<aclrtStream>(stream), RunTask, task);
  });
}

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
