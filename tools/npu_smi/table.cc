// SPDX-License-Identifier: Apache-2.0
// `npu-smi info`. Each shape is a row of data: column widths, headings and formats; one function prints them all.
#include <cstdio>
#include <string>

#include "tools/npu_smi/print.h"

namespace npu_smi {
namespace {

struct Shape {
  const char* name;
  int version_width;            // of the tool's version in the title
  int title_rest;               // of the driver's version in the title
  const char* rule;             // under the title, '-' for joints' lines
  const char* heading[2];       // two lines per chip
  const char* double_rule;      // between cards
  const char* chip_rule;        // between the chips of one card
  const char* process_rule[3];  // above, below its heading, and the heading
  int process_width;            // of the "no processes" line
};

// The a2 and the a3 differ in one line.
constexpr char kRule[] =
    "+---------------------------+---------------+----------------------------------------------------+";
constexpr char kDoubleRule[] =
    "+===========================+===============+====================================================+";
constexpr char kChipRule[] =
    "+------------------------------------------------------------------------------------------------+";
constexpr char kHeading[] =
    "| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|";
constexpr char kProcessHeading[] =
    "| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |";

const Shape kShapes[] = {
    {"a2",
     24,
     54,
     kRule,
     {kHeading, "| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |"},
     kDoubleRule,
     kChipRule,
     {kRule, kProcessHeading, kDoubleRule},
     94},
    {"a3",
     24,
     54,
     kRule,
     {kHeading, "| Chip  Phy-ID              | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |"},
     kDoubleRule,
     kChipRule,
     {kRule, kProcessHeading, kDoubleRule},
     94},
    {"950",
     40,
     37,
     "+--------+------------------+---------------+-----------------------------------------------------+",
     {"| NPU ID | Name             | Health        | Power(W)    Temp(C)           Hugepages-Usage(page) |",
      "|        |                  | Bus-Id        | NPU Util(%) Memory-Usage(MB)  HBM-Usage(MB)         |"},
     "+========+==================+===============+=====================================================+",
     "+-------------------------------------------------------------------------------------------------+",
     {"+---------------------------+---------------+-----------------------------------------------------+",
      "| NPU ID                    | Process id    | Process name             | Process memory(MB)       |",
      "+===========================+===============+=====================================================+"},
     95},
    {"310p",
     40,
     44,
     "+-------------------------------+-----------------+------------------------------------------------------+",
     {"| NPU     Name                  | Health          | Power(W)     Temp(C)           Hugepages-Usage(page) |",
      "| Chip    Device                | Bus-Id          | AICore(%)    Memory-Usage(MB)                        |"},
     "+===============================+=================+======================================================+",
     "+--------------------------------------------------------------------------------------------------------+",
     {"+-------------------------------+-----------------+------------------------------------------------------+",
      "| NPU     Chip                  | Process id      | Process name             | Process memory(MB)        |",
      "+===============================+=================+======================================================+"},
     102},
};

const Shape& ShapeOf(const Machine& machine) {
  const std::string name = machine.Key("smi_table");
  for (const Shape& shape : kShapes) {
    if (name == shape.name) return shape;
  }
  return kShapes[0];
}

// This process is the only user of the device it just opened and runs nothing on it.
constexpr const char* kNoLoad = "0";

void PrintChip(const Machine& machine, const Shape& shape, const Card& card, size_t index) {
  const Chip& chip = card.chips[index];
  const std::string kind = shape.name;
  const std::string name = machine.Key("smi_name");
  // The board has one power meter: the second chip of a card shows a dash.
  const std::string power = index == 0 ? machine.Key("smi_power_w") : "-";
  const std::string temp = machine.Key("smi_temp_c");
  const std::string pages = machine.Key("smi_hugepages_total");
  const std::string bus = BusId(chip);
  const std::string used = std::to_string(chip.used_mib);
  const std::string total = std::to_string(chip.total_mib);
  if (kind == "310p") {
    printf("| %-7d %-21s | %-15s | %-12s %-17s %-5s / %-13s |\n", card.id, name.c_str(), "OK", power.c_str(),
           temp.c_str(), "0", pages.c_str());
    printf("| %-7zu %-21d | %-15s | %-12s %-4s / %-32s |\n", index, chip.device, bus.c_str(), kNoLoad, used.c_str(),
           total.c_str());
    return;
  }
  if (kind == "950") {
    printf("| %-6d | %-16s | %-13s | %-11s %-17s %-5s / %-13s |\n", card.id, name.c_str(), "OK", power.c_str(),
           temp.c_str(), "0", pages.c_str());
    printf("|        |                  | %-13s | %-11s %-4s / %-10s %-5s / %-13s |\n", bus.c_str(), kNoLoad, "0", "0",
           used.c_str(), total.c_str());
    return;
  }
  printf("| %-5d %-19s | %-13s | %-11s %-17s %-4s / %-13s |\n", card.id, name.c_str(), "OK", power.c_str(),
         temp.c_str(), "0", pages.c_str());
  const std::string physical = kind == "a3" ? std::to_string(chip.device) : "";
  printf("| %-5zu %-19s | %-13s | %-11s %-4s / %-10s %-4s / %-13s |\n", index, physical.c_str(), bus.c_str(), kNoLoad,
         "0", "0", used.c_str(), total.c_str());
}

}  // namespace

void PrintTable(const Machine& machine) {
  const Shape& shape = ShapeOf(machine);
  const char* version = machine.version().c_str();
  puts(shape.chip_rule);
  const std::string name(shape.name);
  if (name == "a2" || name == "a3") {
    printf("| npu-smi %-*s Version: %-*s|\n", shape.version_width, version, shape.title_rest - 1, version);
  } else {
    printf("| npu-smi %-*s Version: %-*s |\n", shape.version_width, version, shape.title_rest, version);
  }
  puts(shape.rule);
  puts(shape.heading[0]);
  puts(shape.heading[1]);
  puts(shape.double_rule);
  for (const Card& card : machine.cards()) {
    for (size_t index = 0; index < card.chips.size(); ++index) {
      if (index > 0) puts(shape.chip_rule);
      PrintChip(machine, shape, card, index);
    }
    puts(shape.double_rule);
  }
  for (const char* line : shape.process_rule) puts(line);
  for (const Card& card : machine.cards()) {
    const std::string none = "No running processes found in NPU " + std::to_string(card.id);
    printf("| %-*s |\n", shape.process_width, none.c_str());
    puts(shape.process_rule[2]);
  }
}

}  // namespace npu_smi
