#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "common/base/slots.h"

namespace basalt {

// The entries of one worker by key, and the keys of each of its slots. So the cost of closing a slot depends on the
// keys of the slot, and not on those of the worker. Confined to the worker's loop; methods may be repeated. Entries
// keep their addresses until they are erased.
template <typename Entry>
class SlotMap {
 public:
  using Keys = std::set<std::string>;

  // Opens a slot, which stays open also without any entry.
  void Open(uint32_t slot) { slots_[slot]; }
  bool IsOpen(uint32_t slot) const { return slots_.contains(slot); }
  // Closes the slot and erases its entries.
  void Close(uint32_t slot) {
    const auto it = slots_.find(slot);
    if (it == slots_.end()) return;
    for (const std::string& key : it->second) EraseEntry(key);
    slots_.erase(it);
  }
  // Returns the keys of each open slot.
  const std::map<uint32_t, Keys>& slots() const { return slots_; }
  const Keys& KeysOf(uint32_t slot) const {
    static const Keys none;
    const auto it = slots_.find(slot);
    return it == slots_.end() ? none : it->second;
  }

  // Null if the key has no entry.
  Entry* Find(std::string_view key) const {
    const auto it = index_.find(key);
    return it == index_.end() ? nullptr : it->second;
  }
  // Returns the entry of the key. If there is none, `make` makes it, by returning a std::unique_ptr<Entry>, and the
  // slot is open from then on.
  template <typename Make>
  Entry& FindOrMake(std::string_view key, Make make) {
    if (Entry* known = Find(key); known != nullptr) return *known;
    const auto it = entries_.emplace(std::string(key), make()).first;
    slots_[SlotOf(key)].insert(it->first);
    index_.emplace(it->first, it->second.get());
    return *it->second;
  }
  Entry& FindOrMake(std::string_view key) {
    return FindOrMake(key, [] { return std::make_unique<Entry>(); });
  }
  // Erases the entry of the key. The slot stays open.
  void Erase(std::string_view key) {
    const auto slot = slots_.find(SlotOf(key));
    if (slot == slots_.end()) return;
    const auto it = slot->second.find(std::string(key));
    if (it == slot->second.end()) return;
    EraseEntry(*it);
    slot->second.erase(it);
  }

  // Iterates in the order of the keys.
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto lower_bound(std::string_view key) const { return entries_.lower_bound(key); }
  auto upper_bound(std::string_view key) const { return entries_.upper_bound(key); }

 private:
  void EraseEntry(const std::string& key) {
    const auto it = entries_.find(key);
    index_.erase(it->first);
    entries_.erase(it);
  }

  std::map<std::string, std::unique_ptr<Entry>, std::less<>> entries_;
  std::unordered_map<std::string_view, Entry*> index_;  // Finds an entry by its key. The views point into `entries_`.
  std::map<uint32_t, Keys> slots_;
};

}  // namespace basalt
