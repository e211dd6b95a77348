// SPDX-License-Identifier: Apache-2.0
// What the functions of building call by call have in common: libeager_style_graph_builder_base is a client of the
// public graph classes, whose own failures have left their messages already.
#ifndef MILLPOND_SRC_API_ES_ES_H_
#define MILLPOND_SRC_API_ES_ES_H_

#include <utility>

#include "include/graph/gnode.h"
#include "src/api/parser/parser_abi.h"

namespace millpond::api {

// Building needs no device: a forked child may do it.
struct EsAbi : ParserAbi {
  static bool Refuses() { return false; }
};

// Keeps the message, and answers the number of a failure.
inline ge::graphStatus Refused(const char* api, Status why) {
  return Guard(EsAbi(), api, [&]() -> Status { return std::move(why); });
}

// What the body returns; `otherwise` after an exception, whose message is kept.
template <class Result, class Body>
Result Made(const char* api, Result otherwise, Body&& body) {
  static_cast<void>(Guard(EsAbi(), api, [&]() -> Status {
    otherwise = body();
    return Ok();
  }));
  return otherwise;
}

inline bool IsThere(const ge::GNode& node) {
  ge::AscendString name;
  return node.GetName(name) == ge::GRAPH_SUCCESS;
}

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_ES_ES_H_
