#include "common/base/excerpt.h"

#include <fmt/format.h>

namespace basalt {
namespace {

// Returns the length of the character that begins with this byte. 0 if no character does.
size_t LengthOf(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  return first >= 0xf0 && first < 0xf5 ? 4 : 0;
}

// False for a code that has a shorter form, for half of a UTF-16 pair, and for a code beyond the last character.
bool IsCharacter(uint32_t code, size_t bytes) {
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  return code >= kLeast[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

template <typename Replace>
std::string Replaced(std::string_view text, Replace replace) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (IsPrintable(character)) {
      out += text.substr(0, character.bytes);
    } else {
      replace(character, text.substr(0, character.bytes), out);
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

}  // namespace

Character FirstCharacter(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const size_t bytes = LengthOf(first);
  const Character wrong = {.code = first, .bytes = 1, .is_valid = false};
  if (bytes == 0 || bytes > text.size()) return wrong;
  uint32_t code = bytes == 1 ? first : first & (0x7fU >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xc0) != 0x80) return wrong;
    code = code << 6 | (next & 0x3fU);
  }
  if (!IsCharacter(code, bytes)) return wrong;
  return {.code = code, .bytes = bytes};
}

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (!character.is_valid) return false;
    text.remove_prefix(character.bytes);
  }
  return true;
}

bool IsPrintable(const Character& character) {
  const uint32_t code = character.code;
  if (!character.is_valid || code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  return code != 0x2028 && code != 0x2029 && (code < 0x202a || code > 0x202e) && (code < 0x2066 || code > 0x2069);
}

std::string Printable(std::string_view text) {
  return Replaced(text, [](const Character&, std::string_view, std::string& out) { out += '?'; });
}

std::string PrintableJson(std::string_view text) {
  return Replaced(text, [](const Character& character, std::string_view bytes, std::string& out) {
    if (character.code < 0x20 || !character.is_valid) {
      out += bytes;  // This is white space between values: inside strings the control characters are escaped already.
    } else {
      out += fmt::format("\\u{:04x}", character.code);
    }
  });
}

}  // namespace basalt
