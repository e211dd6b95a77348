// SPDX-License-Identifier: Apache-2.0
#include "src/kernels/runtime/arguments.h"

#include <ATen/ATen.h>
#include <ATen/ScalarOps.h>
#include <c10/core/TensorImpl.h>

#include <algorithm>
#include <new>
#include <vector>

#include "src/kernels/quant/quantized.h"
#include "src/kernels/runtime/kernel.h"
#include "src/kernels/runtime/run.h"

namespace millpond::kernels {
namespace {

thread_local Frame* t_frame = nullptr;

// Tensors without memory of their own, ready to be bound. Never destroyed: threads end after libtorch's statics.
std::vector<at::Tensor>& Stock() {
  static thread_local auto* stock = new std::vector<at::Tensor>;
  return *stock;
}

at::Tensor NewTensor() {
  auto storage = c10::Storage(c10::Storage::use_byte_size_t(), 0, at::DataPtr(nullptr, at::Device(at::kCPU)), nullptr,
                              /*resizable=*/false);
  return at::detail::make_tensor<c10::TensorImpl>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU),
                                                  caffe2::TypeMeta::Make<float>());
}

// A tensor often comes back to the same argument of the same operator, so what is right already is left alone.
void BindTo(const TensorView& view, at::Tensor* tensor) {
  c10::TensorImpl* impl = tensor->unsafeGetTensorImpl();
  const auto type = c10::scalarTypeToTypeMeta(TypeFrom(view.dtype));
  const int64_t elements = view.extent();
  c10::StorageImpl* storage = impl->unsafe_storage().unsafeGetStorageImpl();
  void* first = elements == 0 ? nullptr : Reach(const_cast<void*>(view.first()));
  if (storage->data() != first) storage->set_data_ptr_noswap(at::DataPtr(first, at::Device(at::kCPU)));
  storage->set_nbytes(static_cast<size_t>(elements) * type.itemsize());
  if (impl->dtype() != type) impl->set_storage_and_dtype(c10::Storage(impl->unsafe_storage()), type);
  const at::IntArrayRef sizes(view.dims, view.rank);
  const at::IntArrayRef strides(view.strides, view.rank);
  if (impl->sizes() != sizes || impl->strides() != strides) impl->set_sizes_and_strides(sizes, strides);
}

// Floating-point types all become `widest`; integers stay exact, or, where that did not help, become it too.
at::ScalarType LiftedType(at::ScalarType type, Frame::Lift lift, at::ScalarType widest) {
  if (!at::isIntegralType(type, /*includeBool=*/true) || lift == Frame::Lift::kDouble) return widest;
  const bool odd = type == at::kUInt16 || type == at::kUInt32 || type == at::kUInt64;
  return odd ? at::kLong : type;
}

// The running kernels' tensors that stand for INT4 ones, the innermost frame's last.
std::vector<const at::Tensor*>& Int4Tensors() {
  static thread_local auto* tensors = new std::vector<const at::Tensor*>;
  return *tensors;
}

}  // namespace

at::ScalarType TypeFrom(DType type) {
  switch (type) {
    case DType::kFloat:
      return at::kFloat;
    case DType::kHalf:
      return at::kHalf;
    case DType::kBfloat16:
      return at::kBFloat16;
    case DType::kDouble:
      return at::kDouble;
    case DType::kInt8:
      return at::kChar;
    case DType::kUint8:
      return at::kByte;
    case DType::kInt16:
      return at::kShort;
    case DType::kUint16:
      return at::kUInt16;
    case DType::kInt32:
      return at::kInt;
    case DType::kUint32:
      return at::kUInt32;
    case DType::kInt64:
      return at::kLong;
    case DType::kUint64:
      return at::kUInt64;
    case DType::kBool:
      return at::kBool;
    case DType::kComplex32:
      return at::kComplexHalf;
    case DType::kComplex64:
      return at::kComplexFloat;
    case DType::kComplex128:
      return at::kComplexDouble;
    case DType::kFloat8E5m2:
      return at::kFloat8_e5m2;
    case DType::kFloat8E4m3:
      return at::kFloat8_e4m3fn;
    case DType::kFloat8E8m0:
      return at::kFloat8_e8m0fnu;
    default:
      break;
  }
  TORCH_CHECK(false, "data type ", DTypeName(type), " (", static_cast<int>(type), ") has no kernels on the CPU");
}

