// SPDX-License-Identifier: Apache-2.0
//
// For variables whose making is their only use, such as the registrars of REG_OP.
#ifndef MILLPOND_INCLUDE_GRAPH_COMPILER_DEF_H_
#define MILLPOND_INCLUDE_GRAPH_COMPILER_DEF_H_

#if defined(__GNUC__)
#define VAR_UNUSED __attribute__((unused))
#else
#define VAR_UNUSED
#endif

#endif  // MILLPOND_INCLUDE_GRAPH_COMPILER_DEF_H_
