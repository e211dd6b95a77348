// SPDX-License-Identifier: Apache-2.0
#include "src/device/kernel/elf.h"

#include <elf.h>

#include <cstring>

namespace millpond {

namespace {

#if defined(__x86_64__)
constexpr unsigned kThisMachine = EM_X86_64;
constexpr char kThisMachineName[] = "x86-64";
#elif defined(__aarch64__)
constexpr unsigned kThisMachine = EM_AARCH64;
constexpr char kThisMachineName[] = "aarch64";
#endif

constexpr char kWayOn[] =
    "compile the kernel's source for this machine (./millpond kernel SOURCE -o FILE.so, or g++ -shared -fPIC; "
    "docs/kernels.md)";

// Reads T at `offset`; false when it does not lie within the file.
template <class T>
bool Read(std::span<const std::byte> file, uint64_t offset, T* out_value) {
  if (offset > file.size() || file.size() - offset < sizeof(T)) return false;
  std::memcpy(out_value, file.data() + offset, sizeof(T));
  return true;
}

bool Within(std::span<const std::byte> file, uint64_t offset, uint64_t bytes) {
  return offset <= file.size() && bytes <= file.size() - offset;
}

Status Refuse(const std::string& origin, const std::string& found) {
  return Status(Code::kInvalidFile, Format("%s %s; %s", origin.c_str(), found.c_str(), kWayOn));
}

Status CheckSegments(std::span<const std::byte> file, const Elf64_Ehdr& header, const std::string& origin) {
  bool has_code = false, has_dynamic = false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (header.e_phentsize != sizeof(segment) ||
        !Read(file, header.e_phoff + uint64_t{i} * sizeof(segment), &segment) ||
        (segment.p_type != PT_NULL && !Within(file, segment.p_offset, segment.p_filesz)) ||
        segment.p_filesz > segment.p_memsz) {
      return Refuse(origin,
                    Format("is cut off or damaged: segment %u does not lie within its %zu bytes", i, file.size()));
    }
    has_code |= segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0;
    has_dynamic |= segment.p_type == PT_DYNAMIC;
  }
  if (has_code && has_dynamic) return Ok();
  return Refuse(origin, has_code ? "is linked statically: it exports nothing" : "has no code");
}

}  // namespace

Status CheckSharedObject(std::span<const std::byte> file, const std::string& origin) {
  Elf64_Ehdr header;
  if (!Read(file, 0, &header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return Refuse(origin, Format("is no ELF file (%zu bytes)", file.size()));
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_machine != kThisMachine) {
    return Refuse(origin, Format("is an ELF file for machine %u; here runs code for machine %u, %s. Code for the cores "
                                 "of a card does not run on a CPU",
                                 unsigned{header.e_machine}, kThisMachine, kThisMachineName));
  }
  if (header.e_type == ET_REL) return Refuse(origin, "is an object file that is not linked yet: link it with -shared");
  if (header.e_type != ET_DYN)
    return Refuse(origin, Format("is no shared object (ELF type %u)", unsigned{header.e_type}));
  // The table of sections comes last, as a rule: what was cut off elsewhere than in a segment shows there, and the
  // names of functions are found by it.
  if (!Within(file, header.e_shoff, uint64_t{header.e_shnum} * header.e_shentsize)) {
    return Refuse(
        origin, Format("is cut off or damaged: its table of sections does not lie within its %zu bytes", file.size()));
  }
  return CheckSegments(file, header, origin);
}

std::vector<std::string> ExportedFunctions(std::span<const std::byte> file) {
  std::vector<std::string> names;
  Elf64_Ehdr header;
  if (!Read(file, 0, &header) || header.e_shentsize != sizeof(Elf64_Shdr)) return names;
  const auto section_at = [&](uint64_t index, Elf64_Shdr* out_section) {
    return index < header.e_shnum && Read(file, header.e_shoff + index * sizeof(Elf64_Shdr), out_section);
  };
  for (uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr symbols, strings;
    if (!section_at(i, &symbols) || symbols.sh_type != SHT_DYNSYM) continue;
    if (!section_at(symbols.sh_link, &strings) || !Within(file, strings.sh_offset, strings.sh_size) ||
        !Within(file, symbols.sh_offset, symbols.sh_size)) {
      continue;
    }
    for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
      Elf64_Sym symbol;
      if (!Read(file, symbols.sh_offset + at, &symbol) || symbol.st_shndx == SHN_UNDEF) continue;
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= strings.sh_size) continue;
      const char* name = reinterpret_cast<const char*>(file.data() + strings.sh_offset + symbol.st_name);
      names.emplace_back(name, strnlen(name, strings.sh_size - symbol.st_name));
    }
  }
  return names;
}

}  // namespace millpond
