// SPDX-License-Identifier: Apache-2.0
#include "src/device/kernel/binary.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <set>
#include <span>

#include "src/base/files.h"
#include "src/device/kernel/elf.h"
#include "src/device/memory/memory.h"

namespace millpond {

namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 30;

// Names outlive their binaries: traces keep them.
const char* KeepName(const std::string& name) {
  static Mutex& mutex = *new Mutex;
  static std::set<std::string>& names = *new std::set<std::string>;
  MutexLock lock(mutex);
  return names.insert(name).first->c_str();
}

Status OpenLibrary(const char* path, const std::string& origin, std::shared_ptr<const void>* out_library) {
  void* opened = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (opened == nullptr) {
    const char* reason = dlerror();
    return Status(Code::kInvalidFile, Format("%s cannot be loaded: %s; link all it needs into it", origin.c_str(),
                                             reason != nullptr ? reason : "the dynamic linker gave no reason"));
  }
  *out_library = std::shared_ptr<const void>(opened, [](const void* library) { dlclose(const_cast<void*>(library)); });
  if (void* place = dlsym(opened, "millpond_kernel_runtime")) {
    __atomic_store_n(static_cast<const KernelFunctions**>(place), &kKernelFunctions, __ATOMIC_RELEASE);
  }
  return Ok();
}

// A path of the open file that nobody has used: the dynamic linker would give out again what it once loaded by a path.
std::string FreshPath(int file) {
  static std::atomic<uint64_t> count{0};
  std::string path = "/proc/self/";
  for (uint64_t bits = ++count; bits != 0; bits /= 2) path += bits % 2 != 0 ? "./" : "/";
  return path + "fd/" + std::to_string(file);
}

Status WriteAll(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(file, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return Status(Code::kHostOutOfMemory, Format("no memory for %zu bytes of kernels", bytes.size()));
    bytes = bytes.subspan(static_cast<size_t>(wrote));
  }
  return Ok();
}

// The dynamic linker reads files only.
Status OpenCopy(std::span<const std::byte> bytes, const std::string& origin, std::shared_ptr<const void>* out_library) {
  const int copy = memfd_create("millpond_kernels", MFD_CLOEXEC);
  if (copy < 0) return Status(Code::kInternal, Format("no memory file for the kernels: %s", std::strerror(errno)));
  Status status = WriteAll(copy, bytes);
  if (status.ok()) status = OpenLibrary(FreshPath(copy).c_str(), origin, out_library);
  close(copy);
  return status;
}

// The library that has `address`, and the size of the symbol there.
bool IsIn(void* address, const void* library, size_t* out_bytes) {
  Dl_info where{};
  void* symbol = nullptr;
  struct link_map* map = nullptr;
  if (dladdr1(address, &where, &symbol, RTLD_DL_SYMENT) == 0) return false;
  if (symbol != nullptr) *out_bytes = static_cast<const ElfW(Sym)*>(symbol)->st_size;
  return dlinfo(const_cast<void*>(library), RTLD_DI_LINKMAP, &map) == 0 &&
         reinterpret_cast<uintptr_t>(where.dli_fbase) == map->l_addr;
}

}  // namespace

KernelBinary::KernelBinary(std::shared_ptr<const void> library, std::string origin, std::vector<std::string> names,
                           const Options& options)
    : library_(std::move(library)), origin_(std::move(origin)), names_(std::move(names)), options_(options) {}

Status KernelBinary::FromFile(const char* path, const Options& options, std::shared_ptr<KernelBinary>* out_binary) {
  std::string text;
  MP_RETURN_IF_ERROR(files::Read(path, "the shared object with kernels", kMaxFileBytes, &text));
  const auto file = std::as_bytes(std::span<const char>(text.data(), text.size()));
  MP_RETURN_IF_ERROR(CheckSharedObject(file, path));
  // A name without a slash would be looked for where libraries are.
  char absolute[PATH_MAX];
  if (realpath(path, absolute) == nullptr) {
    return Status(Code::kInvalidFile, Format("%s cannot be resolved: %s", path, std::strerror(errno)));
  }
  // The dynamic linker knows libraries by their path, and would give out the old one for a file that was built anew.
  void* const known = dlopen(absolute, RTLD_LAZY | RTLD_NOLOAD);
  std::shared_ptr<const void> library;
  if (known != nullptr) dlclose(known);
  MP_RETURN_IF_ERROR(known != nullptr ? OpenCopy(file, path, &library) : OpenLibrary(absolute, path, &library));
  *out_binary = std::make_shared<KernelBinary>(library, path, ExportedFunctions(file), options);
  return Ok();
}

