// SPDX-License-Identifier: Apache-2.0
// What the parameters of several operations share.
#ifndef ATB_PARAMS_BASE_H_
#define ATB_PARAMS_BASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "atb/svector.h"
#include "hccl/hccl_types.h"

namespace atb {
namespace infer {

enum InputLayout : int { TYPE_BSND = 0, TYPE_BNSD };

enum QuantType : int {
  QUANT_UNDEFINED = 0,
  QUANT_UNQUANT = 0,
  QUANT_INT4 = 1,
  QUANT_INT8 = 2,
  QUANT_INT16 = 3,
  QUANT_FLOAT8 = 4,
  QUANT_FLOAT16 = 5,
};

enum DynamicQuantType : int {
  DYNAMIC_QUANT_UNDEFINED = 0,
  DYNAMIC_QUANT_SYMMETRIC,
  DYNAMIC_QUANT_ASYMMETRIC,
};

enum ActivationType : int {
  ACTIVATION_UNDEFINED = 0,
  ACTIVATION_RELU,
  ACTIVATION_GELU,
  ACTIVATION_FAST_GELU,
  ACTIVATION_SWISH,
  ACTIVATION_LOG,
  ACTIVATION_SWIGLU_FORWARD,
  ACTIVATION_SWIGLU_BACKWARD,
  ACTIVATION_SIGMOID,
  ACTIVATION_FASTER_GELU_FORWARD,
  ACTIVATION_MAX,
};

enum CommMode : int {
  COMM_UNDEFINED = -1,
  COMM_MULTI_PROCESS,
  COMM_MULTI_THREAD,
};

}  // namespace infer
}  // namespace atb

#endif  // ATB_PARAMS_BASE_H_
