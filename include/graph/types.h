// SPDX-License-Identifier: Apache-2.0
//
// Element types, formats, placements, and the sets of types that operator definitions name.
#ifndef MILLPOND_INCLUDE_GRAPH_TYPES_H_
#define MILLPOND_INCLUDE_GRAPH_TYPES_H_

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <vector>

#include "graph/c_types.h"
#include "graph/error_codes.h"

#if defined(__GNUC__)
#ifndef WEAK_SYMBOL
#define WEAK_SYMBOL __attribute__((weak))
#endif
#ifndef FORMAT_PRINTF
#define FORMAT_PRINTF(format_idx, first_arg) __attribute__((format(printf, (format_idx), (first_arg))))
#endif
#else
#ifndef WEAK_SYMBOL
#define WEAK_SYMBOL
#endif
#ifndef FORMAT_PRINTF
#define FORMAT_PRINTF(format_idx, first_arg)
#endif
#endif

namespace ge {

using char_t = char;
using float32_t = float;
using float64_t = double;
using vector_bit_t = std::vector<bool>;

// A dimension that only the run will tell; the single dimension of a shape whose rank is not known either.
static const int64_t UNKNOWN_DIM = -1;
static const int64_t UNKNOWN_DIM_NUM = -2;
static const int64_t SHAPE_RANGE_LOWER_LIMIT = 0;  // a dimension may be empty
static const std::vector<int64_t> UNKNOWN_SHAPE = {-1};
static const std::vector<int64_t> UNKNOWN_RANK = {-2};
static const std::vector<int64_t> DUMMY_SHAPE = {-3};

// Sizes above this are in bits: 1004 stands for 4 bits.
static constexpr int32_t kDataTypeSizeBitOffset = 1000;
static constexpr uint32_t kBitNumOfOneByte = 8U;
static constexpr uint32_t kBitThreeBytes = 24U;

enum DataType {
  DT_FLOAT = C_DT_FLOAT,
  DT_FLOAT16 = C_DT_FLOAT16,
  DT_INT8 = C_DT_INT8,
  DT_INT32 = C_DT_INT32,
  DT_UINT8 = C_DT_UINT8,
  DT_INT16 = C_DT_INT16,
  DT_UINT16 = C_DT_UINT16,
  DT_UINT32 = C_DT_UINT32,
  DT_INT64 = C_DT_INT64,
  DT_UINT64 = C_DT_UINT64,
  DT_DOUBLE = C_DT_DOUBLE,
  DT_BOOL = C_DT_BOOL,
  DT_STRING = C_DT_STRING,
  DT_DUAL_SUB_INT8 = C_DT_DUAL_SUB_INT8,
  DT_DUAL_SUB_UINT8 = C_DT_DUAL_SUB_UINT8,
  DT_COMPLEX64 = C_DT_COMPLEX64,
  DT_COMPLEX128 = C_DT_COMPLEX128,
  DT_QINT8 = C_DT_QINT8,
  DT_QINT16 = C_DT_QINT16,
  DT_QINT32 = C_DT_QINT32,
  DT_QUINT8 = C_DT_QUINT8,
  DT_QUINT16 = C_DT_QUINT16,
  DT_RESOURCE = C_DT_RESOURCE,
  DT_STRING_REF = C_DT_STRING_REF,
  DT_DUAL = C_DT_DUAL,
  DT_VARIANT = C_DT_VARIANT,
  DT_BF16 = C_DT_BF16,
  DT_UNDEFINED = C_DT_UNDEFINED,
  DT_INT4 = C_DT_INT4,
  DT_UINT1 = C_DT_UINT1,
  DT_INT2 = C_DT_INT2,
  DT_UINT2 = C_DT_UINT2,
  DT_COMPLEX32 = C_DT_COMPLEX32,
  DT_HIFLOAT8 = C_DT_HIFLOAT8,
  DT_FLOAT8_E5M2 = C_DT_FLOAT8_E5M2,
  DT_FLOAT8_E4M3FN = C_DT_FLOAT8_E4M3FN,
  DT_FLOAT8_E8M0 = C_DT_FLOAT8_E8M0,
  DT_FLOAT6_E3M2 = C_DT_FLOAT6_E3M2,
  DT_FLOAT6_E2M3 = C_DT_FLOAT6_E2M3,
  DT_FLOAT4_E2M1 = C_DT_FLOAT4_E2M1,
  DT_FLOAT4_E1M2 = C_DT_FLOAT4_E1M2,
  DT_HIFLOAT4 = C_DT_HIFLOAT4,
  DT_MAX = C_DT_MAX,
};

// What a tensor of strings begins with, once per string: where its bytes are, counted from the tensor's start, and how
// many there are. A zero byte follows each.
struct StringHead {
  int64_t addr;
  int64_t len;
};

// Bytes of one element; 1000 + bits for types smaller than a byte; -1 where no size is fixed (strings, undefined).
inline int GetSizeByDataType(DataType data_type) {
  switch (data_type) {
    case DT_BOOL:
    case DT_INT8:
    case DT_UINT8:
    case DT_QINT8:
    case DT_QUINT8:
    case DT_DUAL_SUB_INT8:
    case DT_DUAL_SUB_UINT8:
    case DT_HIFLOAT8:
    case DT_FLOAT8_E5M2:
    case DT_FLOAT8_E4M3FN:
    case DT_FLOAT8_E8M0:
      return 1;
    case DT_FLOAT16:
    case DT_BF16:
    case DT_INT16:
    case DT_UINT16:
    case DT_QINT16:
    case DT_QUINT16:
      return 2;
    case DT_FLOAT:
    case DT_INT32:
    case DT_UINT32:
    case DT_QINT32:
    case DT_COMPLEX32:
      return 4;
    case DT_DUAL:  // a float and an int8
      return 5;
    case DT_DOUBLE:
    case DT_INT64:
    case DT_UINT64:
    case DT_COMPLEX64:
    case DT_RESOURCE:
    case DT_VARIANT:
      return 8;
    case DT_COMPLEX128:
      return 16;
    case DT_UINT1:
      return kDataTypeSizeBitOffset + 1;
    case DT_INT2:
    case DT_UINT2:
      return kDataTypeSizeBitOffset + 2;
    case DT_INT4:
    case DT_FLOAT4_E2M1:
    case DT_FLOAT4_E1M2:
    case DT_HIFLOAT4:
      return kDataTypeSizeBitOffset + 4;
    case DT_FLOAT6_E3M2:
    case DT_FLOAT6_E2M3:
      return kDataTypeSizeBitOffset + 6;
    default:
      return -1;
  }
}

// Bytes of so many elements side by side, bits rounded up; -1 when the count is negative, the type has no size, or the
// product does not fit.
GE_FUNC_HOST_VISIBILITY int64_t GetSizeInBytes(int64_t element_count, DataType data_type);

enum Format {
  FORMAT_NCHW = C_FORMAT_NCHW,
  FORMAT_NHWC = C_FORMAT_NHWC,
  FORMAT_ND = C_FORMAT_ND,
  FORMAT_NC1HWC0 = C_FORMAT_NC1HWC0,
  FORMAT_FRACTAL_Z = C_FORMAT_FRACTAL_Z,
  FORMAT_NC1C0HWPAD = C_FORMAT_NC1C0HWPAD,
  FORMAT_NHWC1C0 = C_FORMAT_NHWC1C0,
  FORMAT_FSR_NCHW = C_FORMAT_FSR_NCHW,
  FORMAT_FRACTAL_DECONV = C_FORMAT_FRACTAL_DECONV,
  FORMAT_C1HWNC0 = C_FORMAT_C1HWNC0,
  FORMAT_FRACTAL_DECONV_TRANSPOSE = C_FORMAT_FRACTAL_DECONV_TRANSPOSE,
  FORMAT_FRACTAL_DECONV_SP_STRIDE_TRANS = C_FORMAT_FRACTAL_DECONV_SP_STRIDE_TRANS,
  FORMAT_NC1HWC0_C04 = C_FORMAT_NC1HWC0_C04,
  FORMAT_FRACTAL_Z_C04 = C_FORMAT_FRACTAL_Z_C04,
  FORMAT_CHWN = C_FORMAT_CHWN,
  FORMAT_FRACTAL_DECONV_SP_STRIDE8_TRANS = C_FORMAT_FRACTAL_DECONV_SP_STRIDE8_TRANS,
  FORMAT_HWCN = C_FORMAT_HWCN,
  FORMAT_NC1KHKWHWC0 = C_FORMAT_NC1KHKWHWC0,
  FORMAT_BN_WEIGHT = C_FORMAT_BN_WEIGHT,
  FORMAT_FILTER_HWCK = C_FORMAT_FILTER_HWCK,
  FORMAT_HASHTABLE_LOOKUP_LOOKUPS = C_FORMAT_HASHTABLE_LOOKUP_LOOKUPS,
  FORMAT_HASHTABLE_LOOKUP_KEYS = C_FORMAT_HASHTABLE_LOOKUP_KEYS,
  FORMAT_HASHTABLE_LOOKUP_VALUE = C_FORMAT_HASHTABLE_LOOKUP_VALUE,
  FORMAT_HASHTABLE_LOOKUP_OUTPUT = C_FORMAT_HASHTABLE_LOOKUP_OUTPUT,
  FORMAT_HASHTABLE_LOOKUP_HITS = C_FORMAT_HASHTABLE_LOOKUP_HITS,
  FORMAT_C1HWNCoC0 = C_FORMAT_C1HWNCoC0,
  FORMAT_MD = C_FORMAT_MD,
  FORMAT_NDHWC = C_FORMAT_NDHWC,
  FORMAT_FRACTAL_ZZ = C_FORMAT_FRACTAL_ZZ,
  FORMAT_FRACTAL_NZ = C_FORMAT_FRACTAL_NZ,
  FORMAT_NCDHW = C_FORMAT_NCDHW,
  FORMAT_DHWCN = C_FORMAT_DHWCN,
  FORMAT_NDC1HWC0 = C_FORMAT_NDC1HWC0,
  FORMAT_FRACTAL_Z_3D = C_FORMAT_FRACTAL_Z_3D,
  FORMAT_CN = C_FORMAT_CN,
  FORMAT_NC = C_FORMAT_NC,
  FORMAT_DHWNC = C_FORMAT_DHWNC,
  FORMAT_FRACTAL_Z_3D_TRANSPOSE = C_FORMAT_FRACTAL_Z_3D_TRANSPOSE,
  FORMAT_FRACTAL_ZN_LSTM = C_FORMAT_FRACTAL_ZN_LSTM,
  FORMAT_FRACTAL_Z_G = C_FORMAT_FRACTAL_Z_G,
  FORMAT_RESERVED = C_FORMAT_RESERVED,
  FORMAT_ALL = C_FORMAT_ALL,
  FORMAT_NULL = C_FORMAT_NULL,
  FORMAT_ND_RNN_BIAS = C_FORMAT_ND_RNN_BIAS,
  FORMAT_FRACTAL_ZN_RNN = C_FORMAT_FRACTAL_ZN_RNN,
  FORMAT_NYUV = C_FORMAT_NYUV,
  FORMAT_NYUV_A = C_FORMAT_NYUV_A,
  FORMAT_NCL = C_FORMAT_NCL,
  FORMAT_FRACTAL_Z_WINO = C_FORMAT_FRACTAL_Z_WINO,
  FORMAT_C1HWC0 = C_FORMAT_C1HWC0,
  FORMAT_FRACTAL_NZ_C0_16 = C_FORMAT_FRACTAL_NZ_C0_16,
  FORMAT_FRACTAL_NZ_C0_32 = C_FORMAT_FRACTAL_NZ_C0_32,
  FORMAT_FRACTAL_NZ_C0_2 = C_FORMAT_FRACTAL_NZ_C0_2,
  FORMAT_FRACTAL_NZ_C0_4 = C_FORMAT_FRACTAL_NZ_C0_4,
  FORMAT_FRACTAL_NZ_C0_8 = C_FORMAT_FRACTAL_NZ_C0_8,
  FORMAT_END = C_FORMAT_END,
  FORMAT_MAX = C_FORMAT_MAX,
};

// A format in full is one number: bits 0-7 the primary format above, 8-23 the sub-format (groups), 24-27 the C0 code,
// which stands for a C0 of 2^(code - 1); 0 means none was said.
inline int32_t GetPrimaryFormat(int32_t format) { return format & 0xff; }
inline int32_t GetSubFormat(int32_t format) { return (format >> kBitNumOfOneByte) & 0xffff; }
inline int32_t GetC0Format(int32_t format) { return (format >> kBitThreeBytes) & 0xf; }
inline bool HasSubFormat(int32_t format) { return GetSubFormat(format) != 0; }
inline bool HasC0Format(int32_t format) { return GetC0Format(format) != 0; }
// -1 when the format has no C0 code.
inline int64_t GetC0Value(int32_t format) {
  return HasC0Format(format) ? static_cast<int64_t>(1) << (GetC0Format(format) - 1) : -1;
}

inline int32_t GetFormatFromSubAndC0(int32_t primary_format, int32_t sub_format, int32_t c0_format) {
  return (primary_format & 0xff) | ((sub_format & 0xffff) << kBitNumOfOneByte) | ((c0_format & 0xf) << kBitThreeBytes);
}
inline int32_t GetFormatFromSub(int32_t primary_format, int32_t sub_format) {
  return GetFormatFromSubAndC0(primary_format, sub_format, 0);
}
// Replaces the C0 code alone.
inline int32_t GetFormatFromC0(int32_t format, int32_t c0_format) {
  return GetFormatFromSubAndC0(GetPrimaryFormat(format), GetSubFormat(format), c0_format);
}

// "NCHW" for FORMAT_NCHW; "UNKNOWN" for numbers that are not a format.
GE_FUNC_HOST_VISIBILITY const char_t* GetFormatName(Format format);

// What an operator's output shape depends on.
enum UnknowShapeOpType { DEPEND_IN_SHAPE = 1, DEPEND_CONST_VALUE = 2, DEPEND_SHAPE_RANGE = 3, DEPEND_COMPUTE = 4 };

enum DeviceType { NPU = 0, CPU = 1 };

enum Placement { kPlacementHost = 0, kPlacementDevice = 1, kPlacementEnd };

struct TensorDescInfo {
  Format format_ = FORMAT_RESERVED;
  DataType dataType_ = DT_UNDEFINED;
};

class TensorTypeImpl;

// A set of element types; an operator's definition has one per operand.
struct GE_FUNC_HOST_VISIBILITY TensorType {
  explicit TensorType(DataType dt);
  TensorType(const std::initializer_list<DataType>& initial_types);  // NOLINT: definitions pass lists