at::Scalar ScalarFrom(const ScalarValue& value) {
  switch (value.dtype) {
    case DType::kBool:
      return value.integer != 0;
    case DType::kComplex32:
    case DType::kComplex64:
    case DType::kComplex128:
      return c10::complex<double>(value.real, value.imaginary);
    case DType::kFloat:
    case DType::kHalf:
    case DType::kBfloat16:
    case DType::kDouble:
      return value.real;
    default:
      return value.integer;
  }
}

const at::Tensor& Operand::Made() const {
  if (!made_.defined()) made_ = at::native::wrapped_scalar_tensor(*number_);
  return made_;
}

at::Scalar Operand::value(const char* name) const {
  if (is_number()) return *number_;
  TORCH_CHECK(tensor_->numel() == 1, name, " has ", tensor_->numel(), " elements; it must have one");
  return tensor_->item();
}

at::Scalar Frame::ConstantScalar(const KernelConstant& value) {
  if (value.dtype == DType::kDouble) return value.real;
  return value.dtype == DType::kBool ? at::Scalar(value.integer != 0) : at::Scalar(value.integer);
}

Frame::Frame(OpCall* call) : call_(call), places_(call->row().kernel.places), outer_(t_frame), count_(0) {
  const auto views = call->all_views();
  auto& stock = Stock();
  stock.reserve(stock.size() + views.size());  // for the destructor, where nothing may fail
  tensors_ = reinterpret_cast<at::Tensor*>(inline_);
  if (views.size() > kInline) {
    tensors_ = static_cast<at::Tensor*>(::operator new(views.size() * sizeof(at::Tensor)));
  }
  t_frame = this;
  try {
    for (const TensorView& view : views) {
      at::Tensor* tensor = ::new (static_cast<void*>(tensors_ + count_)) at::Tensor;
      ++count_;
      if (view.dtype == DType::kUndefined) continue;  // a list's missing member
      if (__builtin_expect(IsLaidOut(view), false)) {
        laid_out_.push_back(ReadLaidOut(view, count_ - 1));
        *tensor = laid_out_.back().plain;
        if (view.dtype == DType::kInt4) Int4Tensors().push_back(tensor);
        continue;
      }
      if (stock.empty()) {
        *tensor = NewTensor();
      } else {
        *tensor = std::move(stock.back());
        stock.pop_back();
      }
      BindTo(view, tensor);
    }
  } catch (...) {  // what is half made has no destructor
    Int4Tensors().clear();
    while (count_ > 0) tensors_[--count_].~Tensor();
    if (tensors_ != reinterpret_cast<at::Tensor*>(inline_)) ::operator delete(tensors_);
    t_frame = outer_;
    throw;
  }
}

void Frame::Widen() {
  const auto args = call_->row().args;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_tensor = args[i].kind == ArgKind::kTensor || args[i].kind == ArgKind::kTensorList;
    if (!is_tensor || !call_->has(i)) continue;
    const OpCall::Arg& arg = call_->arg(i);
    const bool is_read = args[i].flow != ArgFlow::kOut || args[i].partial;
    for (size_t place = arg.first; place < arg.first + arg.count; ++place) {
      at::Tensor& tensor = tensors_[place];
      if (!tensor.defined() || !IsHalf(tensor.scalar_type())) continue;
      at::Tensor wide = is_read ? tensor.to(at::kFloat) : at::empty(tensor.sizes(), at::kFloat);
      widened_.push_back({place, tensor});
      tensor = std::move(wide);
    }
  }
}

