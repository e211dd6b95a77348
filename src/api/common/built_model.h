// SPDX-License-Identifier: Apache-2.0
// What aclgrphBuildModelFromFile makes (libge_compiler) and aclmdlLoadFromModel loads (libascendcl): a file in memory.
#ifndef MILLPOND_SRC_API_COMMON_BUILT_MODEL_H_
#define MILLPOND_SRC_API_COMMON_BUILT_MODEL_H_

#include <string>

#include "src/api/common/magic.h"

namespace millpond::acl {

struct BuiltModel {
  void* self = this;  // the client sees a pointer to a pointer
  void* unused = nullptr;
  Magic<0x6d704275696c744d> magic;
  std::string file;
};

}  // namespace millpond::acl

#endif  // MILLPOND_SRC_API_COMMON_BUILT_MODEL_H_
