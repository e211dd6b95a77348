/* SPDX-License-Identifier: Apache-2.0 */
/* Another library for tests/acl/kernel: plain C. */
#include "millpond/kernel.h"

__attribute__((visibility("default"))) void only_here(uint64_t* out);
void only_here(uint64_t* out) { out[millpond_block_index()] = millpond_block_count(); }