void Frame::Round() {
  const auto args = call_->row().args;
  for (size_t i = 0; i < args.size(); ++i) {
    if (args[i].flow == ArgFlow::kIn || !call_->has(i)) continue;
    const OpCall::Arg& arg = call_->arg(i);
    for (Widened& one : widened_) {
      if (one.place >= arg.first && one.place < arg.first + arg.count) one.own.copy_(tensors_[one.place]);
    }
  }
}

bool Frame::LiftTo(Lift lift) {
  at::ScalarType widest = at::kDouble;
  for (size_t place = 0; place < count_; ++place) {
    if (tensors_[place].defined() && tensors_[place].is_complex()) widest = at::kComplexDouble;
  }
  for (size_t place = 0; place < count_; ++place) {
    at::Tensor& tensor = tensors_[place];
    if (!tensor.defined()) continue;
    const at::ScalarType type = tensor.scalar_type();
    const at::ScalarType wanted = LiftedType(type, lift, widest);
    if (wanted == type) continue;
    lifted_.push_back({place, tensor});
    tensor = tensor.to(wanted);
  }
  return !lifted_.empty();
}

void Frame::LayOut() {
  const auto args = call_->row().args;
  const auto views = call_->all_views();
  for (size_t i = 0; i < args.size() && !(laid_out_.empty() && lifted_.empty()); ++i) {
    if (args[i].flow == ArgFlow::kIn || !call_->has(i)) continue;
    const OpCall::Arg& arg = call_->arg(i);
    for (Widened& one : lifted_) {
      if (one.place >= arg.first && one.place < arg.first + arg.count) one.own.copy_(tensors_[one.place]);
    }
    for (const LaidOut& one : laid_out_) {
      if (one.place >= arg.first && one.place < arg.first + arg.count) WriteLaidOut(views[one.place], one);
    }
  }
}

Frame::~Frame() {
  for (Widened& one : widened_) tensors_[one.place] = std::move(one.own);
  for (Widened& one : lifted_) tensors_[one.place] = std::move(one.own);
  for (const LaidOut& one : laid_out_) tensors_[one.place].reset();  // memory of their own: not for the stock
  if (!laid_out_.empty()) {
    std::erase_if(Int4Tensors(), [&](const at::Tensor* one) { return one >= tensors_ && one < tensors_ + count_; });
  }
  auto& stock = Stock();
  for (size_t i = count_; i-- > 0;) {  // backwards: the next frame then finds them in the same places
    at::Tensor& tensor = tensors_[i];
    // One that the kernel still holds (or that its storage shares) is not ours to bind again.
    if (tensor.defined() && tensor.use_count() == 1 && tensor.storage().use_count() == 1 &&
        stock.size() < stock.capacity()) {
      stock.push_back(std::move(tensor));
    }
    tensor.~Tensor();
  }
  if (tensors_ != reinterpret_cast<at::Tensor*>(inline_)) ::operator delete(tensors_);
  t_frame = outer_;
}

Frame* Frame::Current() { return t_frame; }

TensorView* Frame::ViewOf(const at::Tensor& tensor) {
  const auto place = static_cast<size_t>(&tensor - tensors_);
  TORCH_INTERNAL_ASSERT(place < count_, "not a tensor of the running kernel");
  return &call_->all_views()[place];
}

bool IsInt4(const at::Tensor& tensor) {
  const auto& known = Int4Tensors();
  return std::find(known.begin(), known.end(), &tensor) != known.end();
}

void WriteActual(Tensor& out, const Tensor& value) {
  TORCH_CHECK(value.numel() <= out.numel(), "the result has ", value.numel(), " elements, the output room for ",
              out.numel());
  TORCH_CHECK(static_cast<size_t>(value.dim()) <= TensorView::kMaxRank, "the result has ", value.dim(), " dimensions");
  if (value.numel() != 0) at::from_blob(out.data_ptr(), value.sizes(), out.options()).copy_(value);
  TensorView* view = Frame::Current()->ViewOf(out);
  view->rank = static_cast<uint8_t>(value.dim());
  std::copy(value.sizes().begin(), value.sizes().end(), view->dims);
  view->SetContiguousStrides();
}

}  // namespace millpond::kernels
