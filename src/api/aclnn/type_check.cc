// SPDX-License-Identifier: Apache-2.0
#include "src/api/aclnn/type_check.h"

#include <string>
#include <string_view>
#include <vector>

#include "src/base/format.h"
#include "src/base/options.h"
#include "src/base/private_layout.h"
#include "src/device/runtime.h"

namespace millpond::aclnn {
namespace {

constexpr int kTypes = 64;

ProductSeries SeriesNamed(std::string_view soc) {
  if (soc.starts_with("Ascend950")) return ProductSeries::k950;
  if (soc.starts_with("Ascend910_93")) return ProductSeries::kA3;
  if (soc.starts_with("Ascend310B")) return ProductSeries::k310B;
  if (soc.starts_with("Ascend310P")) return ProductSeries::k310P;
  if (soc.starts_with("Ascend910A") || soc.starts_with("Ascend910Pro")) return ProductSeries::k910;
  return ProductSeries::kA2;
}

// The profile is chosen once in a process.
ProductSeries CurrentSeries() {
  static const ProductSeries series = [] {
    Runtime* runtime = nullptr;
    return Runtime::Get(&runtime).ok() ? SeriesNamed(runtime->profile().name) : ProductSeries::kA2;
  }();
  return series;
}

constexpr const char* kSeriesNames[kProductSeries] = {"Ascend 950",        "Atlas A3",        "Atlas A2",
                                                      "Atlas 200I/500 A2", "Atlas inference", "Atlas training"};

std::string Allowed(const TypeSet& set, ProductSeries series) {
  std::string names;
  for (int type = 0; type < kTypes; ++type) {
    if (!set.Has(static_cast<DType>(type), series)) continue;
    names += (names.empty() ? "" : ", ") + std::string(DTypeName(static_cast<DType>(type)));
  }
  return names;
}

// What src/kernels can read and write.
constexpr bool HasKernels(DType type) {
  switch (type) {
    case DType::kHifloat8:
    case DType::kFloat6E3m2:
    case DType::kFloat6E2m3:
    case DType::kFloat4E2m1:
    case DType::kFloat4E1m2:
    case DType::kUint1:
    case DType::kString:
      return false;
    default:
      return BitsOf(type) != 0;
  }
}

// "x" or, for the members of a list, "x[2]".
std::string NameOf(const ArgSpec& spec, size_t member) {
  return spec.kind == ArgKind::kTensor ? spec.name : Format("%s[%zu]", spec.name, member);
}

Status CheckType(const ArgSpec& spec, size_t member, const TensorView& view, ProductSeries series) {
  static const bool documented = GetOptions().types == "documented";
  const TypeSet& set = OpTypeSets()[spec.type_set];
  if (documented && spec.type_set != 0 && !set.Has(view.dtype, series)) {
    return InvalidArgument(
        Format("%s is of type %s (%d), which this operator does not take on %s products; it takes %s",
               NameOf(spec, member).c_str(), DTypeName(view.dtype), static_cast<int>(view.dtype),
               kSeriesNames[static_cast<size_t>(series)], Allowed(set, series).c_str()));
  }
  if (view.layout != PrivateLayout::kPlain) {
    std::vector<int64_t> dims;
    bool transposed = false;
    MP_RETURN_IF_ERROR(LaidOutShape(view, &dims, &transposed).Prefixed(NameOf(spec, member)));
  }
  MP_REQUIRE(HasKernels(view.dtype), "%s is of type %s (%d), which nothing here computes on a CPU; convert it first",
             NameOf(spec, member).c_str(), DTypeName(view.dtype), static_cast<int>(view.dtype));
  return Ok();
}

}  // namespace

Status CheckTypes(const OpCall& call) {
  const ProductSeries series = CurrentSeries();
  const auto specs = call.row().args;
  for (size_t place = 0; place < specs.size(); ++place) {
    const ArgSpec& spec = specs[place];
    if (!call.has(place) || (spec.kind != ArgKind::kTensor && spec.kind != ArgKind::kTensorList)) continue;
    const auto views = call.views(place);
    for (size_t member = 0; member < views.size(); ++member) {
      if (spec.kind == ArgKind::kTensorList && views[member].dtype == DType::kUndefined) continue;  // a missing member
      MP_RETURN_IF_ERROR(CheckType(spec, member, views[member], series));
    }
  }
  return Ok();
}

}  // namespace millpond::aclnn
