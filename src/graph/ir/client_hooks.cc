// SPDX-License-Identifier: Apache-2.0
#include "src/graph/ir/client_hooks.h"

#include <atomic>

namespace millpond::ir {
namespace {

// One pointer, so that a reader never sees half of them.
std::atomic<const ClientHooks*> g_hooks{nullptr};

}  // namespace

ClientHooks GetClientHooks() {
  const ClientHooks* hooks = g_hooks.load(std::memory_order_acquire);
  return hooks == nullptr ? ClientHooks{} : *hooks;
}

void SetClientHooks(const ClientHooks& hooks) {
  static const ClientHooks first = hooks;  // registrars run at load and at exit: it must outlive them all
  g_hooks.store(&first, std::memory_order_release);
}

}  // namespace millpond::ir
