#pragma once

// Foreign text inside our messages. Pure.
#include <string>
#include <string_view>

namespace basalt {

// At most `max` bytes, not ending inside a UTF-8 character: half of one is refused by every message with a string.
inline std::string_view CutUtf8(std::string_view text, size_t max) {
  if (text.size() <= max) return text;
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xc0) == 0x80) --max;
  return text.substr(0, max);
}

// The same without control characters: each becomes a '?'.
inline std::string Excerpt(std::string_view text, size_t max = 80) {
  std::string out(CutUtf8(text, max));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
  }
  return out;
}

}  // namespace basalt
