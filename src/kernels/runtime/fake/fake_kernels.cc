// SPDX-License-Identifier: Apache-2.0
// Stands in for the kernels where torch cannot be: in sanitizer builds, so that the two phases, the executors, the
// launch and the capture of operators are checked there too. Floats only, contiguous or not; never installed.
#include <string>
#include <string_view>
#include <vector>

#include "src/base/format.h"
#include "src/base/status.h"
#include "src/kernels/runtime/group_kernel.h"
#include "src/kernels/runtime/library.h"

namespace millpond::kernels {
namespace {

void* (*g_reach)(void*) = nullptr;

// What the kernel's parameter is given. The stand-ins take tensors alone, where a kernel would take a number too.
TensorView& View(OpCall& call, size_t parameter) { return call.view(call.row().kernel.places[parameter]); }
Status TensorsOnly(const OpCall& call, size_t parameters) {
  for (size_t i = 0; i < parameters; ++i) {
    const uint8_t place = call.row().kernel.places[i];
    const bool tensor = place < KernelBinding::kConstant && call.row().args[place].kind == ArgKind::kTensor;
    if (!tensor) return Status(Code::kTaskFailed, Format("the stand-in for %s takes tensors only", call.row().name));
  }
  return Ok();
}

float* First(const TensorView& view) { return static_cast<float*>(g_reach(const_cast<void*>(view.first()))); }

// Calls visit(offset) for each element of the view, in order.
template <class Visit>
void ForEach(const TensorView& view, Visit visit) {
  for (int64_t i = 0; i < view.elements(); ++i) {
    int64_t rest = i, offset = 0;
    for (size_t dim = view.rank; dim-- > 0;) {
      offset += rest % view.dims[dim] * view.strides[dim];
      rest /= view.dims[dim];
    }
    visit(offset);
  }
}

std::vector<float> Read(const TensorView& view) {
  std::vector<float> values;
  ForEach(view, [&](int64_t offset) { values.push_back(First(view)[offset]); });
  return values;
}

void Store(const TensorView& view, const std::vector<float>& values) {
  size_t next = 0;
  ForEach(view, [&](int64_t offset) { First(view)[offset] = values[next++ % values.size()]; });
}

Status AddScaled(OpCall& call, float sign) {
  MP_RETURN_IF_ERROR(TensorsOnly(call, 2));
  auto sum = Read(View(call, 0));
  const auto other = Read(View(call, 1));
  const ScalarValue& given = call.scalar(call.row().kernel.places[2]);
  const bool is_real = given.dtype == DType::kDouble || given.dtype == DType::kFloat;
  const auto alpha = static_cast<float>(is_real ? given.real : static_cast<double>(given.integer));
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += sign * alpha * other[i % other.size()];
  if (!sum.empty()) Store(View(call, 3), sum);
  return Ok();
}
Status Add(OpCall& call) { return AddScaled(call, 1.0F); }
Status Sub(OpCall& call) { return AddScaled(call, -1.0F); }

Status Zero(OpCall& call) {
  Store(View(call, 0), {0});
  return Ok();
}

Status Copy(OpCall& call) {
  if (View(call, 1).dtype != DType::kFloat) return Status(Code::kTaskFailed, "the stand-in copies floats only");
  Store(View(call, 0), Read(View(call, 1)));
  return Ok();
}

Status MaskedSelect(OpCall& call) {
  const auto* mask = static_cast<const bool*>(g_reach(const_cast<void*>(View(call, 1).first())));
  TensorView& out = View(call, 2);
  int64_t count = 0;
  for (const float value : Read(View(call, 0))) {
    if (*mask++) First(out)[count++] = value;
  }
  out.rank = 1;
  out.dims[0] = count;
  out.SetContiguousStrides();
  return Ok();
}

Status Stack(OpCall& call) {
  std::vector<float> values;
  for (const TensorView& view : call.views(call.row().kernel.places[0])) {
    for (const float value : Read(view)) values.push_back(value);
  }
  if (!values.empty()) Store(View(call, 2), values);
  return Ok();
}

Status Mul(OpCall& call) {
  MP_RETURN_IF_ERROR(TensorsOnly(call, 2));
  auto product = Read(View(call, 0));
  const auto other = Read(View(call, 1));
  for (size_t i = 0; i < product.size(); ++i) product[i] *= other[i % other.size()];
  if (!product.empty()) Store(View(call, 2), product);
  return Ok();
}

Status Less(OpCall& call) {
  MP_RETURN_IF_ERROR(TensorsOnly(call, 2));
  auto* out = static_cast<bool*>(g_reach(const_cast<void*>(View(call, 2).first())));
  const auto other = Read(View(call, 1));
  size_t next = 0;
  for (const float value : Read(View(call, 0))) *out++ = value < other[next++ % other.size()];
  return Ok();
}

// Sums of everything; the axes do not matter for the vectors that tests reduce.
Status Reduce(OpCall& call) {
  float sum = 0;
  for (const float value : Read(View(call, 0))) sum += value;
  Store(View(call, 5), {sum});
  return Ok();
}

Status AddTo(OpCall& call) {
  auto sum = Read(View(call, 0));
  const auto other = Read(View(call, 1));
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += other[i % other.size()];
  Store(View(call, 0), sum);
  return Ok();
}

// --- With other ranks ---

std::string Text(const OpCall& call, size_t parameter) {
  return std::string(call.text(call.row().kernel.places[parameter]));
}
// Contiguous floats that go to the group as they lie.
GroupRequest& Ask(GroupSteps& steps, GroupRequest::What what, const std::string& group, const TensorView& from,
                  const TensorView& to) {
  GroupRequest& request = steps.request;
  request.what = what;
  request.group = group;
  request.type = DType::kFloat;
  request.send = from.first();
  request.receive = const_cast<void*>(to.first());
  request.bytes = from.BytesOf(from.extent());
  return request;
}

Status AllReduce(OpCall& call, GroupSteps& steps) {
  if (steps.step > 0) return Ok();
  if (!steps.checking) Store(View(call, 3), Read(View(call, 0)));
  Ask(steps, GroupRequest::What::kAllReduce, Text(call, 2), View(call, 3), View(call, 3)).reduction = Text(call, 1);
  return Ok();
}

Status AllGather(OpCall& call, GroupSteps& steps) {
  if (steps.step > 0) return Ok();
  GroupRequest& request = Ask(steps, GroupRequest::What::kAllGather, Text(call, 2), View(call, 0), View(call, 3));
  for (int64_t i = 0; i < steps.members[0].ranks; ++i) {
    request.receive_parts.push_back({static_cast<size_t>(i) * request.bytes, request.bytes});
  }
  return Ok();
}

Status Message(OpCall& call, GroupSteps& steps, GroupRequest::What what, size_t tensor, size_t peer) {
  if (steps.step > 0) return Ok();
  const TensorView& view = View(call, tensor);
  GroupRequest& request = Ask(steps, what, Text(call, peer + 2), view, view);
  request.root = call.integer(call.row().kernel.places[peer]);
  request.tag = call.integer(call.row().kernel.places[peer + 1]);
  return Ok();
}
Status Send(OpCall& call, GroupSteps& steps) { return Message(call, steps, GroupRequest::What::kSend, 0, 1); }
Status Receive(OpCall& call, GroupSteps& steps) { return Message(call, steps, GroupRequest::What::kReceive, 3, 0); }

Status MatmulAllReduce(OpCall& call, GroupSteps& steps) {
  if (steps.step > 0) return Ok();
  const TensorView &x1 = View(call, 0), &x2 = View(call, 1), &out = View(call, 8);
  const std::string reduction = Text(call, 7);
  MP_REQUIRE(reduction == "sum", "reduceOp is '%s'; only sum is supported, as on the device", reduction.c_str());
  if (!steps.checking) {
    const auto a = Read(x1), b = Read(x2);
    const auto inner = static_cast<size_t>(x1.dims[1]), columns = static_cast<size_t>(x2.dims[1]);
    std::vector<float> product(static_cast<size_t>(out.elements()), 0);
    for (size_t i = 0; i < product.size(); ++i) {
      for (size_t k = 0; k < inner; ++k) product[i] += a[i / columns * inner + k] * b[k * columns + i % columns];
    }
    Store(out, product);
  }
  Ask(steps, GroupRequest::What::kAllReduce, Text(call, 6), out, out).reduction = reduction;
  return Ok();
}

constexpr GroupKernel kAllReduce{{"GeHcomAllReduce", "TccO", nullptr}, &AllReduce};
constexpr GroupKernel kAllGather{{"GeHcomAllGather", "TncO", nullptr}, &AllGather};
constexpr GroupKernel kSend{{"GeHcomSend", "Tnnc", nullptr}, &Send};
constexpr GroupKernel kReceive{{"GeHcomReceive", "nncO", nullptr}, &Receive};
constexpr GroupKernel kMatmulAllReduce{{"MatmulAllReduce", "TTPPbbccO", nullptr}, &MatmulAllReduce};

constexpr Kernel kAdd{"Add", "XXSO", &Add};
constexpr Kernel kSub{"Sub", "XXSO", &Sub};
constexpr Kernel kZero{"aclnnInplaceZero", "O", &Zero};
constexpr Kernel kCopy{"aclnnInplaceCopy", "OT", &Copy};
constexpr Kernel kSelect{"aclnnMaskedSelect", "TTO", &MaskedSelect};
constexpr Kernel kStack{"aclnnStack", "LnO", &Stack};
constexpr Kernel kMul{"Mul", "XXO", &Mul};
constexpr Kernel kLess{"IsLess", "TXO", &Less};
constexpr Kernel kReduce{"ReducedBy", "TIbbnO", &Reduce};
constexpr Kernel kAddTo{"AssignedSum", "OT", &AddTo};
constexpr Kernel kAssign{"Assigned", "OT", &Copy};
constexpr const Kernel* kKernels[] = {&kAdd,       &kSub,  &kZero,    &kCopy,           &kSelect, &kStack,
                                      &kMul,       &kLess, &kReduce,  &kAddTo,          &kAssign, &kAllReduce,
                                      &kAllGather, &kSend, &kReceive, &kMatmulAllReduce};

}  // namespace
}  // namespace millpond::kernels

extern "C" __attribute__((visibility("default"))) const millpond::kernels::Library* millpondKernels() {
  using namespace millpond::kernels;  // NOLINT
  static const Library library{"none", kKernels, [](void* (*reach)(void*)) { g_reach = reach; }};
  return &library;
}
