// SPDX-License-Identifier: Apache-2.0
// For functions that hand out a reference to a std::string: the same text for the clients of either string ABI. No
// std::string in any signature, since files of both ABIs include this.
#ifndef MILLPOND_SRC_API_GRAPH_TEXT_HOLDER_H_
#define MILLPOND_SRC_API_GRAPH_TEXT_HOLDER_H_

#include <memory>
#include <vector>

#include "include/graph/ascend_string.h"

namespace ge {
class Graph;
class InferenceContext;
}  // namespace ge

namespace millpond::api {

inline constexpr bool kNewAbi = _GLIBCXX_USE_CXX11_ABI != 0;

// A std::string, and a std::vector of them, of one ABI; each defined in a file of that ABI.
template <bool kAbi>
std::shared_ptr<const void> MakeText(const char* text, size_t length);
template <bool kAbi>
std::shared_ptr<const void> MakeTexts(const std::vector<ge::AscendString>& texts);

struct TextHolder {
  std::shared_ptr<const void> of_old_abi;
  std::shared_ptr<const void> of_new_abi;

  template <bool kAbi>
  const void* Get() const {
    return (kAbi ? of_new_abi : of_old_abi).get();
  }
};
TextHolder HoldText(const char* text, size_t length);
TextHolder HoldTexts(const std::vector<ge::AscendString>& texts);

// Null when the object stands for nothing.
const TextHolder* NameOf(const ge::Graph& graph);
const TextHolder* MarksOf(const ge::InferenceContext& context);

}  // namespace millpond::api

#endif  // MILLPOND_SRC_API_GRAPH_TEXT_HOLDER_H_