Status KernelBinary::FromData(const void* data, size_t bytes, const Options& options,
                              std::shared_ptr<KernelBinary>* out_binary) {
  if (bytes == 0 || bytes > kMaxFileBytes) {
    return InvalidArgument(
        Format("the data has %zu bytes; a shared object with kernels has 1 to %zu", bytes, kMaxFileBytes));
  }
  MP_RETURN_IF_ERROR(CheckReadable("data", data, bytes));
  const std::string origin = Format("the data at %p", data);
  const std::span<const std::byte> file(static_cast<const std::byte*>(data), bytes);
  MP_RETURN_IF_ERROR(CheckSharedObject(file, origin));
  std::shared_ptr<const void> library;
  MP_RETURN_IF_ERROR(OpenCopy(file, origin, &library));
  *out_binary = std::make_shared<KernelBinary>(library, origin, ExportedFunctions(file), options);
  return Ok();
}

std::string KernelBinary::Names() const {
  std::string text;
  constexpr size_t kMax = 8;
  for (size_t i = 0; i < names_.size() && i < kMax; ++i) text += (i != 0 ? ", " : "") + names_[i];
  if (names_.size() > kMax) text += Format(" and %zu more", names_.size() - kMax);
  return text.empty() ? "no function" : text;
}

Status KernelBinary::MakeKernel(const char* name, std::shared_ptr<Kernel>* out_kernel) const {
  auto kernel = std::make_shared<Kernel>();
  kernel->library = library_;
  kernel->name = name;
  kernel->task_name = KeepName(name);
  kernel->binary_handle = handle_;
  void* const opened = const_cast<void*>(library_.get());
  void* function = dlsym(opened, name);
  // What the library needs is not in it.
  size_t bytes = 0;
  if (function != nullptr && IsIn(function, opened, &bytes)) kernel->function = function, kernel->code_bytes = bytes;
  const auto* info = static_cast<const KernelInfo*>(dlsym(opened, ("millpond_kernel_" + kernel->name).c_str()));
  if (info != nullptr && info->size >= sizeof(KernelInfo)) kernel->info = info;
  if (kernel->function == nullptr && kernel->info == nullptr) {
    return InvalidArgument(
        Format("%s has no kernel \"%s\"; it exports %s. Declare the kernel extern \"C\", or write "
               "MILLPOND_KERNEL(%s) after it (millpond/kernel.h)",
               origin_.c_str(), name, Names().c_str(), name));
  }
  *out_kernel = std::move(kernel);
  return Ok();
}

Status KernelBinary::Find(const char* name, void** out_handle) {
  MutexLock lock(mutex_);
  if (const auto known = handles_.find(name); known != handles_.end()) {
    *out_handle = known->second;
    return Ok();
  }
  std::shared_ptr<Kernel> kernel;
  MP_RETURN_IF_ERROR(MakeKernel(name, &kernel));
  kernel->binary = weak_from_this();
  *out_handle = handles_[name] = Kernels().Add(std::move(kernel));
  return Ok();
}

Status KernelBinary::FindByEntry(uint64_t entry, void** out_handle) {
  const std::string ending = "_" + std::to_string(entry);
  std::vector<std::string> found;
  for (const std::string& name : names_) {
    if (name.ends_with(ending)) found.push_back(name);
  }
  if (found.size() == 1) return Find(found[0].c_str(), out_handle);
  return InvalidArgument(Format("%zu functions of %s have names that end with %s, where one must; it exports %s",
                                found.size(), origin_.c_str(), ending.c_str(), Names().c_str()));
}

std::shared_ptr<const Kernel> KernelOfProgram(const KernelInfo& info) {
  struct Kept {
    Kernel kernel;
    KernelInfo info;
  };
  auto kept = std::make_shared<Kept>();
  kept->info = info;
  kept->kernel.name = info.name != nullptr ? info.name : "kernel";
  kept->kernel.task_name = KeepName(kept->kernel.name);
  kept->kernel.info = &kept->info;
  return std::shared_ptr<const Kernel>(kept, &kept->kernel);
}

void KernelBinary::GiveUp() {
  MutexLock lock(mutex_);
  for (const auto& [name, handle] : handles_) Kernels().Remove(handle);
  handles_.clear();
}

SharedTable<KernelBinary, HandleKind::kKernelBinary>& KernelBinaries() {
  static auto& table = *new SharedTable<KernelBinary, HandleKind::kKernelBinary>;
  return table;
}

SharedTable<Kernel, HandleKind::kKernel>& Kernels() {
  static auto& table = *new SharedTable<Kernel, HandleKind::kKernel>;
  return table;
}

}  // namespace millpond
