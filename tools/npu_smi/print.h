// SPDX-License-Identifier: Apache-2.0
// The vendor tool's texts. Scripts read them by line and column, so widths and order are part of the interface:
// four table shapes (A2, A3, 950, 310P) and lists of "<tab>name, 30 wide : value".
#ifndef MILLPOND_TOOLS_NPU_SMI_PRINT_H_
#define MILLPOND_TOOLS_NPU_SMI_PRINT_H_

#include "tools/npu_smi/card.h"

namespace npu_smi {

void PrintTable(const Machine& machine);                                  // info
void PrintList(const Machine& machine);                                   // info -l
void PrintMapping(const Machine& machine);                                // info -m
void PrintBoard(const Machine& machine, const Card& card);                // info -t board -i N
void PrintChipBoard(const Machine& machine, const Card& card, size_t n);  // info -t board -i N -c M
// `chip` -1 prints all chips of the card.
void PrintMemory(const Machine& machine, const Card& card, int32_t chip);  // info -t memory -i N
void PrintUsages(const Machine& machine, const Card& card, int32_t chip);  // info -t usages -i N
void PrintHealth(const Card& card, int32_t chip);                          // info -t health -i N

}  // namespace npu_smi

#endif  // MILLPOND_TOOLS_NPU_SMI_PRINT_H_
