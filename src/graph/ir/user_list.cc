// SPDX-License-Identifier: Apache-2.0
#include "src/graph/ir/user_list.h"

#include <algorithm>
#include <new>

#include "src/graph/ir/graph.h"

namespace millpond::ir {

namespace {

constexpr size_t kLong = 64;  // shorter lists are searched

bool IsOf(const std::weak_ptr<Node>& entry, const std::weak_ptr<Node>& user) {
  return !entry.owner_before(user) && !user.owner_before(entry);
}

}  // namespace

void UserList::Add(std::weak_ptr<Node> user, const Node* address, int32_t place) {
  if (entries_.size() == entries_.capacity()) {
    Compact();
    // Else the next few would compact again.
    if (entries_.size() > entries_.capacity() / 2) entries_.reserve(std::max<size_t>(4, 2 * entries_.size()));
  }
  if (index_ != nullptr) index_->try_emplace({address, place}, entries_.size());
  entries_.push_back({std::move(user), place});
}

size_t UserList::Find(const std::weak_ptr<Node>& user, const Node* address, int32_t place) const {
  if (index_ != nullptr) {
    // A node that is gone may have had the same address.
    const auto found = index_->find({address, place});
    if (found != index_->end() && IsOf(entries_[found->second].user, user)) return found->second;
  }
  size_t first = entries_.size();
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!IsOf(entries_[i].user, user)) continue;
    if (entries_[i].place == place) return i;
    first = std::min(first, i);
  }
  return first;
}

void UserList::Remove(const std::weak_ptr<Node>& user, const Node* address, int32_t place) {
  const size_t at = Find(user, address, place);
  if (at == entries_.size()) return;
  if (index_ == nullptr && entries_.size() < kLong) {
    entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(at));
    return;
  }
  if (index_ != nullptr) {
    const auto known = index_->find({address, entries_[at].place});
    if (known != index_->end() && known->second == at) index_->erase(known);
  }
  entries_[at].user.reset();
  if (++removed_ > entries_.size() / 2) {
    Compact();
  } else if (index_ == nullptr) {
    Compact();  // for the index
  }
}

bool UserList::Has(const std::weak_ptr<Node>& user) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return IsOf(entry.user, user); });
}

void UserList::Clear() {
  entries_.clear();
  removed_ = 0;
  index_.reset();
}

void UserList::Compact() {
  std::erase_if(entries_, [](const Entry& entry) { return entry.user.expired(); });
  removed_ = 0;
  index_.reset();
  if (entries_.size() < kLong) return;
  try {
    index_ = std::make_unique<Index>();
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (const NodePtr user = entries_[i].user.lock()) index_->try_emplace({user.get(), entries_[i].place}, i);
    }
  } catch (const std::bad_alloc&) {
    index_.reset();  // no memory: the list is searched, and destructors get on
  }
}

}  // namespace millpond::ir
