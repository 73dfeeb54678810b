#pragma once

// Makes text from outside fit for messages, logs and terminals. Pure functions.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace basalt {

struct Character {
  uint32_t code = 0;
  size_t bytes = 1;
  bool is_valid = true;  // False if `code` is a byte that begins no character of UTF-8.
};
// Returns the first character of a text in UTF-8. Requires: `text` is not empty.
Character FirstCharacter(std::string_view text);

bool IsUtf8(std::string_view text);

// Returns false for a character that a terminal obeys or that changes the reading order of the rest: control characters
// of both sets, separators of lines, marks of direction, and bytes that are no UTF-8.
bool IsPrintable(const Character& character);

// Returns the text with a '?' for each character that is not printable. A line end is not printable.
std::string Printable(std::string_view text);
// Returns a text of JSON with its unprintable characters escaped. Such characters can stand only inside strings there.
std::string PrintableJson(std::string_view text);

// Returns at most `max` bytes of UTF-8, cut between two characters: a reader would refuse half a character.
inline std::string_view CutUtf8(std::string_view text, size_t max) {
  if (text.size() <= max) return text;
  while (max > 0 && (static_cast<unsigned char>(text[max]) & 0xc0) == 0x80) --max;
  return text.substr(0, max);
}

// Returns the same in printable form.
inline std::string Excerpt(std::string_view text, size_t max = 80) { return Printable(CutUtf8(text, max)); }

}  // namespace basalt
