// SPDX-License-Identifier: Apache-2.0
// MP_FAST_TLS marks a thread_local of the launch path that is accessed without a call. Only for a few bytes of our
// own: the loader's static TLS space is small, and compiling a whole file that way would include
// libstdc++'s variables (std::call_once), after which a Python that already has libstdc++ loaded cannot load us.
#ifndef MILLPOND_SRC_BASE_THREAD_LOCAL_H_
#define MILLPOND_SRC_BASE_THREAD_LOCAL_H_

#define MP_FAST_TLS __attribute__((tls_model("initial-exec")))  // not [[gnu::...]]: behind an array that is the type's

#endif  // MILLPOND_SRC_BASE_THREAD_LOCAL_H_
