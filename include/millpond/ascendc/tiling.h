/* SPDX-License-Identifier: Apache-2.0 */
/* What the host side computed for the kernel. */
#ifndef MILLPOND_ASCENDC_TILING_H_
#define MILLPOND_ASCENDC_TILING_H_

#include "millpond/ascendc/basics.h"

namespace millpond_kernel {

template <class T>
inline T TilingAt(const void* address) {
  T data;
  std::memcpy(&data, millpond_kernel_reachable(address), sizeof(data));
  return data;
}

}  // namespace millpond_kernel

#define REGISTER_TILING_DEFAULT(type) using MillpondTilingDefault = type
#define GET_TILING_DATA_WITH_STRUCT(type, name, address) type name = ::millpond_kernel::TilingAt<type>(address)
#define GET_TILING_DATA(name, address) GET_TILING_DATA_WITH_STRUCT(MillpondTilingDefault, name, address)
#define KERNEL_TASK_TYPE_DEFAULT(type)
#define KERNEL_TASK_TYPE(key, type)

#endif /* MILLPOND_ASCENDC_TILING_H_ */
