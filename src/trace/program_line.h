// SPDX-License-Identifier: Apache-2.0
// The line that a program of another language is at, where return addresses say nothing to a person: the checker can
// read Python's, and tells it to whoever names call sites.
#ifndef MILLPOND_SRC_TRACE_PROGRAM_LINE_H_
#define MILLPOND_SRC_TRACE_PROGRAM_LINE_H_

namespace millpond::trace {

// Of the calling thread: "train.py:41 in step", which lives for ever; null when it is not known.
using ProgramLineFunction = const char* (*)();

// Once, before there is a second thread that asks.
void SetProgramLine(ProgramLineFunction function);
const char* ProgramLine();

}  // namespace millpond::trace

#endif  // MILLPOND_SRC_TRACE_PROGRAM_LINE_H_
