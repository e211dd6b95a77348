// SPDX-License-Identifier: Apache-2.0
//
// Numbers of element types, formats, placements and results, as programs compiled against CANN have them.
#include "acl/acl_base.h"
#include "exe_graph/runtime/runtime_tensor.h"
#include "graph/ge_error_codes.h"
#include "graph/types.h"

static_assert(ge::DT_FLOAT == 0);
static_assert(ge::DT_FLOAT16 == 1);
static_assert(ge::DT_INT8 == 2);
static_assert(ge::DT_INT32 == 3);
static_assert(ge::DT_UINT8 == 4);
static_assert(ge::DT_INT16 == 6);
static_assert(ge::DT_UINT16 == 7);
static_assert(ge::DT_UINT32 == 8);
static_assert(ge::DT_INT64 == 9);
static_assert(ge::DT_UINT64 == 10);
static_assert(ge::DT_DOUBLE == 11);
static_assert(ge::DT_BOOL == 12);
static_assert(ge::DT_STRING == 13);
static_assert(ge::DT_DUAL_SUB_INT8 == 14);
static_assert(ge::DT_DUAL_SUB_UINT8 == 15);
static_assert(ge::DT_COMPLEX64 == 16);
static_assert(ge::DT_COMPLEX128 == 17);
static_assert(ge::DT_QINT8 == 18);
static_assert(ge::DT_QINT16 == 19);
static_assert(ge::DT_QINT32 == 20);
static_assert(ge::DT_QUINT8 == 21);
static_assert(ge::DT_QUINT16 == 22);
static_assert(ge::DT_RESOURCE == 23);
static_assert(ge::DT_STRING_REF == 24);
static_assert(ge::DT_DUAL == 25);
static_assert(ge::DT_VARIANT == 26);
static_assert(ge::DT_BF16 == 27);
static_assert(ge::DT_UNDEFINED == 28);
static_assert(ge::DT_INT4 == 29);
static_assert(ge::DT_UINT1 == 30);
static_assert(ge::DT_INT2 == 31);
static_assert(ge::DT_UINT2 == 32);
static_assert(ge::DT_COMPLEX32 == 33);
static_assert(ge::DT_HIFLOAT8 == 34);
static_assert(ge::DT_FLOAT8_E5M2 == 35);
static_assert(ge::DT_FLOAT8_E4M3FN == 36);
static_assert(ge::DT_FLOAT8_E8M0 == 37);
static_assert(ge::DT_FLOAT6_E3M2 == 38);
static_assert(ge::DT_FLOAT6_E2M3 == 39);
static_assert(ge::DT_FLOAT4_E2M1 == 40);
static_assert(ge::DT_FLOAT4_E1M2 == 41);
static_assert(ge::DT_HIFLOAT4 == 42);
static_assert(ge::DT_MAX == 43);

static_assert(ge::FORMAT_NCHW == 0);
static_assert(ge::FORMAT_NHWC == 1);
static_assert(ge::FORMAT_ND == 2);
static_assert(ge::FORMAT_NC1HWC0 == 3);
static_assert(ge::FORMAT_FRACTAL_Z == 4);
static_assert(ge::FORMAT_NC1C0HWPAD == 5);
static_assert(ge::FORMAT_NHWC1C0 == 6);
static_assert(ge::FORMAT_FSR_NCHW == 7);
static_assert(ge::FORMAT_FRACTAL_DECONV == 8);
static_assert(ge::FORMAT_C1HWNC0 == 9);
static_assert(ge::FORMAT_FRACTAL_DECONV_TRANSPOSE == 10);
static_assert(ge::FORMAT_FRACTAL_DECONV_SP_STRIDE_TRANS == 11);
static_assert(ge::FORMAT_NC1HWC0_C04 == 12);
static_assert(ge::FORMAT_FRACTAL_Z_C04 == 13);
static_assert(ge::FORMAT_CHWN == 14);
static_assert(ge::FORMAT_FRACTAL_DECONV_SP_STRIDE8_TRANS == 15);
static_assert(ge::FORMAT_HWCN == 16);
static_assert(ge::FORMAT_NC1KHKWHWC0 == 17);
static_assert(ge::FORMAT_BN_WEIGHT == 18);
static_assert(ge::FORMAT_FILTER_HWCK == 19);
static_assert(ge::FORMAT_HASHTABLE_LOOKUP_LOOKUPS == 20);
static_assert(ge::FORMAT_HASHTABLE_LOOKUP_KEYS == 21);
static_assert(ge::FORMAT_HASHTABLE_LOOKUP_VALUE == 22);
static_assert(ge::FORMAT_HASHTABLE_LOOKUP_OUTPUT == 23);
static_assert(ge::FORMAT_HASHTABLE_LOOKUP_HITS == 24);
static_assert(ge::FORMAT_C1HWNCoC0 == 25);
static_assert(ge::FORMAT_MD == 26);
static_assert(ge::FORMAT_NDHWC == 27);
static_assert(ge::FORMAT_FRACTAL_ZZ == 28);
static_assert(ge::FORMAT_FRACTAL_NZ == 29);
static_assert(ge::FORMAT_NCDHW == 30);
static_assert(ge::FORMAT_DHWCN == 31);
static_assert(ge::FORMAT_NDC1HWC0 == 32);
static_assert(ge::FORMAT_FRACTAL_Z_3D == 33);
static_assert(ge::FORMAT_CN == 34);
static_assert(ge::FORMAT_NC == 35);
static_assert(ge::FORMAT_DHWNC == 36);
static_assert(ge::FORMAT_FRACTAL_Z_3D_TRANSPOSE == 37);
static_assert(ge::FORMAT_FRACTAL_ZN_LSTM == 38);
static_assert(ge::FORMAT_FRACTAL_Z_G == 39);
static_assert(ge::FORMAT_RESERVED == 40);
static_assert(ge::FORMAT_ALL == 41);
static_assert(ge::FORMAT_NULL == 42);
static_assert(ge::FORMAT_ND_RNN_BIAS == 43);
static_assert(ge::FORMAT_FRACTAL_ZN_RNN == 44);
static_assert(ge::FORMAT_NYUV == 45);
static_assert(ge::FORMAT_NYUV_A == 46);
static_assert(ge::FORMAT_NCL == 47);
static_assert(ge::FORMAT_FRACTAL_Z_WINO == 48);
static_assert(ge::FORMAT_C1HWC0 == 49);
static_assert(ge::FORMAT_FRACTAL_NZ_C0_16 == 50);
static_assert(ge::FORMAT_FRACTAL_NZ_C0_32 == 51);
static_assert(ge::FORMAT_FRACTAL_NZ_C0_2 == 52);
static_assert(ge::FORMAT_FRACTAL_NZ_C0_4 == 53);
static_assert(ge::FORMAT_FRACTAL_NZ_C0_8 == 54);
static_assert(ge::FORMAT_END == 55);
static_assert(ge::FORMAT_MAX == 255);