  static TensorType ALL() {
    return TensorType{DT_FLOAT, DT_FLOAT16, DT_BF16,   DT_DOUBLE, DT_INT8,    DT_INT16,     DT_INT32,     DT_INT64,
                      DT_UINT8, DT_UINT16,  DT_UINT32, DT_UINT64, DT_BOOL,    DT_COMPLEX32, DT_COMPLEX64, DT_COMPLEX128,
                      DT_QINT8, DT_QINT16,  DT_QINT32, DT_QUINT8, DT_QUINT16, DT_RESOURCE,  DT_STRING};
  }
  static TensorType OrdinaryType() {
    return TensorType{DT_FLOAT, DT_FLOAT16, DT_BF16,   DT_DOUBLE, DT_INT8, DT_INT16,     DT_INT32,     DT_INT64,
                      DT_UINT8, DT_UINT16,  DT_UINT32, DT_UINT64, DT_BOOL, DT_COMPLEX32, DT_COMPLEX64, DT_COMPLEX128};
  }
  static TensorType BasicType() {
    return TensorType{DT_FLOAT,      DT_FLOAT16, DT_BF16,   DT_DOUBLE, DT_INT8,   DT_INT16,     DT_INT32,
                      DT_INT64,      DT_UINT8,   DT_UINT16, DT_UINT32, DT_UINT64, DT_COMPLEX32, DT_COMPLEX64,
                      DT_COMPLEX128, DT_QINT8,   DT_QINT16, DT_QINT32, DT_QUINT8, DT_QUINT16};
  }
  // Basic types without the two 16-bit quantised ones.
  static TensorType NumberType() {
    return TensorType{DT_FLOAT,     DT_FLOAT16,   DT_BF16,       DT_DOUBLE, DT_INT8,   DT_INT16,
                      DT_INT32,     DT_INT64,     DT_UINT8,      DT_UINT16, DT_UINT32, DT_UINT64,
                      DT_COMPLEX32, DT_COMPLEX64, DT_COMPLEX128, DT_QINT8,  DT_QINT32, DT_QUINT8};
  }
  static TensorType RealNumberType() {
    return TensorType{DT_FLOAT, DT_FLOAT16, DT_BF16,  DT_DOUBLE, DT_INT8,   DT_INT16,
                      DT_INT32, DT_INT64,   DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64};
  }
  static TensorType IntegerDataType() {
    return TensorType{DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64};
  }
  static TensorType SignedDataType() { return TensorType{DT_INT8, DT_INT16, DT_INT32, DT_INT64}; }
  static TensorType UnsignedDataType() { return TensorType{DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64}; }
  static TensorType IndexNumberType() { return TensorType{DT_INT32, DT_INT64}; }
  static TensorType FloatingDataType() { return TensorType{DT_FLOAT, DT_FLOAT16, DT_DOUBLE}; }
  static TensorType FLOAT() { return TensorType{DT_FLOAT, DT_FLOAT16, DT_BF16}; }
  static TensorType ComplexDataType() { return TensorType{DT_COMPLEX32, DT_COMPLEX64, DT_COMPLEX128}; }
  static TensorType UnaryDataType() {
    return TensorType{DT_FLOAT, DT_FLOAT16, DT_BF16, DT_DOUBLE, DT_COMPLEX32, DT_COMPLEX64, DT_COMPLEX128};
  }
  static TensorType QuantifiedType() { return TensorType{DT_QINT8, DT_QINT16, DT_QINT32, DT_QUINT8, DT_QUINT16}; }

