// SPDX-License-Identifier: Apache-2.0
#include "src/api/atb/operation.h"

#include "src/exec/op/launch.h"

namespace atb {

class OperationImpl {
 public:
  uint32_t stream_number = 0;
};

OperationInfra::OperationInfra() : impl_(std::make_unique<OperationImpl>()) {}
OperationInfra::OperationInfra(const OperationInfra& other)
    : Operation(other), impl_(std::make_unique<OperationImpl>(*other.impl_)) {}
OperationInfra& OperationInfra::operator=(const OperationInfra& other) {
  *impl_ = *other.impl_;
  return *this;
}
OperationInfra::~OperationInfra() = default;
void OperationInfra::SetExecuteStreamId(uint32_t streamId) { impl_->stream_number = streamId; }
uint32_t OperationInfra::GetExecuteStreamId() const { return impl_->stream_number; }
aclrtStream OperationInfra::GetExecuteStream(Context* context) {
  if (context == nullptr) return nullptr;
  const std::vector<aclrtStream> streams = context->GetExecuteStreams();
  return impl_->stream_number < streams.size() ? streams[impl_->stream_number] : nullptr;
}

Status DestroyOperation(Operation* operation) {
  return millpond::boost::Guard("DestroyOperation", [&]() -> millpond::boost::Outcome {
    MP_ATB_REQUIRE(operation != nullptr, ERROR_INVALID_PARAM, "operation is a NULL pointer");
    delete operation;
    return millpond::Ok();
  });
}

Status SetExecuteStreamId(Operation* operation, uint32_t streamId) {
  return millpond::boost::Guard("SetExecuteStreamId", [&]() -> millpond::boost::Outcome {
    auto* own = dynamic_cast<OperationInfra*>(operation);
    MP_ATB_REQUIRE(own != nullptr, ERROR_INVALID_OPERATION_ADDR,
                   "the operation %p is NULL or does not derive from OperationInfra", static_cast<void*>(operation));
    own->SetExecuteStreamId(streamId);
    return millpond::Ok();
  });
}

uint32_t GetExecuteStreamId(Operation* operation) {
  const auto* own = dynamic_cast<const OperationInfra*>(operation);
  return own == nullptr ? 0 : own->GetExecuteStreamId();
}

}  // namespace atb

namespace millpond::boost {

Outcome StreamOf(const atb::Operation& operation, atb::Context* context, Stream** out_stream) {
  MP_ATB_REQUIRE(context != nullptr, atb::ERROR_INVALID_CONTEXT_ADDR,
                 "the context is NULL; make one with CreateContext");
  const auto* own = dynamic_cast<const atb::OperationInfra*>(&operation);
  const uint32_t number = own == nullptr ? 0 : own->GetExecuteStreamId();
  const std::vector<aclrtStream> streams = context->GetExecuteStreams();
  MP_ATB_REQUIRE(number < streams.size(), atb::ERROR_INVALID_STREAM,
                 "the context has %zu streams, none with number %u; call SetExecuteStream before Execute",
                 streams.size(), number);
  return ResolveStream(streams[number], out_stream);
}

Outcome RowOperation::CheckCounts(size_t inputs, size_t outputs) const {
  const Counts counts = CountOf();
  MP_ATB_REQUIRE(inputs == counts.inputs, atb::ERROR_INVALID_IN_TENSOR_NUM, "%s has %u inputs; there are %zu", Name(),
                 counts.inputs, inputs);
  MP_ATB_REQUIRE(outputs == counts.outputs, atb::ERROR_INVALID_TENSOR_NUM, "%s has %u outputs; there are %zu", Name(),
                 counts.outputs, outputs);
  return Ok();
}

atb::Status RowOperation::InferShape(const Descs& in, Descs& out) const {
  return Guard("Operation::InferShape", [&]() -> Outcome {
    out.resize(CountOf().outputs);
    MP_ATB_RETURN_IF_ERROR(CheckCounts(in.size(), out.size()));
    return InferOutputs(in, &out);
  });
}

Outcome RowOperation::CheckedCalls(const atb::VariantPack& pack, bool memory_is_known, RowCalls* calls) const {
  MP_ATB_RETURN_IF_ERROR(CheckCounts(pack.inTensors.size(), pack.outTensors.size()));
  Descs in, expected;
  for (const atb::Tensor& tensor : pack.inTensors) in.push_back(tensor.desc);
  expected.resize(pack.outTensors.size());
  MP_ATB_RETURN_IF_ERROR(InferOutputs(in, &expected));
  for (size_t i = 0; i < expected.size(); ++i) {
    const atb::TensorDesc& given = pack.outTensors[i].desc;
    // Hidden sizes may be given in one dimension or in two; the number of elements has to be the same.
    MP_ATB_REQUIRE(atb::Utils::GetTensorNumel(given) == atb::Utils::GetTensorNumel(expected[i]),
                   atb::ERROR_INVALID_TENSOR_DIM, "%s: output %zu has shape %s, the inputs make %s", Name(), i,
                   ShapeText(ShapeOf(given)).c_str(), ShapeText(ShapeOf(expected[i])).c_str());
    MP_ATB_REQUIRE(given.dtype == expected[i].dtype, atb::ERROR_INVALID_TENSOR_DTYPE,
                   "%s: output %zu is of type %s, the inputs make %s", Name(), i, DTypeName(TypeOf(given)),
                   DTypeName(TypeOf(expected[i])));
  }
  MP_ATB_RETURN_IF_ERROR(MakeCalls(pack, calls));
  for (RowCall& call : *calls) MP_RETURN_IF_ERROR(call.Check(memory_is_known).Prefixed(Name()));
  return Ok();
}

atb::Status RowOperation::Setup(const atb::VariantPack& pack, uint64_t& workspace_size, atb::Context* context) {
  return Guard("Operation::Setup", [&]() -> Outcome {
    workspace_size = 0;
    MP_ATB_REQUIRE(context != nullptr, atb::ERROR_INVALID_CONTEXT_ADDR,
                   "the context is NULL; make one with CreateContext");
    RowCalls calls;
    // Tensors inside a graph have no memory yet.
    Outcome checked = CheckedCalls(pack, /*memory_is_known=*/false, &calls);
    // torch_npu calls this from its own queue, which a failure ends for good: there Execute tells it, by a task.
    if (!checked.ok() && ClientIsTorch()) return Ok();
    return checked;
  });
}

atb::Status RowOperation::Execute(const atb::VariantPack& pack, uint8_t*, uint64_t, atb::Context* context) {
  return Guard("Operation::Execute", [&]() -> Outcome {
    Stream* stream = nullptr;
    MP_ATB_RETURN_IF_ERROR(StreamOf(*this, context, &stream));
    // Launches are made at once; there is nothing to prepare before.
    if (context->GetExecuteType() == atb::EXECUTE_PRELAUNCH) return Ok();
    RowCalls calls;
    Outcome checked = CheckedCalls(pack, /*memory_is_known=*/true, &calls);
    if (!checked.ok() && ClientIsTorch()) return QueueRefusal(Name(), checked.status.message(), stream);
    if (!checked.ok()) return checked;
    for (RowCall& call : calls) MP_RETURN_IF_ERROR(call.Launch(stream));
    return Ok();
  });
}

}  // namespace millpond::boost
