// SPDX-License-Identifier: Apache-2.0
//
// Size and field offsets of the values of graph building and of gert's tensors on x86-64, as programs compiled against
// CANN have them. Compiled without access control: most fields are private.
#include "exe_graph/runtime/continuous_vector.h"
#include "exe_graph/runtime/runtime_tensor.h"
#include "graph/attr_value.h"
#include "graph/tensor.h"
#include "layout.h"

// clang-format off: the rows come after what they name.
#include "ge_values.def"
// clang-format on

// How a value is passed depends on whether copying it is trivial.
static_assert(!std::is_trivially_copyable_v<gert::Shape>);
static_assert(!std::is_trivially_copyable_v<gert::StorageShape>);
static_assert(!std::is_trivially_copyable_v<gert::Stride>);
static_assert(std::is_trivially_copyable_v<gert::ExpandDimsType>);
static_assert(std::is_trivially_copyable_v<gert::StorageFormat>);
static_assert(!std::is_copy_constructible_v<gert::Tensor>);
static_assert(std::is_nothrow_move_constructible_v<gert::TensorData>);
static_assert(std::is_move_constructible_v<gert::Tensor> && std::is_move_assignable_v<gert::Tensor>);
