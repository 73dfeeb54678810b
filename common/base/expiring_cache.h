#pragma once

// A map of limited size whose values expire. Not thread-safe; the caller supplies the time.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "absl/time/time.h"

namespace basalt {

template <typename Value>
class ExpiringCache {
 public:
  explicit ExpiringCache(size_t most) : most_(most) {}

  // Null if the key has no unexpired value. The pointer is valid until the next Put.
  Value* Find(std::string_view key, absl::Time now) {
    const auto found = entries_.find(key);
    return found == entries_.end() || found->second.end <= now ? nullptr : &found->second.value;
  }
  // Replaces the value of `key`. If the cache is full, drops the value that would expire first.
  Value& Put(const std::string& key, Value value, absl::Time end) {
    Erase(key);
    if (entries_.size() >= most_) Erase(std::string(ends_.begin()->second));
    const auto at = entries_.emplace(key, Entry{std::move(value), end}).first;
    ends_.emplace(end, at->first);
    return at->second.value;
  }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    Value value;
    absl::Time end;
  };

  void Erase(const std::string& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    auto [at, last] = ends_.equal_range(found->second.end);
    while (at != last && at->second != key) ++at;
    if (at != last) ends_.erase(at);
    entries_.erase(found);
  }

  const size_t most_;  // Is at least 1.
  std::map<std::string, Entry, std::less<>> entries_;
  std::multimap<absl::Time, std::string_view> ends_;  // The views point at keys of `entries_`.
};

}  // namespace basalt
