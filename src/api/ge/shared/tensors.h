// SPDX-License-Identifier: Apache-2.0
// Tensors of both generations as runs take them, and back. Nothing is copied: memory that a run found belongs to the
// tensor it is put into, through the block's last holder.
#ifndef MILLPOND_SRC_API_GE_SHARED_TENSORS_H_
#define MILLPOND_SRC_API_GE_SHARED_TENSORS_H_

#include <span>
#include <vector>

#include "include/exe_graph/runtime/runtime_tensor.h"
#include "include/graph/tensor.h"
#include "src/base/status.h"
#include "src/exec/program/program.h"
#include "src/exec/session/numbered_graph.h"

namespace millpond::geapi {

std::vector<program::Tensor> TensorsFrom(const std::vector<::ge::Tensor>& tensors);
std::vector<program::Tensor> TensorsFrom(const std::vector<::gert::Tensor>& tensors);

std::vector<session::InputDesc> DescsFrom(const std::vector<::ge::Tensor>& tensors);

// What a run made, into the client's vector, which is empty or has as many elements. Elements that had memory keep it.
Status PutTensors(std::span<const program::Tensor> made, std::vector<::ge::Tensor>* outputs);
Status PutTensors(std::span<const program::Tensor> made, std::vector<::gert::Tensor>* outputs);

}  // namespace millpond::geapi

#endif  // MILLPOND_SRC_API_GE_SHARED_TENSORS_H_
