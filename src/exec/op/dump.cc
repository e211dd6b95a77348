// SPDX-License-Identifier: Apache-2.0
#include "src/exec/op/dump.h"

#include <sys/time.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <ctime>
#include <deque>

#include "src/base/files.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/private_layout.h"
#include "src/base/sha256.h"
#include "src/device/memory/memory.h"
#include "src/graph/io/ge_ir_format.h"
#include "src/graph/io/wire.h"

namespace millpond::dump {

std::atomic<const Target*> operators{nullptr};

namespace {

// Guards what is set; `operators` is written under it.
Mutex set_mutex;
struct Set {
  bool on = false;
  Settings settings;
  std::string time;  // of Start, as folders have it
  std::string info_folder;
  std::deque<Target> targets;  // never fewer
};
Set& Current() REQUIRES(set_mutex) {
  static auto* const set = new Set;  // outlives static destructors: work may still be running
  return *set;
}

// The time as folders have it.
std::string Now() {
  const time_t now = time(nullptr);
  tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  static_cast<void>(strftime(text, sizeof text, "%Y%m%d%H%M%S", &parts));
  return text;
}

// The target for operators alone, as the settings are now.
void Renew(Set& set) REQUIRES(set_mutex) {
  const bool data = set.on && set.settings.operators;
  const Target* made = nullptr;
  if (data || !set.info_folder.empty()) {
    const std::string folder = data ? set.settings.path + "/" + set.time : "";
    made = &set.targets.emplace_back(set.settings, folder, set.info_folder, std::set<std::string>());
  }
  operators.store(made, std::memory_order_relaxed);
}

// As file names may have it.
std::string Plain(std::string_view text) {
  std::string plain(text);
  for (char& letter : plain) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '-') letter = '_';
  }
  return plain.substr(0, 120);
}

const Target* Add(Set& set, const Settings& settings, const std::string& time, std::string_view name, uint32_t id,
                  int device, const std::set<std::string>& layers) REQUIRES(set_mutex) {
  const std::string folder =
      Format("%s/%s/%d/%s/%u", settings.path.c_str(), time.c_str(), device, Plain(name).c_str(), id);
  return &set.targets.emplace_back(settings, folder, "", layers);
}

uint64_t Microseconds() {
  timeval now{};
  gettimeofday(&now, nullptr);
  return static_cast<uint64_t>(now.tv_sec) * 1000000 + static_cast<uint64_t>(now.tv_usec);
}

struct Dumped {
  TensorView view;
  std::vector<int64_t> shape;     // as the bytes lie
  std::vector<int64_t> original;  // of the tensor
  std::string bytes;
};

// `count` elements from the first one on. The view has the client's address.
std::string BytesFrom(const TensorView& view, int64_t count) {
  std::string bytes(view.BytesOf(count), '\0');
  CopyBytes(bytes.data(), view.first(), bytes.size());
  return bytes;
}

// The view's elements one after the other. Types smaller than a byte stay as the view has them.
std::string BytesOf(const TensorView& view) {
  const auto size = static_cast<size_t>(BitsOf(view.dtype)) / 8;
  TensorView plain = view;
  plain.SetContiguousStrides();
  if (std::equal(plain.strides, plain.strides + view.rank, view.strides)) return BytesFrom(view, view.elements());
  if (size == 0) return BytesFrom(view, view.extent());
  const auto* const first = static_cast<const char*>(Reachable(view.first()));
  std::string bytes;
  bytes.reserve(view.BytesOf(view.elements()));
  for (int64_t number = 0; number < view.elements(); ++number) {
    int64_t rest = number;
    int64_t at = 0;
    for (size_t axis = view.rank; axis-- > 0;) {
      at += rest % view.dims[axis] * view.strides[axis];
      rest /= view.dims[axis];
    }
    bytes.append(first + static_cast<size_t>(at) * size, size);
  }
  return bytes;
}

Dumped DumpedFrom(const TensorView& view) {
  std::vector<int64_t> original(view.dims, view.dims + view.rank);
  if (view.layout == PrivateLayout::kPlain) return {view, original, original, BytesOf(view)};
  bool transposed = false;
  // No kernel takes a view for which this fails, so that the operator will tell.
  if (!LaidOutShape(view, &original, &transposed).ok()) return {view, {}, original, ""};
  return {view, StorageShape(view.layout, original, view.c0), original, BytesFrom(view, StorageElements(view))};
}

// The tensors that flow this way, in the order of the definition.
std::vector<Dumped> Tensors(const OpCall& call, bool in) {
  std::vector<Dumped> found;
  for (size_t place = 0; place < call.size(); ++place) {
    const ArgSpec& spec = call.row().args[place];
    if (spec.flow == (in ? ArgFlow::kOut : ArgFlow::kIn) || !call.has(place)) continue;
    if (spec.kind != ArgKind::kTensor && spec.kind != ArgKind::kTensorList) continue;
    for (const TensorView& view : call.views(place)) {
      if (view.data != nullptr && view.dtype != DType::kUndefined) found.push_back(DumpedFrom(view));
    }
  }
  return found;
}

