#include "services/jobsvc/core/plugins/arguments.h"

#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <optional>

namespace basalt::jobsvc {
namespace {

std::optional<bool> ParseBool(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"}) {
    if (text == yes) return true;
  }
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"}) {
    if (text == no) return false;
  }
  return std::nullopt;
}

// Parses as Go does with base 0: the prefix names the base.
std::optional<int64_t> ParseInteger(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  const auto prefixed = [&text](std::string_view lower, std::string_view upper) {
    return text.starts_with(lower) || text.starts_with(upper);
  };
  if (prefixed("0x", "0X")) {
    base = 16, text.remove_prefix(2);
  } else if (prefixed("0b", "0B")) {
    base = 2, text.remove_prefix(2);
  } else if (prefixed("0o", "0O")) {
    base = 8, text.remove_prefix(2);
  } else if (text.size() > 1 && text.front() == '0') {
    base = 8, text.remove_prefix(1);
  }
  if (text.empty() || text.front() == '-' || text.front() == '+') return std::nullopt;
  const std::string signed_text = fmt::format("{}{}", negative ? "-" : "", text);
  int64_t value = 0;
  const char* end = signed_text.data() + signed_text.size();
  const auto [stopped, error] = std::from_chars(signed_text.data(), end, value, base);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

}  // namespace

const Arguments::Definition* Arguments::FindFlag(std::string_view name) const {
  for (const Definition& flag : flags_) {
    if (flag.name == name) return &flag;
  }
  return nullptr;
}

void Arguments::Port(std::string_view name, int64_t* target, std::string_view text) {
  Flag(name, target, text, 1, std::numeric_limits<uint16_t>::max());
}

std::string Arguments::ParseAt(const PluginArguments& words, int& at) const {
  const std::string_view word = words[at];
  if (word.size() < 2 || word.front() != '-') return fmt::format("'{}' is not a flag", word);
  std::string_view name = word.substr(word[1] == '-' ? 2 : 1);
  if (name.empty() || name.front() == '-' || name.front() == '=') return fmt::format("'{}' is not a flag", word);
  std::optional<std::string_view> value;
  if (const size_t equals = name.find('='); equals != name.npos) {
    value = name.substr(equals + 1);
    name = name.substr(0, equals);
  }
  const Definition* flag = FindFlag(name);
  if (flag == nullptr) return fmt::format("flag '{}' is unknown", name);
  if (bool* const* target = std::get_if<bool*>(&flag->target)) {
    const std::optional<bool> parsed = ParseBool(value.value_or("true"));
    if (!parsed) return fmt::format("flag '{}': '{}' is neither true nor false", name, *value);
    **target = *parsed;
    return {};
  }
  if (!value) {
    if (at + 1 == words.size()) return fmt::format("flag '{}' needs a value", name);
    value = words[++at];
  }
  if (std::string* const* target = std::get_if<std::string*>(&flag->target)) {
    **target = std::string(*value);
    return {};
  }
  const std::optional<int64_t> parsed = ParseInteger(*value);
  if (!parsed) return fmt::format("flag '{}': '{}' is not a number", name, *value);
  if (*parsed < flag->low || *parsed > flag->high) {
    return fmt::format("flag '{}': {} is not between {} and {}", name, *parsed, flag->low, flag->high);
  }
  *std::get<int64_t*>(flag->target) = *parsed;
  return {};
}

std::string Arguments::Parse(const PluginArguments& words) const {
  std::string complaints;
  for (int at = 0; at < words.size() && words[at] != "--"; ++at) {
    const std::string complaint = ParseAt(words, at);
    if (complaint.empty()) continue;
    if (!complaints.empty()) complaints += "; ";
    complaints += complaint;
  }
  return complaints;
}

std::vector<FlagDescription> Arguments::Describe() const {
  std::vector<FlagDescription> all;
  for (const Definition& flag : flags_) {
    const std::string value = std::visit([](const auto* target) { return fmt::format("{}", *target); }, flag.target);
    all.push_back({std::string(flag.name), value, std::string(flag.text)});
  }
  return all;
}

}  // namespace basalt::jobsvc
