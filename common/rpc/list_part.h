#pragma once

// Paging of lists over parts that come from several workers or replicas. Pure.
//
// The token is the key of the last object of the page. Objects that come or go between two pages make no other object
// appear twice or not at all, and any replica can continue with the token.
//
// `List` describes the list:
//   Part, Page, Item                the messages: a Part has `more`, a Page has `next_page_token`;
//   Items(Part&), Items(Page&)      their objects, a RepeatedPtrField;
//   KeyOf(object)                   the key by which objects are sorted.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace basalt::rpc {

inline constexpr int kDefaultPageSize = 500;
inline constexpr int kMaxPageSize = 1000;

// `asked` is the page size in the request; 0 means the default.
inline size_t PageSizeOf(int asked) {
  return static_cast<size_t>(asked <= 0 ? kDefaultPageSize : std::min(asked, kMaxPageSize));
}

// Returns the first page of one worker's `entries`, which are sorted by key. `add(key, entry, part)` adds the wanted
// ones.
template <typename List, typename Entries, typename Add>
typename List::Part MakePart(const Entries& entries, std::string_view page_token, size_t page_size, Add add) {
  typename List::Part part;
  for (auto it = entries.upper_bound(page_token); it != entries.end(); ++it) {
    add(it->first, *it->second, part);
    if (static_cast<size_t>(List::Items(part).size()) <= page_size) continue;
    List::Items(part).RemoveLast();
    part.set_more(true);
    break;
  }
  return part;
}

// Returns the first page of all parts together. Each part is sorted, and no longer than the page.
template <typename List>
typename List::Part MergeParts(std::vector<typename List::Part> parts, size_t page_size) {
  typename List::Part merged;
  std::vector<std::pair<std::string, typename List::Item*>> all;
  for (typename List::Part& part : parts) {
    if (part.more()) merged.set_more(true);
    for (auto& item : List::Items(part)) all.emplace_back(List::KeyOf(item), &item);
  }
  std::sort(all.begin(), all.end());
  for (auto& [key, item] : all) {
    if (static_cast<size_t>(List::Items(merged).size()) == page_size) {
      merged.set_more(true);
      break;
    }
    *List::Items(merged).Add() = std::move(*item);
  }
  return merged;
}

template <typename List>
typename List::Page ToPage(typename List::Part merged) {
  typename List::Page page;
  List::Items(page).Swap(&List::Items(merged));
  if (merged.more() && !List::Items(page).empty()) page.set_next_page_token(List::KeyOf(*List::Items(page).rbegin()));
  return page;
}

}  // namespace basalt::rpc
