// SPDX-License-Identifier: Apache-2.0
#ifndef MILLPOND_SRC_COMM_RANK_TABLE_H_
#define MILLPOND_SRC_COMM_RANK_TABLE_H_

#include <cstdint>
#include <map>
#include <string>

#include "src/base/status.h"

namespace millpond::comm {

struct RankTable {
  uint32_t ranks = 0;
  uint32_t servers = 1;
  struct Seat {
    uint32_t server = 0;
    std::string address;  // of the server
    uint32_t port = 0;    // 0: the table does not say
  };
  std::map<uint32_t, Seat> seats;  // by rank, as far as the table numbers them
  std::string text;                // of the file: what the ranks have in common before they have met
};

// Version 1 lists devices per server, version 2 lists ranks, and the template before them had groups of instances.
// EI0004, EI0014 or EI0017 when the file is not one of these.
Status ReadRankTable(const char* path, RankTable* out_table);
// The same of a text in memory; `path` names it in messages.
Status ParseRankTable(std::string text, const char* path, RankTable* out_table);

}  // namespace millpond::comm

#endif  // MILLPOND_SRC_COMM_RANK_TABLE_H_
