// SPDX-License-Identifier: Apache-2.0
// MP_FAST_TLS after a thread_local of the launch path: reached without a call. Only a few bytes of our own may be so:
// the loader's room for it is small, and a whole file compiled that way would drag libstdc++'s variables
// (std::call_once) in, after which a Python that has libstdc++ already cannot load us.
#ifndef MILLPOND_SRC_BASE_THREAD_LOCAL_H_
#define MILLPOND_SRC_BASE_THREAD_LOCAL_H_

#define MP_FAST_TLS [[gnu::tls_model("initial-exec")]]

#endif  // MILLPOND_SRC_BASE_THREAD_LOCAL_H_
