// SPDX-License-Identifier: Apache-2.0
// The parameters of all operations for inference. Their layouts are part of the ABI; a field of zeros is room for
// later.
#ifndef ATB_INFER_OP_PARAMS_H_
#define ATB_INFER_OP_PARAMS_H_

#include "atb/params/attention.h"
#include "atb/params/base.h"
#include "atb/params/collective.h"
#include "atb/params/matmul.h"
#include "atb/params/norm.h"
#include "atb/params/tensor.h"

#endif  // ATB_INFER_OP_PARAMS_H_
