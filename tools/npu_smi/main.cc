// SPDX-License-Identifier: Apache-2.0
// npu-smi for the virtual NPU: the queries that programs and scripts read. It sets nothing and upgrades nothing.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tools/npu_smi/print.h"

namespace npu_smi {
namespace {

constexpr const char* kUsage =
    "Usage: npu-smi info [-l | -m | -t TYPE -i CARD [-c CHIP]]\n"
    "\n"
    "       npu-smi info             the table of all cards\n"
    "       npu-smi info -l          the list of cards\n"
    "       npu-smi info -m          cards, chips and logic ids\n"
    "       npu-smi info -t TYPE     one card; TYPE is board, memory, usages or health\n"
    "       npu-smi -v               version\n"
    "       npu-smi -h               this text\n"
    "\n"
    "Options:\n"
    "       -i %d                    card id, as npu-smi info -l shows it\n"
    "       -c %d                    chip id on the card\n";

struct Request {
  bool list = false;
  bool mapping = false;
  std::string type;
  int32_t card = -1;
  int32_t chip = -1;
};

bool ParseNumber(const char* text, int32_t* out_number) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 0 || value > 9999) return false;
  *out_number = static_cast<int32_t>(value);
  return true;
}

int Refuse(const std::string& text) {
  fprintf(stderr, "npu-smi: %s\n", text.c_str());
  return 1;
}

// Empty when `arguments` make sense, else what is wrong.
std::string Parse(int count, char** arguments, Request* request) {
  for (int i = 0; i < count; ++i) {
    const std::string flag = arguments[i];
    if (flag == "-l") {
      request->list = true;
    } else if (flag == "-m") {
      request->mapping = true;
    } else if (flag == "-t" || flag == "-i" || flag == "-c") {
      if (++i == count) return "'" + flag + "' needs a value after it";
      if (flag == "-t") {
        request->type = arguments[i];
      } else if (!ParseNumber(arguments[i], flag == "-i" ? &request->card : &request->chip)) {
        return "'" + flag + " " + arguments[i] + "' is not an id; allowed: 0 to 9999";
      }
    } else {
      return "unknown argument '" + flag + "'; npu-smi -h lists the known ones";
    }
  }
  return "";
}

int PrintType(const Machine& machine, const Request& request) {
  const std::string& type = request.type;
  if (type != "board" && type != "memory" && type != "usages" && type != "health") {
    return Refuse("this device does not support querying '" + type + "'; known: board, memory, usages, health");
  }
  if (request.card < 0) return Refuse("'-t " + type + "' needs a card: -i CARD (npu-smi info -l shows the ids)");
  const Card* card = machine.FindCard(request.card);
  if (card == nullptr) {
    return Refuse("no card " + std::to_string(request.card) + "; there are " + std::to_string(machine.cards().size()) +
                  ", from 0");
  }
  if (request.chip >= static_cast<int32_t>(card->chips.size())) {
    return Refuse("card " + std::to_string(card->id) + " has no chip " + std::to_string(request.chip) + "; it has " +
                  std::to_string(card->chips.size()) + ", from 0");
  }
  if (type == "board" && request.chip < 0) PrintBoard(machine, *card);
  if (type == "board" && request.chip >= 0) PrintChipBoard(machine, *card, static_cast<size_t>(request.chip));
  if (type == "memory") PrintMemory(machine, *card, request.chip);
  if (type == "usages") PrintUsages(machine, *card, request.chip);
  if (type == "health") PrintHealth(*card, request.chip);
  return 0;
}

int Main(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "-h";
  if (command == "-h" || command == "--help") {
    fputs(kUsage, stdout);
    return 0;
  }
  const bool version = command == "-v" || command == "--version";
  if (!version && command != "info")
    return Refuse("unknown command '" + command + "'; npu-smi -h lists the known ones");
  if (command == "info" && argc > 2 && (strcmp(argv[2], "-h") == 0 || strcmp(argv[2], "--help") == 0)) {
    fputs(kUsage, stdout);
    return 0;
  }
  Request request;
  if (!version) {
    const std::string wrong = Parse(argc - 2, argv + 2, &request);
    if (!wrong.empty()) return Refuse(wrong);
  }
  Machine machine;
  std::string error;
  if (!machine.Query(&error)) return Refuse(error);
  if (version) {
    printf("npu-smi version: %s\n", machine.version().c_str());
  } else if (!request.type.empty()) {
    return PrintType(machine, request);
  } else if (request.list) {
    PrintList(machine);
  } else if (request.mapping) {
    PrintMapping(machine);
  } else {
    PrintTable(machine);
  }
  return 0;
}

}  // namespace
}  // namespace npu_smi

int main(int argc, char** argv) { return npu_smi::Main(argc, argv); }
