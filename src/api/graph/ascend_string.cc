// SPDX-License-Identifier: Apache-2.0
#include "include/graph/ascend_string.h"

#include <cstring>
#include <string_view>

#include "include/graph/ge_error_codes.h"
#include "src/api/common/guard.h"

namespace ge {

namespace {

// A string is a value, not a call worth a record, and without text it says enough.
using TextAbi = millpond::SilentAbi<graphStatus, GRAPH_SUCCESS, GRAPH_FAILED>;

}  // namespace

class AscendStringImpl {
 public:
  // Without text when there is no memory for it, as CANN has it: these constructors do not throw.
  static void Make(AscendString* self, const char* text, size_t length) noexcept {
    static_cast<void>(millpond::Guard(TextAbi(), "ge::AscendString", [&] {
      self->name_ = std::make_shared<std::string>(text, length);
      return millpond::Ok();
    }));
  }
  static bool HasText(const AscendString& self) { return self.name_ != nullptr; }
  static std::string_view View(const AscendString& self) {
    return HasText(self) ? std::string_view(*self.name_) : std::string_view("");
  }
  // One without text comes first and equals its like alone.
  static int Compare(const AscendString& a, const AscendString& b) {
    if (!HasText(a) || !HasText(b)) return static_cast<int>(HasText(a)) - static_cast<int>(HasText(b));
    return View(a).compare(View(b));
  }
};

AscendString::AscendString(const char_t* const name) {
  if (name != nullptr) AscendStringImpl::Make(this, name, std::strlen(name));
}

AscendString::AscendString(const char_t* const name, size_t length) {
  if (name != nullptr) AscendStringImpl::Make(this, name, length);
}

const char_t* AscendString::GetString() const { return AscendStringImpl::View(*this).data(); }
size_t AscendString::GetLength() const { return AscendStringImpl::View(*this).size(); }
size_t AscendString::Hash() const { return std::hash<std::string_view>()(AscendStringImpl::View(*this)); }

size_t AscendString::Find(const AscendString& ascend_string) const {
  if (!AscendStringImpl::HasText(*this) || !AscendStringImpl::HasText(ascend_string)) return std::string::npos;
  return AscendStringImpl::View(*this).find(AscendStringImpl::View(ascend_string));
}

bool AscendString::operator<(const AscendString& d) const { return AscendStringImpl::Compare(*this, d) < 0; }
bool AscendString::operator>(const AscendString& d) const { return AscendStringImpl::Compare(*this, d) > 0; }
bool AscendString::operator<=(const AscendString& d) const { return AscendStringImpl::Compare(*this, d) <= 0; }
bool AscendString::operator>=(const AscendString& d) const { return AscendStringImpl::Compare(*this, d) >= 0; }
bool AscendString::operator==(const AscendString& d) const { return AscendStringImpl::Compare(*this, d) == 0; }
bool AscendString::operator!=(const AscendString& d) const { return AscendStringImpl::Compare(*this, d) != 0; }

bool AscendString::operator==(const char_t* const d) const {
  if (d == nullptr || !AscendStringImpl::HasText(*this)) return (d == nullptr) == !AscendStringImpl::HasText(*this);
  return std::strcmp(GetString(), d) == 0;
}
bool AscendString::operator!=(const char_t* const d) const { return !(*this == d); }

}  // namespace ge
