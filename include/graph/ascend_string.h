// SPDX-License-Identifier: Apache-2.0
//
// Text that crosses library borders: std::string has two ABIs, this class one, because the library alone touches what
// it holds. 16 bytes; copies share the text, which never changes.
#ifndef MILLPOND_INCLUDE_GRAPH_ASCEND_STRING_H_
#define MILLPOND_INCLUDE_GRAPH_ASCEND_STRING_H_

#include <functional>
#include <memory>
#include <string>

#include "graph/error_codes.h"
#include "graph/types.h"

namespace ge {

class AscendStringImpl;

class GE_FUNC_HOST_VISIBILITY AscendString {
 public:
  // Without text; so is one made from a null pointer. It reads as "", comes before every other and equals only its
  // like.
  AscendString() = default;
  ~AscendString() = default;
  AscendString(const char_t* const name);  // NOLINT: callers pass literals
  // May hold zero bytes.
  AscendString(const char_t* const name, size_t length);

  // Never null.
  const char_t* GetString() const;
  size_t GetLength() const;
  // Where the other text begins in this one; std::string::npos when it does not, or either has no text.
  size_t Find(const AscendString& ascend_string) const;
  size_t Hash() const;

  bool operator<(const AscendString& d) const;
  bool operator>(const AscendString& d) const;
  bool operator<=(const AscendString& d) const;
  bool operator>=(const AscendString& d) const;
  bool operator==(const AscendString& d) const;
  bool operator!=(const AscendString& d) const;
  // Up to the first zero byte. A null pointer equals what has no text.
  bool operator==(const char_t* const d) const;
  bool operator!=(const char_t* const d) const;

 private:
  friend class AscendStringImpl;
  std::shared_ptr<std::string> name_;
};

}  // namespace ge

namespace std {
template <>
struct hash<ge::AscendString> {
  size_t operator()(const ge::AscendString& name) const { return name.Hash(); }
};
}  // namespace std

#endif  // MILLPOND_INCLUDE_GRAPH_ASCEND_STRING_H_
