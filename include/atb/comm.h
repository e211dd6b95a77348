// SPDX-License-Identifier: Apache-2.0
// Communicators for operations of several ranks. The spelling of the names is CANN's.
#ifndef ATB_COMM_H_
#define ATB_COMM_H_

#include "atb/types.h"

namespace atb {

using HcclComm = void*;

namespace Comm {

HcclComm CreateHcclComm(int32_t rank, int32_t rankRoot, int32_t rankSize, char* commName);
HcclComm CreateHcclCommByRankTableFile(int32_t rank, int32_t rankSize, const char* rankTableFile, char* commName);
HcclComm CreateHcclCrossMulitComm(const char* rankTableFile, uint32_t subCommRankId, std::vector<uint32_t>& rankIds,
                                  uint64_t subCommId, uint32_t hcclBufferSize, char* commName);
Status DestoryHcclComm(HcclComm comm);

}  // namespace Comm
}  // namespace atb

#endif  // ATB_COMM_H_
