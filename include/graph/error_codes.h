// SPDX-License-Identifier: Apache-2.0
//
// Results of graph building, and the words that mark what a library exports.
#ifndef MILLPOND_INCLUDE_GRAPH_ERROR_CODES_H_
#define MILLPOND_INCLUDE_GRAPH_ERROR_CODES_H_

#include <cstddef>
#include <cstdint>

// Always visible: these classes cross library borders however a client hides its own.
#if defined(__GNUC__)
#define MILLPOND_GRAPH_VISIBLE __attribute__((visibility("default")))
#else
#define MILLPOND_GRAPH_VISIBLE
#endif
#ifndef GE_FUNC_VISIBILITY
#define GE_FUNC_VISIBILITY MILLPOND_GRAPH_VISIBLE
#endif
#ifndef GE_FUNC_HOST_VISIBILITY
#define GE_FUNC_HOST_VISIBILITY MILLPOND_GRAPH_VISIBLE
#endif
#ifndef GE_FUNC_DEV_VISIBILITY
#define GE_FUNC_DEV_VISIBILITY
#endif

// Functions that newer ones replace. -DNO_METADEF_ABI_COMPATIABLE (spelt so) silences the compiler.
#if defined(__GNUC__) && !defined(NO_METADEF_ABI_COMPATIABLE)
#define ATTRIBUTED_DEPRECATED(replacement) __attribute__((deprecated("use " #replacement)))
#define ATTRIBUTED_NOT_SUPPORT() __attribute__((deprecated("a later release will not have this")))
#else
#define ATTRIBUTED_DEPRECATED(replacement)
#define ATTRIBUTED_NOT_SUPPORT()
#endif

namespace ge {

using graphStatus = uint32_t;

const graphStatus GRAPH_SUCCESS = 0;
const graphStatus GRAPH_FAILED = 0xFFFFFFFF;
const graphStatus GRAPH_NOT_CHANGED = 1343242304;

const graphStatus GRAPH_PARAM_INVALID = 50331649;
const graphStatus GRAPH_NODE_WITHOUT_CONST_INPUT = 50331648;
const graphStatus GRAPH_NODE_NEED_REPASS = 50331647;
const graphStatus GRAPH_INVALID_IR_DEF = 50331646;
const graphStatus OP_WITHOUT_IR_DATATYPE_INFER_RULE = 50331645;
const graphStatus GRAPH_PARAM_OUT_OF_RANGE = 50331644;

const graphStatus GRAPH_MEM_OPERATE_FAILED = 50331539;
const graphStatus GRAPH_NULL_PTR = 50331538;
const graphStatus GRAPH_MEMCPY_FAILED = 50331537;
const graphStatus GRAPH_MEMSET_FAILED = 50331536;

const graphStatus GRAPH_MATH_CAL_FAILED = 50331429;
const graphStatus GRAPH_ADD_OVERFLOW = 50331428;
const graphStatus GRAPH_MUL_OVERFLOW = 50331427;
const graphStatus GRAPH_RoundUp_Overflow = 50331426;

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_ERROR_CODES_H_
