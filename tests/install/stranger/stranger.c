// SPDX-License-Identifier: Apache-2.0
// The smallest C client: start, look, stop. Prints "<devices> <soc>".
#include <stdio.h>

#include "acl/acl.h"

int main(void) {
  uint32_t count = 0;
  const char* soc = NULL;
  if (aclInit(NULL) != ACL_SUCCESS) return 1;
  if (aclrtGetDeviceCount(&count) != ACL_SUCCESS) return 2;
  soc = aclrtGetSocName();
  if (soc == NULL) return 3;
  printf("%u %s\n", (unsigned)count, soc);
  return aclFinalize() == ACL_SUCCESS ? 0 : 4;
}