// As the public dump_data.proto has it, whose types are numbered as those of ge_ir.proto. OpInput and OpOutput are
// alike but for the size.
Status Describe(wire::Writer* writer, uint32_t number, uint32_t size_number, const std::vector<Dumped>& tensors) {
  for (const Dumped& tensor : tensors) {
    MP_RETURN_IF_ERROR(writer->Message(number, [&]() -> Status {
      writer->Int(1, io::ProtoFromDType(tensor.view.dtype));
      writer->Int(2, tensor.view.format);
      const auto shape_is = [&](const std::vector<int64_t>& shape) {
        return [&] {
          writer->PackedInts(1, shape);
          return Ok();
        };
      };
      MP_RETURN_IF_ERROR(writer->Message(3, shape_is(tensor.shape)));
      MP_RETURN_IF_ERROR(writer->Message(size_number + 1, shape_is(tensor.original)));
      writer->Int(size_number, static_cast<int64_t>(tensor.bytes.size()));
      return Ok();
    }));
  }
  return Ok();
}

// Eight bytes that tell how long the description is, the description, the tensors' bytes.
Status Encode(const std::string& name, const std::vector<Dumped>& inputs, const std::vector<Dumped>& outputs,
              std::string* out) {
  std::string description;
  const auto now = static_cast<int64_t>(Microseconds());
  MP_RETURN_IF_ERROR(wire::Writer::Write(
      [&](wire::Writer* writer) -> Status {
        writer->Text(1, "1.0");
        writer->Int(2, now);
        MP_RETURN_IF_ERROR(Describe(writer, 3, 6, outputs));
        MP_RETURN_IF_ERROR(Describe(writer, 4, 5, inputs));
        writer->Text(6, name);
        return Ok();
      },
      &description));
  const uint64_t length = description.size();
  out->assign(reinterpret_cast<const char*>(&length), sizeof length);
  *out += description;
  for (const auto* tensors : {&inputs, &outputs}) {
    for (const Dumped& tensor : *tensors) *out += tensor.bytes;
  }
  return Ok();
}

// "aclnnAdd" is an Add.
std::string_view TypeOf(const OpCall& call, const Node& node) {
  if (!node.type.empty()) return node.type;
  std::string_view name = call.row().name;
  for (const std::string_view prefix : {"aclnn", "Ge"}) {
    if (name.starts_with(prefix) && name.size() > prefix.size()) return name.substr(prefix.size());
  }
  return name;
}

void Complain(const Status& status) {
  if (!status.ok()) log::Write(log::Level::kError, log::kAscendCl, "dump: " + status.message());
}

std::string InfoOf(const OpCall& call) {
  std::string inputs, outputs, attributes;
  for (size_t place = 0; place < call.size(); ++place) {
    const ArgSpec& spec = call.row().args[place];
    if (!call.has(place)) continue;
    const std::string name = JsonQuoted(spec.name);
    switch (spec.kind) {
      case ArgKind::kTensor:
      case ArgKind::kTensorList:
        for (const TensorView& view : call.views(place)) {
          const std::string one = Format(R"({"name": %s, "dtype": "%s", "format": %d, "shape": %s})", name.c_str(),
                                         DTypeName(view.dtype), view.format, ShapeText(view.shape()).c_str());
          for (const auto& [list, skips] : {std::pair{&inputs, ArgFlow::kOut}, std::pair{&outputs, ArgFlow::kIn}}) {
            if (spec.flow != skips) *list += (list->empty() ? "" : ", ") + one;
          }
        }
        continue;
      case ArgKind::kInt:
      case ArgKind::kBool:
        attributes += Format("%s%s: %lld", attributes.empty() ? "" : ", ", name.c_str(),
                             static_cast<long long>(call.integer(place)));
        continue;
      case ArgKind::kDType:
        attributes +=
            Format(R"(%s%s: "%s")", attributes.empty() ? "" : ", ", name.c_str(), DTypeName(call.dtype(place)));
        continue;
      case ArgKind::kDouble:
        attributes += Format("%s%s: %.17g", attributes.empty() ? "" : ", ", name.c_str(), call.real(place));
        continue;
      case ArgKind::kString:
        attributes += (attributes.empty() ? "" : ", ") + name + ": " + JsonQuoted(call.text(place));
        continue;
      case ArgKind::kInts:
      case ArgKind::kBools:
        attributes += (attributes.empty() ? "" : ", ") + name + ": " + ShapeText(call.ints(place));
        continue;
      default:  // numbers with a type of their own, and lists of them: not what a shape's file is for
        continue;
    }
  }
  return Format(R"({"op_type": "%s", "inputs": [%s], "outputs": [%s], "attributes": {%s}})",
                std::string(TypeOf(call, {})).c_str(), inputs.c_str(), outputs.c_str(), attributes.c_str()) +
         "\n";
}

}  // namespace

