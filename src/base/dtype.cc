// SPDX-License-Identifier: Apache-2.0
#include "src/base/dtype.h"

namespace millpond {

const char* DTypeName(DType type) {
  switch (type) {
    case DType::kUndefined:
      return "UNDEFINED";
    case DType::kFloat:
      return "FLOAT";
    case DType::kHalf:
      return "FLOAT16";
    case DType::kInt8:
      return "INT8";
    case DType::kInt32:
      return "INT32";
    case DType::kUint8:
      return "UINT8";
    case DType::kInt16:
      return "INT16";
    case DType::kUint16:
      return "UINT16";
    case DType::kUint32:
      return "UINT32";
    case DType::kInt64:
      return "INT64";
    case DType::kUint64:
      return "UINT64";
    case DType::kDouble:
      return "DOUBLE";
    case DType::kBool:
      return "BOOL";
    case DType::kString:
      return "STRING";
    case DType::kComplex64:
      return "COMPLEX64";
    case DType::kComplex128:
      return "COMPLEX128";
    case DType::kBfloat16:
      return "BF16";
    case DType::kInt4:
      return "INT4";
    case DType::kUint1:
      return "UINT1";
    case DType::kComplex32:
      return "COMPLEX32";
    case DType::kHifloat8:
      return "HIFLOAT8";
    case DType::kFloat8E5m2:
      return "FLOAT8_E5M2";
    case DType::kFloat8E4m3:
      return "FLOAT8_E4M3FN";
    case DType::kFloat8E8m0:
      return "FLOAT8_E8M0";
    case DType::kFloat6E3m2:
      return "FLOAT6_E3M2";
    case DType::kFloat6E2m3:
      return "FLOAT6_E2M3";
    case DType::kFloat4E2m1:
      return "FLOAT4_E2M1";
    case DType::kFloat4E1m2:
      return "FLOAT4_E1M2";
  }
  return "unknown";
}

}  // namespace millpond