static_assert(ge::kPlacementHost == 0 && ge::kPlacementDevice == 1 && ge::kPlacementEnd == 2);
static_assert(ge::NPU == 0 && ge::CPU == 1);
static_assert(ge::UNKNOWN_DIM == -1 && ge::UNKNOWN_DIM_NUM == -2);
static_assert(sizeof(ge::DataType) == 4 && sizeof(ge::Format) == 4 && sizeof(ge::Placement) == 4);
static_assert(gert::kOnDeviceHbm == 0 && gert::kOnHost == 1 && gert::kFollowing == 2 && gert::kOnDeviceP2p == 3);
static_assert(gert::kTensorPlacementEnd == 4 && sizeof(gert::TensorPlacement) == 4);
static_assert(gert::kGetTensorAddress == 0 && gert::kFreeTensor == 1 && gert::kPlusShareCount == 2);
static_assert(gert::kTensorV1 == 0 && gert::kTensorV2 == 1 && sizeof(gert::TensorVersion) == 1);

// The C API numbers alike, but for "undefined".
static_assert(static_cast<int>(ge::DT_FLOAT) == ACL_FLOAT && static_cast<int>(ge::DT_BF16) == ACL_BF16);
static_assert(static_cast<int>(ge::DT_INT4) == ACL_INT4 && static_cast<int>(ge::DT_COMPLEX32) == ACL_COMPLEX32);
static_assert(static_cast<int>(ge::FORMAT_ND) == ACL_FORMAT_ND);
static_assert(static_cast<int>(ge::FORMAT_FRACTAL_NZ) == ACL_FORMAT_FRACTAL_NZ);

static_assert(ge::GRAPH_SUCCESS == 0 && ge::GRAPH_FAILED == 0xFFFFFFFF && ge::GRAPH_NOT_CHANGED == 1343242304);
static_assert(ge::GRAPH_PARAM_INVALID == 50331649 && ge::GRAPH_NODE_WITHOUT_CONST_INPUT == 50331648);
static_assert(ge::GRAPH_NODE_NEED_REPASS == 50331647 && ge::GRAPH_INVALID_IR_DEF == 50331646);
static_assert(ge::OP_WITHOUT_IR_DATATYPE_INFER_RULE == 50331645 && ge::GRAPH_PARAM_OUT_OF_RANGE == 50331644);
static_assert(ge::GRAPH_MEM_OPERATE_FAILED == 50331539 && ge::GRAPH_NULL_PTR == 50331538);
static_assert(ge::GRAPH_MEMCPY_FAILED == 50331537 && ge::GRAPH_MEMSET_FAILED == 50331536);
static_assert(ge::GRAPH_MATH_CAL_FAILED == 50331429 && ge::GRAPH_ADD_OVERFLOW == 50331428);
static_assert(ge::GRAPH_MUL_OVERFLOW == 50331427);
