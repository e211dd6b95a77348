// SPDX-License-Identifier: Apache-2.0
#include "src/graph/io/om.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "src/graph/io/ge_ir.h"
#include "src/graph/io/om_checksum.h"
#include "src/graph/io/wire.h"

namespace millpond::io {

namespace {

constexpr char kMagic[8] = {'M', 'P', 'N', 'D', 'O', 'M', '\r', '\n'};
constexpr char kVendorMagic[4] = {'I', 'M', 'O', 'D'};
constexpr size_t kHeaderBytes = 40;
constexpr size_t kEntryBytes = 24;
constexpr size_t kSectionAlignment = 64;
constexpr uint32_t kMaxSections = 4096;
constexpr size_t kChecksumAt = 24;

enum SectionType : uint32_t { kInfo = 1, kGraph = 2, kBundled = 3 };

// Fields of the info section.
enum InfoField : uint32_t {
  kName = 1,
  kOption = 2,       // message: 1 key, 2 value
  kOutputName = 3,   // repeated
  kGearKind = 4,     // OmGears::Kind
  kGear = 5,         // message: 1 packed numbers
  kOperatorType = 6  // of a single operator
};

struct Section {
  uint32_t type = 0;
  std::span<const std::byte> bytes;
};

template <class T>
T Load(std::span<const std::byte> from, size_t at) {
  T value;
  std::memcpy(&value, from.data() + at, sizeof value);
  return value;
}

template <class T>
void Store(std::string* to, size_t at, T value) {
  std::memcpy(to->data() + at, &value, sizeof value);
}

const char* KindName(OmKind kind) {
  switch (kind) {
    case OmKind::kModel:
      return "a model";
    case OmKind::kBundle:
      return "a bundle of models";
    case OmKind::kSingleOp:
      return "a single operator";
  }
  return "something else";
}

Status CheckHeader(std::span<const std::byte> file) {
  MP_CHECK(!file.empty(), kParseFile, "the offline model is empty");
  if (file.size() >= sizeof kVendorMagic && std::memcmp(file.data(), kVendorMagic, sizeof kVendorMagic) == 0) {
    return Unsupported(
        "the offline model was built by the vendor's atc: it holds machine code for an Ascend NPU, which no CPU runs. "
        "Rebuild it from the ONNX or .air file with this installation's bin/atc or aclgrphBuildModel");
  }
  const size_t known = std::min(file.size(), sizeof kMagic);
  MP_CHECK(std::memcmp(file.data(), kMagic, known) == 0, kParseFile,
           "this is not an offline model: it does not start like an .om file (%zu bytes)", file.size());
  MP_CHECK(file.size() >= kHeaderBytes, kParseFile,
           "the offline model is truncated: %zu bytes, its header alone has %zu", file.size(), kHeaderBytes);
  const auto version = Load<uint32_t>(file, 8);
  MP_CHECK(version == kOmVersion, kUnsupported,
           "the offline model has format version %u; this installation reads version %u: rebuild the model", version,
           kOmVersion);
  const auto bytes = Load<uint64_t>(file, 16);
  MP_CHECK(bytes == file.size(), kParseFile, "the offline model claims %llu bytes, but %zu were given: it is %s",
           static_cast<unsigned long long>(bytes), file.size(),
           bytes > file.size() ? "truncated" : "followed by others");
  return Ok();
}

Status ReadSections(std::span<const std::byte> file, OmKind* out_kind, std::vector<Section>* out) {
  MP_RETURN_IF_ERROR(CheckHeader(file));
  const auto stored = Load<uint64_t>(file, kChecksumAt);
  const uint64_t found = OmChecksum(file, kChecksumAt);
  MP_CHECK(stored == found, kParseFile,
           "the offline model is damaged: its checksum is %016llx, and its bytes give %016llx; copy or build it again",
           static_cast<unsigned long long>(stored), static_cast<unsigned long long>(found));
  const auto kind = Load<uint32_t>(file, 12);
  MP_CHECK(kind >= 1 && kind <= 3, kParseFile, "the offline model is of kind %u; there are 1, 2 and 3", kind);
  *out_kind = static_cast<OmKind>(kind);
  const auto count = Load<uint32_t>(file, 32);
  MP_CHECK(count <= kMaxSections && kHeaderBytes + count * kEntryBytes <= file.size(), kParseFile,
           "the offline model has %u sections, which is more than its %zu bytes can hold", count, file.size());
  uint64_t used = 0;
  for (size_t i = 0; i < count; ++i) {
    const size_t at = kHeaderBytes + i * kEntryBytes;
    const auto offset = Load<uint64_t>(file, at + 8);
    const auto bytes = Load<uint64_t>(file, at + 16);
    MP_CHECK(offset <= file.size() && bytes <= file.size() - offset, kParseFile,
             "section %zu of the offline model (%llu bytes from %llu) ends past its %zu bytes", i,
             static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(offset), file.size());
    // Sections over the same bytes would make a small file a large one: each of a bundle is a model to be loaded.
    MP_CHECK(bytes <= file.size() - used, kParseFile,
             "section %zu of the offline model lies over others: its sections have more than its %zu bytes", i,
             file.size());
    used += bytes;
    out->push_back({Load<uint32_t>(file, at), file.subspan(offset, bytes)});
  }
  return Ok();
}

Status RequireKind(std::span<const std::byte> file, OmKind wanted, std::vector<Section>* out) {
  OmKind kind;
  MP_RETURN_IF_ERROR(ReadSections(file, &kind, out));
  MP_REQUIRE(kind == wanted, "the offline model holds %s; what was asked for is %s", KindName(kind), KindName(wanted));
  return Ok();
}

Status FindSection(const std::vector<Section>& sections, SectionType type, std::span<const std::byte>* out) {
  for (const Section& section : sections) {
    if (section.type != type) continue;
    *out = section.bytes;
    return Ok();
  }
  return {Code::kParseFile, Format("the offline model has no section of type %u", static_cast<unsigned>(type))};
}

void Assemble(OmKind kind, std::span<const std::pair<SectionType, std::string_view>> sections, std::string* out) {
  const auto aligned = [](size_t at) { return (at + kSectionAlignment - 1) / kSectionAlignment * kSectionAlignment; };
  size_t total = kHeaderBytes + sections.size() * kEntryBytes;
  for (const auto& [type, bytes] : sections) total = aligned(total) + bytes.size();
  out->assign(total, '\0');
  std::memcpy(out->data(), kMagic, sizeof kMagic);
  Store<uint32_t>(out, 8, kOmVersion);
  Store<uint32_t>(out, 12, static_cast<uint32_t>(kind));
  Store<uint64_t>(out, 16, total);
  Store<uint32_t>(out, 32, static_cast<uint32_t>(sections.size()));
  size_t at = kHeaderBytes + sections.size() * kEntryBytes;
  for (size_t i = 0; i < sections.size(); ++i) {
    const auto& [type, bytes] = sections[i];
    at = aligned(at);
    const size_t entry = kHeaderBytes + i * kEntryBytes;
    Store<uint32_t>(out, entry, type);
    Store<uint64_t>(out, entry + 8, at);
    Store<uint64_t>(out, entry + 16, bytes.size());
    if (!bytes.empty()) std::memcpy(out->data() + at, bytes.data(), bytes.size());
    at += bytes.size();
  }
  Store<uint64_t>(out, kChecksumAt, OmChecksum(std::as_bytes(std::span(*out)), kChecksumAt));
}

Status WriteInfo(const OmModel& model, const std::string& operator_type, std::string* out) {
  return wire::Writer::Write(
      [&](wire::Writer* writer) -> Status {
        writer->Text(kName, model.name);
        writer->Text(kOperatorType, operator_type);
        for (const auto& [key, value] : model.options) {
          MP_RETURN_IF_ERROR(writer->Message(kOption, [&]() -> Status {
            writer->Text(1, key);
            writer->Text(2, value);
            return Ok();
          }));
        }
        for (const std::string& name : model.output_names) writer->TextAlways(kOutputName, name);
        writer->Int(kGearKind, static_cast<int64_t>(model.gears.kind));
        for (const std::vector<int64_t>& gear : model.gears.values) {
          MP_RETURN_IF_ERROR(writer->Message(kGear, [&]() -> Status {
            writer->PackedInts(1, gear);
            return Ok();
          }));
        }
        return Ok();
      },
      out);
}

Status ReadOption(const wire::Reader& from, const wire::Field& field, OmModel* out) {
  wire::Reader reader(field.bytes);
  MP_RETURN_IF_ERROR(from.Enter(field, &reader));
  std::string key;
  std::string value;
  wire::Field part;
  while (reader.Next(&part)) {
    if (part.number == 1) MP_RETURN_IF_ERROR(reader.Text(part, &key));
    if (part.number == 2) MP_RETURN_IF_ERROR(reader.Text(part, &value));
  }
  MP_RETURN_IF_ERROR(reader.status());
  out->options[key] = value;
  return Ok();
}

Status ReadGear(const wire::Reader& from, const wire::Field& field, OmModel* out) {
  wire::Reader reader(field.bytes);
  MP_RETURN_IF_ERROR(from.Enter(field, &reader));
  std::vector<int64_t> values;
  wire::Field part;
  while (reader.Next(&part)) {
    if (part.number == 1) MP_RETURN_IF_ERROR(reader.Ints(part, &values));
  }
  MP_RETURN_IF_ERROR(reader.status());
  out->gears.values.push_back(std::move(values));
  return Ok();
}

Status ReadInfo(std::span<const std::byte> bytes, OmModel* out, std::string* out_operator) {
  wire::Reader reader(bytes);
  wire::Field field;
  while (reader.Next(&field)) {
    switch (field.number) {
      case kName:
        MP_RETURN_IF_ERROR(reader.Text(field, &out->name));
        break;
      case kOperatorType:
        MP_RETURN_IF_ERROR(reader.Text(field, out_operator));
        break;
      case kOption:
        MP_RETURN_IF_ERROR(ReadOption(reader, field, out));
        break;
      case kOutputName:
        MP_RETURN_IF_ERROR(reader.Text(field, &out->output_names.emplace_back()));
        break;
      case kGearKind: {
        int64_t kind = 0;
        MP_RETURN_IF_ERROR(reader.Int(field, &kind));
        MP_CHECK(kind >= 0 && kind <= static_cast<int64_t>(OmGears::Kind::kDims), kParseFile,
                 "the offline model has gears of kind %lld; there are 0 to 3", static_cast<long long>(kind));
        out->gears.kind = static_cast<OmGears::Kind>(kind);
        break;
      }
      case kGear:
        MP_RETURN_IF_ERROR(ReadGear(reader, field, out));
        break;
      default:  // from a later version
        break;
    }
  }
  return reader.status();
}

// What the rest of the code relies on.
Status ValidateModel(const OmModel& model) {
  MP_CHECK(model.output_names.size() == model.graph->outputs.size(), kParseFile,
           "the offline model names %zu outputs, and its graph has %zu", model.output_names.size(),
           model.graph->outputs.size());
  MP_CHECK((model.gears.kind == OmGears::Kind::kNone) == model.gears.values.empty(), kParseFile,
           "the offline model has %zu gears of kind %d", model.gears.values.size(), static_cast<int>(model.gears.kind));
  MP_CHECK(model.gears.values.size() <= kMaxGears, kParseFile,
           "the offline model has %zu gears, each of which is compiled; there may be %zu", model.gears.values.size(),
           kMaxGears);
  for (const std::vector<int64_t>& gear : model.gears.values) {
    MP_CHECK(!gear.empty() && std::all_of(gear.begin(), gear.end(), [](int64_t value) { return value > 0; }),
             kParseFile, "a gear of the offline model has no size, or one that is not positive");
  }
  for (const ir::NodePtr& input : model.graph->inputs) {
    MP_CHECK(input != nullptr && !input->outputs.empty(), kParseFile,
             "an input of the offline model's graph describes no tensor");
  }
  return Ok();
}

// What a model's file and a single operator's both have. `what` is the graph's name in messages.
Status ReadParts(std::span<const std::byte> file, OmKind kind, const char* what, std::shared_ptr<const void> keep,
                 OmModel* out_model, std::string* out_type) {
  std::vector<Section> sections;
  MP_RETURN_IF_ERROR(RequireKind(file, kind, &sections));
  std::span<const std::byte> info;
  std::span<const std::byte> graph;
  MP_RETURN_IF_ERROR(FindSection(sections, kInfo, &info));
  MP_RETURN_IF_ERROR(FindSection(sections, kGraph, &graph));
  MP_RETURN_IF_ERROR(ReadInfo(info, out_model, out_type));
  return ReadModel(graph, std::move(keep), &out_model->graph).Prefixed(what);
}

}  // namespace

Status CheckOm(std::span<const std::byte> file, OmKind* out_kind) {
  std::vector<Section> sections;
  return ReadSections(file, out_kind, &sections);
}

Status WriteOm(const OmModel& model, std::string* out) {
  std::string info;
  std::string graph;
  MP_RETURN_IF_ERROR(WriteInfo(model, "", &info));
  MP_RETURN_IF_ERROR(WriteModel(*model.graph, &graph));
  const std::pair<SectionType, std::string_view> sections[] = {{kInfo, info}, {kGraph, graph}};
  Assemble(OmKind::kModel, sections, out);
  return Ok();
}

Status WriteOm(const OmSingleOp& op, std::string* out) {
  const auto graph = std::make_shared<ir::Graph>(op.type);
  const auto node = std::make_shared<ir::Node>(op.type, op.type);
  for (const ir::TensorDesc& desc : op.inputs) node->inputs.push_back({desc, nullptr, 0});
  node->outputs = op.outputs;
  node->attributes = op.attributes;
  MP_RETURN_IF_ERROR(graph->AddNode(node));
  std::string info;
  std::string bytes;
  MP_RETURN_IF_ERROR(WriteInfo({}, op.type, &info));
  MP_RETURN_IF_ERROR(WriteModel(*graph, &bytes));
  const std::pair<SectionType, std::string_view> sections[] = {{kInfo, info}, {kGraph, bytes}};
  Assemble(OmKind::kSingleOp, sections, out);
  return Ok();
}

Status WriteOmBundle(std::span<const std::string> models, std::string* out) {
  std::vector<std::pair<SectionType, std::string_view>> sections;
  for (const std::string& model : models) sections.emplace_back(kBundled, model);
  MP_REQUIRE(sections.size() <= kMaxSections, "a bundle of %zu models; at most %u fit into one", sections.size(),
             kMaxSections);
  Assemble(OmKind::kBundle, sections, out);
  return Ok();
}

Status ReadOm(std::span<const std::byte> file, std::shared_ptr<const void> keep, OmModel* out) {
  OmModel model;
  std::string ignored;
  MP_RETURN_IF_ERROR(ReadParts(file, OmKind::kModel, "the offline model's graph", std::move(keep), &model, &ignored));
  MP_RETURN_IF_ERROR(ValidateModel(model));
  *out = std::move(model);
  return Ok();
}

Status ReadOm(std::span<const std::byte> file, std::shared_ptr<const void> keep, OmSingleOp* out) {
  OmModel model;
  std::string type;
  MP_RETURN_IF_ERROR(ReadParts(file, OmKind::kSingleOp, "the single operator", std::move(keep), &model, &type));
  MP_CHECK(model.graph->nodes().size() == 1 && model.graph->nodes()[0]->type == type, kParseFile,
           "the offline model is of the single operator %s, and its graph has %zu nodes", type.c_str(),
           model.graph->nodes().size());
  const ir::Node& node = *model.graph->nodes()[0];
  OmSingleOp op;
  op.type = type;
  for (const ir::Input& input : node.inputs) op.inputs.push_back(input.desc);
  op.outputs = node.outputs;
  op.attributes = node.attributes;
  *out = std::move(op);
  return Ok();
}

Status ReadOmBundle(std::span<const std::byte> file, std::vector<std::span<const std::byte>>* out_models) {
  std::vector<Section> sections;
  MP_RETURN_IF_ERROR(RequireKind(file, OmKind::kBundle, &sections));
  out_models->clear();
  for (const Section& section : sections) {
    if (section.type == kBundled) out_models->push_back(section.bytes);
  }
  MP_CHECK(!out_models->empty(), kParseFile, "the bundle holds no models");
  return Ok();
}

}  // namespace millpond::io
