// SPDX-License-Identifier: Apache-2.0
//
// Size and field offsets of the values of graph building and of gert's tensors on x86-64, as programs compiled against
// CANN have them. Compiled without access control: most fields are private.
#include <cstddef>
#include <type_traits>

#include "exe_graph/runtime/continuous_vector.h"
#include "exe_graph/runtime/runtime_tensor.h"
#include "graph/attr_value.h"
#include "graph/tensor.h"

#if !defined(__x86_64__)
#error "These offsets were measured on x86-64; measure them again before changing the port."
#endif

static_assert(sizeof(ge::StringHead) == 16);
static_assert(offsetof(ge::StringHead, addr) == 0);
static_assert(offsetof(ge::StringHead, len) == 8);
static_assert(sizeof(ge::TensorDescInfo) == 8);
static_assert(offsetof(ge::TensorDescInfo, format_) == 0);
static_assert(offsetof(ge::TensorDescInfo, dataType_) == 4);
static_assert(sizeof(ge::TensorType) == 16);
static_assert(sizeof(ge::ListTensorType) == 16);
static_assert(sizeof(ge::Promote) == 16);
static_assert(sizeof(ge::AscendString) == 16);
static_assert(sizeof(ge::Shape) == 16);
static_assert(sizeof(ge::TensorDesc) == 16);
static_assert(sizeof(ge::Tensor) == 16);
static_assert(sizeof(ge::AttrValue) == 16);
static_assert(sizeof(ge::graphStatus) == 4);

static_assert(sizeof(gert::Shape) == 248);
static_assert(offsetof(gert::Shape, dim_num_) == 0);
static_assert(offsetof(gert::Shape, dims_) == 8);
static_assert(offsetof(gert::Shape, reserved_) == 208);
static_assert(sizeof(gert::Stride) == 248);
static_assert(offsetof(gert::Stride, dim_num_) == 0);
static_assert(offsetof(gert::Stride, strides_) == 8);
static_assert(offsetof(gert::Stride, reserved_) == 208);
static_assert(sizeof(gert::StorageShape) == 536);
static_assert(offsetof(gert::StorageShape, origin_shape_) == 0);
static_assert(offsetof(gert::StorageShape, storage_shape_) == 248);
static_assert(offsetof(gert::StorageShape, reserved_) == 496);
static_assert(sizeof(gert::ExpandDimsType) == 48);
static_assert(offsetof(gert::ExpandDimsType, reserved_) == 8);
static_assert(sizeof(gert::StorageFormat) == 96);
static_assert(offsetof(gert::StorageFormat, origin_format_) == 0);
static_assert(offsetof(gert::StorageFormat, storage_format_) == 4);
static_assert(offsetof(gert::StorageFormat, expand_dims_type_) == 8);
static_assert(offsetof(gert::StorageFormat, reserved_) == 56);
static_assert(sizeof(gert::TensorPlacementUtils) == 1);
static_assert(sizeof(gert::TensorData) == 72);
static_assert(offsetof(gert::TensorData, addr_) == 0);
static_assert(offsetof(gert::TensorData, manager_) == 8);
static_assert(offsetof(gert::TensorData, size_) == 16);
static_assert(offsetof(gert::TensorData, placement_) == 24);
static_assert(offsetof(gert::TensorData, reserved_0_) == 28);
static_assert(offsetof(gert::TensorData, reserved_1_) == 32);
static_assert(sizeof(gert::Tensor) == 752);
static_assert(offsetof(gert::Tensor, storage_shape_) == 0);
static_assert(offsetof(gert::Tensor, storage_format_) == 536);
static_assert(offsetof(gert::Tensor, version_) == 632);
static_assert(offsetof(gert::Tensor, reserved_) == 633);
static_assert(offsetof(gert::Tensor, data_type_) == 636);
static_assert(offsetof(gert::Tensor, tensor_data_) == 640);
static_assert(offsetof(gert::Tensor, reserved_field_) == 712);
static_assert(sizeof(gert::TensorV2) == 1048);
static_assert(offsetof(gert::TensorV2, tensor_) == 0);
static_assert(offsetof(gert::TensorV2, stride_) == 752);
static_assert(offsetof(gert::TensorV2, offset_) == 1000);
static_assert(offsetof(gert::TensorV2, reserved_field_) == 1008);
static_assert(sizeof(gert::ContinuousVector) == 64);
static_assert(offsetof(gert::ContinuousVector, capacity_) == 0);
static_assert(offsetof(gert::ContinuousVector, size_) == 8);
static_assert(offsetof(gert::ContinuousVector, reserved_) == 16);
static_assert(offsetof(gert::ContinuousVector, elements) == 56);
static_assert(sizeof(gert::ContinuousVectorVector) == 64);
static_assert(offsetof(gert::ContinuousVectorVector, capacity_) == 0);
static_assert(offsetof(gert::ContinuousVectorVector, size_) == 8);
static_assert(offsetof(gert::ContinuousVectorVector, reserved_) == 16);
static_assert(offsetof(gert::ContinuousVectorVector, offset_) == 56);

// How a value is passed depends on whether copying it is trivial.
static_assert(!std::is_trivially_copyable_v<gert::Shape>);
static_assert(!std::is_trivially_copyable_v<gert::StorageShape>);
static_assert(!std::is_trivially_copyable_v<gert::Stride>);
static_assert(std::is_trivially_copyable_v<gert::ExpandDimsType>);
static_assert(std::is_trivially_copyable_v<gert::StorageFormat>);
static_assert(!std::is_copy_constructible_v<gert::Tensor>);
static_assert(std::is_nothrow_move_constructible_v<gert::TensorData>);
static_assert(std::is_move_constructible_v<gert::Tensor> && std::is_move_assignable_v<gert::Tensor>);
