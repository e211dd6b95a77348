// SPDX-License-Identifier: Apache-2.0
// What npu-smi knows of the machine: asked of the runtime through the public API, so that its numbers are those a
// program sees, and of the device profile for what only a real board has (product name, ids, an idle card's power).
#ifndef MILLPOND_TOOLS_NPU_SMI_CARD_H_
#define MILLPOND_TOOLS_NPU_SMI_CARD_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace npu_smi {

struct Chip {
  int32_t device = 0;  // logical id, the one aclrtSetDevice takes
  uint64_t used_mib = 0;
  uint64_t total_mib = 0;
};

// A card carries one chip, on the A3 two. npu-smi numbers cards; programs number chips.
struct Card {
  int32_t id = 0;
  std::vector<Chip> chips;
};

class Machine {
 public:
  // Starts the runtime and asks it. False with a sentence in `error` when it refuses.
  bool Query(std::string* error);

  const std::vector<Card>& cards() const { return cards_; }
  const Card* FindCard(int32_t id) const;
  const std::string& version() const { return version_; }
  const std::string& soc() const { return soc_; }
  bool ddr() const { return Key("memory_kind") == "ddr"; }

  // A profile value; "NA" when the profile lacks the key, which is how the vendor's tool prints an unknown.
  std::string Key(const std::string& key) const;

 private:
  bool ReadProfile(std::string* error);

  std::string soc_;
  std::string version_;
  std::map<std::string, std::string> profile_;
  std::vector<Card> cards_;
};

std::string BusId(const Chip& chip);
std::string SerialNumber(const Card& card);

}  // namespace npu_smi

#endif  // MILLPOND_TOOLS_NPU_SMI_CARD_H_
