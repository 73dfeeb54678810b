#pragma once

// Texts as rows of code points: what the string functions count in.
#include <string>
#include <string_view>
#include <vector>

namespace basalt::kubesim::cel {

// Where each code point begins, and the size of the text at the end.
inline std::vector<size_t> RuneStarts(std::string_view text) {
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i) {
    if ((text[i] & 0xC0) != 0x80) starts.push_back(i);
  }
  starts.push_back(text.size());
  return starts;
}

inline int64_t CountRunes(std::string_view text) { return static_cast<int64_t>(RuneStarts(text).size()) - 1; }

}  // namespace basalt::kubesim::cel
