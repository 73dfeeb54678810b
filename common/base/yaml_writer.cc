#include <fmt/format.h>

#include <algorithm>

#include "common/base/excerpt.h"
#include "common/base/yaml.h"
#include "common/base/yaml_scalar.h"

namespace basalt {
namespace {

// A longer key is marked as a key, as by kubectl: readers take an unmarked key up to 1024 characters only.
constexpr size_t kLongestPlainKey = 128;

// Returns whether a terminal would obey a character of the text.
bool HasControl(std::string_view text) {
  while (!text.empty()) {
    const Character character = FirstCharacter(text);
    if (text.front() != '\n' && !IsPrintable(character)) return true;
    text.remove_prefix(character.bytes);
  }
  return false;
}

bool NeedsQuotes(std::string_view text) {
  constexpr std::string_view kIndicators = "-?:,[]{}#&*!|>'\"%@`";
  if (text.front() == ' ' || text.back() == ' ' || text.back() == ':') return true;
  if (text.starts_with("\xef\xbb\xbf")) return true;  // Readers drop a byte order mark where a document begins.
  if (kIndicators.find(text.front()) != std::string_view::npos) {
    // These three may start plain text when something other than a space follows.
    const bool may_start = text.front() == '-' || text.front() == '?' || text.front() == ':';
    if (!may_start || text.size() == 1 || text[1] == ' ' || text.substr(0, 3) == "---") return true;
  }
  return text.substr(0, 3) == "..." || text.find(": ") != std::string_view::npos ||
         text.find(" #") != std::string_view::npos;
}

// Appends the first character of the text.
void AppendCharacter(std::string& out, std::string_view text) {
  const Character character = FirstCharacter(text);
  if (IsPrintable(character)) {
    out += text.substr(0, character.bytes);
  } else if (character.code < 0x100) {
    out += fmt::format("\\x{:02x}", character.code);
  } else {
    out += fmt::format("\\u{:04x}", character.code);
  }
}

void AppendDoubleQuoted(std::string& out, std::string_view text) {
  out += '"';
  for (; !text.empty(); text.remove_prefix(FirstCharacter(text).bytes)) {
    switch (text.front()) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\r':
        out += "\\r";
        break;
      default:
        AppendCharacter(out, text);
    }
  }
  out += '"';
}

void AppendSingleQuoted(std::string& out, std::string_view text) {
  out += '\'';
  for (const char c : text) {
    if (c == '\'') out += '\'';
    out += c;
  }
  out += '\'';
}

void AppendLine(std::string& out, std::string_view text) {
  if (text.empty() || HasControl(text) || text.find('\n') != std::string_view::npos ||
      yaml_internal::ResolvePlain(text) || yaml_internal::LooksLikeTime(text) || text == "<<" || text == "=") {
    return AppendDoubleQuoted(out, text);
  }
  if (NeedsQuotes(text)) return AppendSingleQuoted(out, text);
  out += text;
}

void AppendIndent(std::string& out, size_t indent) { out.append(indent, ' '); }

// A literal block cannot express that its first line starts with a space, and cannot hold control characters.
bool FitsLiteralBlock(std::string_view text) {
  return text.find('\n') != std::string_view::npos && text.front() != ' ' && text.front() != '\n' && !HasControl(text);
}

void AppendLiteralBlock(std::string& out, std::string_view text, size_t indent) {
  out += '|';
  if (text.back() != '\n') {
    out += '-';
  } else if (text.size() > 1 && text[text.size() - 2] == '\n') {
    out += '+';
  }
  out += '\n';
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (end > 0) {
      AppendIndent(out, indent);
      out += text.substr(0, end);
    }
    out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void AppendScalar(std::string& out, const json::value& value, size_t indent) {
  if (!value.is_string()) {
    out += ToText(value) + "\n";
    return;
  }
  const std::string_view text(value.get_string().data(), value.get_string().size());
  if (FitsLiteralBlock(text)) return AppendLiteralBlock(out, text, indent);
  AppendLine(out, text);
  out += '\n';
}

bool IsBlock(const json::value& value) {
  return (value.is_object() && !value.get_object().empty()) || (value.is_array() && !value.get_array().empty());
}

// `indented` is true if the caller has already written the indentation of the first line (after "- ").
void AppendValue(std::string& out, const json::value& value, size_t indent, bool indented) {
  if (!IsBlock(value)) {
    AppendScalar(out, value, indent);
    return;
  }
  if (const json::array* array = value.if_array()) {
    for (const json::value& item : *array) {
      if (!indented) AppendIndent(out, indent);
      indented = false;
      out += "- ";
      AppendValue(out, item, indent + 2, true);
    }
    return;
  }
  std::vector<const json::key_value_pair*> members;
  for (const auto& member : value.get_object()) members.push_back(&member);
  std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->key() < b->key(); });
  for (const json::key_value_pair* member : members) {
    if (!indented) AppendIndent(out, indent);
    indented = false;
    const size_t key = out.size();
    AppendLine(out, {member->key().data(), member->key().size()});
    if (out.size() - key > kLongestPlainKey) {
      out.insert(key, "? ") += '\n';
      AppendIndent(out, indent);
      out += ": ";
      AppendValue(out, member->value(), indent + 2, true);
      continue;
    }
    out += ':';
    if (!IsBlock(member->value())) {
      out += ' ';
      AppendScalar(out, member->value(), indent + 2);
      continue;
    }
    out += '\n';
    // Lists stand at their key's own indentation, as kubectl prints them.
    AppendValue(out, member->value(), member->value().is_array() ? indent : indent + 2, false);
  }
}

}  // namespace

std::string ToYaml(const json::value& value) {
  std::string out;
  AppendValue(out, value, 0, false);
  return out;
}

}  // namespace basalt
