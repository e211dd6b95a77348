// SPDX-License-Identifier: Apache-2.0
//
// Operators by the name of their type, and the functions that clients register for types of their own.
#ifndef MILLPOND_INCLUDE_GRAPH_OPERATOR_FACTORY_H_
#define MILLPOND_INCLUDE_GRAPH_OPERATOR_FACTORY_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/ascend_string.h"
#include "graph/error_codes.h"
#include "graph/operator.h"
#include "graph/types.h"

namespace ge {

using OpCreator = std::function<Operator(const std::string&)>;
using OpCreatorV2 = std::function<Operator(const AscendString&)>;
using InferShapeFunc = std::function<graphStatus(Operator&)>;
using InferFormatFunc = std::function<graphStatus(Operator&)>;
using InferValueRangeFunc = std::function<graphStatus(Operator&)>;
using VerifyFunc = std::function<graphStatus(Operator&)>;

enum WHEN_CALL { INPUT_IS_DYNAMIC = 0, INPUT_HAS_VALUE_RANGE = 1 };

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY OperatorFactory {
 public:
  // Empty when nobody has defined the type. The built-in definition of a type comes before a client's.
  static Operator CreateOperator(const char_t* const operator_name, const char_t* const operator_type);
  static graphStatus GetOpsTypeList(std::vector<AscendString>& all_ops);
  static bool IsExistOp(const char_t* const operator_type);

  ATTRIBUTED_DEPRECATED(static Operator CreateOperator(const char_t*, const char_t*))
  static Operator CreateOperator(const std::string& operator_name, const std::string& operator_type);
  ATTRIBUTED_DEPRECATED(static graphStatus GetOpsTypeList(std::vector<AscendString>&))
  static graphStatus GetOpsTypeList(std::vector<std::string>& all_ops);
  ATTRIBUTED_DEPRECATED(static bool IsExistOp(const char_t*))
  static bool IsExistOp(const std::string& operator_type);
};

// Each registers when it is made and stays registered for the life of the process.
class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY OperatorCreatorRegister {
 public:
  OperatorCreatorRegister(const char_t* const operator_type, OpCreatorV2 const& op_creator);
  ATTRIBUTED_DEPRECATED(OperatorCreatorRegister(const char_t*, OpCreatorV2 const&))
  OperatorCreatorRegister(const std::string& operator_type, OpCreator const& op_creator);
  ~OperatorCreatorRegister() = default;
};

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY InferShapeFuncRegister {
 public:
  InferShapeFuncRegister(const char_t* const operator_type, const InferShapeFunc& infer_shape_func);
  ATTRIBUTED_DEPRECATED(InferShapeFuncRegister(const char_t*, const InferShapeFunc&))
  InferShapeFuncRegister(const std::string& operator_type, const InferShapeFunc& infer_shape_func);
  ~InferShapeFuncRegister() = default;
};

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY InferFormatFuncRegister {
 public:
  InferFormatFuncRegister(const char_t* const operator_type, const InferFormatFunc& infer_format_func);
  ATTRIBUTED_DEPRECATED(InferFormatFuncRegister(const char_t*, const InferFormatFunc&))
  InferFormatFuncRegister(const std::string& operator_type, const InferFormatFunc& infer_format_func);
  ~InferFormatFuncRegister() = default;
};

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY InferValueRangeFuncRegister {
 public:
  InferValueRangeFuncRegister(const char_t* const operator_type, const WHEN_CALL when_call,
                              const InferValueRangeFunc& infer_value_range_func);
  InferValueRangeFuncRegister(const char_t* const operator_type);  // NOLINT: as CANN declares it
  ~InferValueRangeFuncRegister() = default;
};

class GE_FUNC_DEV_VISIBILITY GE_FUNC_HOST_VISIBILITY VerifyFuncRegister {
 public:
  VerifyFuncRegister(const char_t* const operator_type, const VerifyFunc& verify_func);
  ATTRIBUTED_DEPRECATED(VerifyFuncRegister(const char_t*, const VerifyFunc&))
  VerifyFuncRegister(const std::string& operator_type, const VerifyFunc& verify_func);
  ~VerifyFuncRegister() = default;
};

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GRAPH_OPERATOR_FACTORY_H_
