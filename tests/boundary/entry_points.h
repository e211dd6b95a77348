// SPDX-License-Identifier: Apache-2.0
// Every function of the C ABIs by name, for suites that call them all with the same arguments.
#ifndef MILLPOND_TESTS_BOUNDARY_ENTRY_POINTS_H_
#define MILLPOND_TESTS_BOUNDARY_ENTRY_POINTS_H_

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace boundary_test {

using AnyFunction = uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t,
                                 uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

struct EntryPoint {
  std::string name;
  AnyFunction function;
};

// As the export lists have them; `wanted(name)` chooses.
template <class Wanted>
std::vector<EntryPoint> EntryPoints(const Wanted& wanted) {
  std::vector<EntryPoint> found;
  for (const char* library : {"ascendcl", "acl_op_compiler", "acl_cblas", "nnopbase", "hccl"}) {
    void* const handle = dlopen(("lib" + std::string(library) + ".so").c_str(), RTLD_NOW);
    EXPECT_NE(handle, nullptr) << library;
    std::ifstream list(std::string(MILLPOND_ABI) + "/lib" + library + ".exports");
    for (std::string line; std::getline(list, line);) {
      const std::string name = line.substr(0, line.find_first_of(" \t"));
      // What our libraries export for each other is called with what it asks for.
      if (name.empty() || name[0] == '#' || name.starts_with("_Z") || name.starts_with("millpond")) continue;
      if (!wanted(name)) continue;
      void* const symbol = dlsym(handle, name.c_str());
      EXPECT_NE(symbol, nullptr) << name << " of " << library << " is not there";
      if (symbol != nullptr) found.push_back({name, reinterpret_cast<AnyFunction>(symbol)});
    }
  }
  return found;
}

}  // namespace boundary_test

#endif  // MILLPOND_TESTS_BOUNDARY_ENTRY_POINTS_H_