Target::Target(const Settings& settings, std::string folder, std::string info_folder, std::set<std::string> layers)
    : inputs_(settings.inputs),
      outputs_(settings.outputs),
      folder_(std::move(folder)),
      info_folder_(std::move(info_folder)),
      layers_(std::move(layers)),
      wanted_runs_(settings.runs) {}

uint64_t Target::CountRun(const Node& node) const {
  if (node.name.empty()) return 0;
  MutexLock lock(mutex_);
  return runs_[std::string(node.name)]++;
}

bool Target::Wants(const Node& node, uint64_t run) const {
  if (folder_.empty() || (!layers_.empty() && layers_.count(std::string(node.name)) == 0)) return false;
  return wanted_runs_.empty() || std::any_of(wanted_runs_.begin(), wanted_runs_.end(), [&](const auto& range) {
           return range.first <= run && run <= range.second;
         });
}

void Target::Write(std::string_view bytes, const OpCall& call, const Node& node, const std::string& folder,
                   int stream) const {
  static std::atomic<uint32_t> tasks{0};
  const std::string type = Plain(TypeOf(call, node));
  const std::string name = Plain(node.name.empty() ? std::string_view(call.row().name) : node.name);
  const uint32_t task = tasks.fetch_add(1, std::memory_order_relaxed);
  const std::string file = Format("%s/%s.%s.%u.%d.%llu", folder.c_str(), type.c_str(), name.c_str(), task, stream,
                                  static_cast<unsigned long long>(Microseconds()));
  Status status = files::MakeFolderOf(file);
  if (status.ok()) status = files::Write(file, bytes);
  Complain(status);
}

void Target::WriteInfo(const OpCall& call) const {
  const std::string info = InfoOf(call);
  {
    MutexLock lock(mutex_);
    if (!told_.insert(info).second) return;
  }
  const std::string file =
      Format("%s/%s_%.16s.json", info_folder_.c_str(), Plain(TypeOf(call, {})).c_str(), HexOf(Sha256(info)).c_str());
  Complain(files::Write(file, info));
}

Status Target::Run(const OpCall& call, const Node& node, int device, int stream,
                   const std::function<Status()>& run) const {
  if (!info_folder_.empty()) WriteInfo(call);
  const uint64_t number = CountRun(node);
  if (!Wants(node, number)) return run();
  const std::vector<Dumped> inputs = inputs_ ? Tensors(call, true) : std::vector<Dumped>();
  MP_RETURN_IF_ERROR(run());
  const std::vector<Dumped> outputs = outputs_ ? Tensors(call, false) : std::vector<Dumped>();
  std::string bytes;
  const std::string name(node.name.empty() ? std::string_view(call.row().name) : node.name);
  if (Status encoded = Encode(name, inputs, outputs, &bytes); encoded.ok()) {
    const uint64_t last = node.name.empty() ? static_cast<uint64_t>(device) : number;
    Write(bytes, call, node, Format("%s/%llu", folder_.c_str(), static_cast<unsigned long long>(last)), stream);
  } else {
    Complain(encoded);
  }
  return Ok();
}

Status Start(const Settings& settings) {
  MP_REQUIRE(!settings.path.empty(), "\"dump_path\" is missing: it says where the files go");
  MutexLock lock(set_mutex);
  Set& set = Current();
  set.on = true;
  set.settings = settings;
  set.time = Now();
  Renew(set);
  return Ok();
}

void Stop() {
  MutexLock lock(set_mutex);
  Set& set = Current();
  set.on = false;
  Renew(set);
}

bool IsOn() {
  MutexLock lock(set_mutex);
  return Current().on;
}

std::string Path() {
  MutexLock lock(set_mutex);
  const Set& set = Current();
  return set.on ? set.settings.path : "";
}

Status StartInfo(const std::string& folder) {
  MP_REQUIRE(!folder.empty(), "path is empty");
  MP_RETURN_IF_ERROR(files::MakeFolderOf(folder + "/x"));
  MutexLock lock(set_mutex);
  Set& set = Current();
  set.info_folder = folder;
  Renew(set);
  return Ok();
}

void StopInfo() {
  MutexLock lock(set_mutex);
  Set& set = Current();
  set.info_folder.clear();
  Renew(set);
}

const Target* ForModel(std::string_view name, uint32_t id, int device) {
  MutexLock lock(set_mutex);
  Set& set = Current();
  if (!set.on) return nullptr;
  const auto own = set.settings.models.find(name);
  if (own == set.settings.models.end()) return nullptr;
  return Add(set, set.settings, set.time, name, id, device, own->second);
}

const Target* ForGraph(const Settings& settings, std::string_view name, uint32_t id, int device,
                       const std::set<std::string>& layers) {
  MutexLock lock(set_mutex);
  return Add(Current(), settings, Now(), name, id, device, layers);
}

}  // namespace millpond::dump
