// SPDX-License-Identifier: Apache-2.0
// A place in a program or library as a person reads it, from the file alone: the process that ran it may be another
// one, or gone. libdw of elfutils is used where the machine has it (opened by name, so that nothing depends on it).
// Safe from any thread.
#ifndef MILLPOND_SRC_TRACE_DEBUG_LINES_H_
#define MILLPOND_SRC_TRACE_DEBUG_LINES_H_

#include <cstdint>
#include <string>

namespace millpond::trace {

struct CodePlace {
  std::string module;  // the file's path
  uint64_t offset = 0;
  std::string symbol;  // of the dynamic symbol table, as it is there; empty when none is known
};

// Where a call that returns to `return_address` was made, in this process. Cheap: no file is read.
CodePlace PlaceOfCall(const void* return_address);

// "train.cc:41 in Step()", with the file's path as the compiler had it; "Step() in libtrain.so+0x1234" when nobody
// knows the line; "libtrain.so+0x1234" when nobody knows the function either. Opens files: for messages alone.
std::string DescribePlace(const CodePlace& place);

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_DEBUG_LINES_H_
