// SPDX-License-Identifier: Apache-2.0
//
// Status numbers of the graph engine, and the texts that belong to them.
#ifndef MILLPOND_INCLUDE_GE_GE_API_ERROR_CODES_H_
#define MILLPOND_INCLUDE_GE_GE_API_ERROR_CODES_H_

#include <map>
#include <string>

#include "ge/ge_api_types.h"
#include "ge/ge_error_codes.h"

#ifndef ATTRIBUTED_DEPRECATED
#define ATTRIBUTED_DEPRECATED(replacement) __attribute__((deprecated("Please use " #replacement " instead.")))
#endif

// A number of its own for an error: runtime 2 bits, type 2, level 3, system 8, module 5, value 12. The text is
// registered when the program starts.
#ifndef GE_ERRORNO_EXTERNAL
#define GE_ERRORNO_EXTERNAL(name, desc) const ErrorNoRegisterar g_errorno_##name((name), (desc))
#endif
#ifndef GE_ERRORNO
#define GE_ERRORNO(runtime, type, level, sysid, modid, name, value, desc)                              \
  constexpr ge::Status name = (static_cast<uint32_t>(0xFFU & static_cast<uint32_t>(runtime)) << 30U) | \
                              (static_cast<uint32_t>(0xFFU & static_cast<uint32_t>(type)) << 28U) |    \
                              (static_cast<uint32_t>(0xFFU & static_cast<uint32_t>(level)) << 25U) |   \
                              (static_cast<uint32_t>(0xFFU & static_cast<uint32_t>(sysid)) << 17U) |   \
                              (static_cast<uint32_t>(0xFFU & static_cast<uint32_t>(modid)) << 12U) |   \
                              (0x0FFFU & static_cast<uint32_t>(value));                                \
  const ErrorNoRegisterar g_errorno_##name((name), (desc))
#endif

namespace ge {

// Texts by number. The map is a std::string map of whoever compiled the call, so each module of a program gets a
// factory of its own from Instance(): modules built with different string ABIs must not meet in one.
class StatusFactory {
 public:
  GE_FUNC_VISIBILITY static StatusFactory* Instance();

  // The first text of a number stays.
  void RegisterErrorNo(const uint32_t err, const std::string& desc) { err_desc_.emplace(err, desc); }
  void RegisterErrorNo(const uint32_t err, const char* const desc) {
    if (desc != nullptr) err_desc_.emplace(err, desc);
  }

  // Empty when the number has no text.
  std::string GetErrDesc(const uint32_t err) {
    const auto found = err_desc_.find(err);
    return found == err_desc_.end() ? std::string() : found->second;
  }
  AscendString GetErrDescV2(const uint32_t err) {
    const auto found = err_desc_.find(err);
    return AscendString(found == err_desc_.end() ? "" : found->second.c_str());
  }

 protected:
  StatusFactory() = default;
  ~StatusFactory() = default;

 private:
  std::map<uint32_t, std::string> err_desc_;
};

class ErrorNoRegisterar {
 public:
  ErrorNoRegisterar(const uint32_t err, const std::string& desc) noexcept {
    StatusFactory::Instance()->RegisterErrorNo(err, desc);
  }
  ErrorNoRegisterar(const uint32_t err, const char* const desc) noexcept {
    StatusFactory::Instance()->RegisterErrorNo(err, desc);
  }
  ~ErrorNoRegisterar() = default;
};

GE_ERRORNO(0, 0, 0, 0, 0, SUCCESS, 0, "success");
GE_ERRORNO(0x3, 0x3, 0x7, 0xFFU, 0x1F, FAILED, 0xFFFU, "failed");

}  // namespace ge

#endif  // MILLPOND_INCLUDE_GE_GE_API_ERROR_CODES_H_
