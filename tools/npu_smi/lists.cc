// SPDX-License-Identifier: Apache-2.0
// The name : value texts of npu-smi info -l, -m and -t.
#include <cstdio>
#include <string>

#include "tools/npu_smi/print.h"

namespace npu_smi {
namespace {

void Line(const char* name, const std::string& value) { printf("\t%-30s : %s\n", name, value.c_str()); }
void Line(const char* name, uint64_t value) { Line(name, std::to_string(value)); }

// Percent of the memory in use, rounded down as the vendor's tool does.
uint64_t UsageRate(const Chip& chip) { return chip.total_mib == 0 ? 0 : chip.used_mib * 100 / chip.total_mib; }

// Calls print(chip) for the chosen chip, or for each chip followed by its "Chip ID" line and a blank between.
template <typename Print>
void ForChips(const Card& card, int32_t chosen, Print print) {
  for (size_t index = 0; index < card.chips.size(); ++index) {
    if (chosen >= 0 && static_cast<size_t>(chosen) != index) continue;
    print(card.chips[index]);
    Line("Chip ID", index);
    putchar('\n');
  }
}

}  // namespace

void PrintList(const Machine& machine) {
  Line("Total Count", machine.cards().size());
  putchar('\n');
  for (const Card& card : machine.cards()) {
    Line("NPU ID", static_cast<uint64_t>(card.id));
    Line("Product Name", machine.Key("smi_product"));
    Line("Serial Number", SerialNumber(card));
    Line("Chip Count", card.chips.size());
    putchar('\n');
  }
}

void PrintMapping(const Machine& machine) {
  const std::string name = machine.Key("smi_name");
  const std::string shown = name.starts_with("Ascend") ? name : "Ascend " + name;
  printf("\t%-30s %-30s %-30s %-30s\n", "NPU ID", "Chip ID", "Chip Logic ID", "Chip Name");
  for (const Card& card : machine.cards()) {
    for (size_t index = 0; index < card.chips.size(); ++index) {
      printf("\t%-30d %-30zu %-30d %s\n", card.id, index, card.chips[index].device, shown.c_str());
    }
    // The board's own controller counts as one more chip, without a logic id.
    printf("\t%-30d %-30zu %-30s %-30s\n", card.id, card.chips.size(), "-", "Mcu");
  }
}

void PrintBoard(const Machine& machine, const Card& card) {
  Line("NPU ID", static_cast<uint64_t>(card.id));
  Line("Product Name", machine.Key("smi_product"));
  Line("Model", "NA");
  Line("Manufacturer", "Millpond");
  Line("Serial Number", SerialNumber(card));
  Line("Software Version", machine.version());
  Line("Firmware Version", machine.version());
  Line("Compatibility", "OK");
  Line("Board ID", machine.Key("smi_board_id"));
  Line("PCB ID", "A");
  Line("BOM ID", "1");
  Line("PCIe Bus Info", BusId(card.chips[0]));
  Line("Slot ID", "0");
  Line("Class ID", "NA");
  Line("PCI Vendor ID", "0x19E5");
  Line("PCI Device ID", machine.Key("smi_pci_device"));
  Line("Subsystem Vendor ID", "0x19E5");
  Line("Subsystem Device ID", machine.Key("smi_pci_subsystem"));
  Line("Chip Count", card.chips.size());
}

void PrintChipBoard(const Machine& machine, const Card& card, size_t n) {
  Line("NPU ID", static_cast<uint64_t>(card.id));
  Line("Chip ID", n);
  Line("Chip Type", "Ascend");
  Line("Chip Name", machine.Key("smi_name"));
  Line("Chip Version", "V1");
  Line("Board ID", machine.Key("smi_board_id"));
  Line("PCB ID", "NA");
  Line("BOM ID", "1");
  Line("Chip Position ID", n);
  Line("PCIe Bus Info", BusId(card.chips[n]));
  Line("Firmware Version", machine.version());
}

void PrintMemory(const Machine& machine, const Card& card, int32_t chip) {
  Line("NPU ID", static_cast<uint64_t>(card.id));
  if (chip < 0) Line("Chip Count", card.chips.size());
  putchar('\n');
  ForChips(card, chip, [&](const Chip& one) {
    const std::string clock = machine.Key("smi_memory_clock_mhz");
    Line("DDR Capacity(MB)", machine.ddr() ? one.total_mib : 0);
    Line("DDR Clock Speed(MHz)", machine.ddr() ? clock : "0");
    if (machine.ddr()) return;
    Line("HBM Capacity(MB)", one.total_mib);
    Line("HBM Clock Speed(MHz)", clock);
    Line("HBM Temperature(C)", machine.Key("smi_temp_c"));
    Line("HBM Manufacturer ID", "NA");
  });
}

void PrintUsages(const Machine& machine, const Card& card, int32_t chip) {
  Line("NPU ID", static_cast<uint64_t>(card.id));
  if (chip < 0) Line("Chip Count", card.chips.size());
  putchar('\n');
  ForChips(card, chip, [&](const Chip& one) {
    Line("DDR Capacity(MB)", machine.ddr() ? one.total_mib : 0);
    Line("DDR Usage Rate(%)", machine.ddr() ? UsageRate(one) : 0);
    Line("DDR Hugepages Total(page)", machine.Key("smi_hugepages_total"));
    Line("DDR Hugepages Usage Rate(%)", "0");
    if (!machine.ddr()) {
      Line("HBM Capacity(MB)", one.total_mib);
      Line("HBM Usage Rate(%)", UsageRate(one));
    }
    // This process is the only user of the device it just opened and runs nothing on it.
    Line("Aicore Usage Rate(%)", "0");
    Line("Aicpu Usage Rate(%)", "0");
    Line("Ctrlcpu Usage Rate(%)", "0");
    Line("DDR Bandwidth Usage Rate(%)", "0");
    if (!machine.ddr()) Line("HBM Bandwidth Usage Rate(%)", "0");
  });
}

void PrintHealth(const Card& card, int32_t chip) {
  ForChips(card, chip, [](const Chip&) {
    Line("Health Status", "OK");
    Line("Error Code", "NA");
    Line("Error Information", "NA");
  });
}

}  // namespace npu_smi
