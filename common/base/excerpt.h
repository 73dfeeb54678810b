#pragma once

// Words of others, as they go into messages, logs and terminals. Pure.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace basalt {

// The first character of a text in UTF-8, which is not empty.
struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool is_valid = true;  // Else it is one byte that begins no character.
};
Character FirstCharacter(std::string_view text);

bool IsUtf8(std::string_view text);

// Not what a terminal obeys or what changes the order in which the rest is read: control characters of both sets,
// separators of lines, marks of direction, and bytes that are no UTF-8.
bool IsPrintable(const Character& character);

// The text with a '?' for each character that is not printable; line ends, too, are none.
std::string Printable(std::string_view text);
// A text of JSON, in which such characters can stand in strings alone, with them escaped.
std::string PrintableJson(std::string_view text);

// At most `max` bytes of UTF-8, cut between two characters: half of one would be refused by whoever reads it.
inline std::string_view CutUtf8(std::string_view text, size_t max) {
  if (text.size() <= max) return text;
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xc0) == 0x80) --max;
  return text.substr(0, max);
}

// The same as it can be printed.
inline std::string Excerpt(std::string_view text, size_t max = 80) { return Printable(CutUtf8(text, max)); }

}  // namespace basalt