  std::shared_ptr<TensorTypeImpl> tensor_type_impl_;
};

// The same for an operand that is a list, whose members may differ in type.
struct ListTensorType {
  explicit ListTensorType(const TensorType& type) : tensor_type(type) {}
  TensorType tensor_type;
};

// The type that operands of the named symbols promote to. Moves, but does not copy.
class GE_FUNC_HOST_VISIBILITY Promote {
 public:
  Promote(const std::initializer_list<const char*>& syms);  // NOLINT: definitions pass lists
  Promote(const Promote& other) = delete;
  Promote& operator=(const Promote& other) = delete;
  Promote(Promote&& other) noexcept;
  Promote& operator=(Promote&& other) noexcept;

  // In the order given; the texts live as long as this object. None after a move.
  std::vector<const char*> Syms() const;

 private:
  std::shared_ptr<void> data_;
};

}  // namespace ge

namespace domi {

// Who carries an operator out.
enum class ImplyType : unsigned int {
  BUILTIN = 0,
  BUILDIN = BUILTIN,  // an old spelling
  TVM = 1,
  CUSTOM = 2,
  AI_CPU = 3,
  CCE = 4,
  GELOCAL = 5,
  HCCL = 6,
  INVALID = 0xFFFFFFFF,
};

using char_t = ge::char_t;
using float32_t = ge::float32_t;
using float64_t = ge::float64_t;

}  // namespace domi

#endif  // MILLPOND_INCLUDE_GRAPH_TYPES_H_
