#include "common/kube/label_selector.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/name_rules.h"

namespace basalt::kube {
namespace {

bool NameChar(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.'; }

bool ParseNumber(std::string_view text, int64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

absl::Status BadRequirement(std::string_view what) {
  return Invalid(fmt::format("unable to parse requirement: {}", what));
}

}  // namespace

std::string_view TrimBlanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> SplitRequirements(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(TrimBlanks(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  parts.push_back(TrimBlanks(text.substr(start)));
  return parts;
}

absl::StatusOr<LabelSelector::Requirement> LabelSelector::ParseOne(std::string_view text) {
  Requirement out;
  if (text.empty()) return BadRequirement("found ',', expected: identifier after ','");
  if (text.front() == '!') {
    out.key = TrimBlanks(text.substr(1));
    out.op = Op::kNotExists;
    return Checked(std::move(out));
  }
  size_t end = 0;
  while (end < text.size() && (NameChar(text[end]) || text[end] == '/')) ++end;
  out.key = text.substr(0, end);
  std::string_view rest = TrimBlanks(text.substr(end));
  if (rest.empty()) return Checked(std::move(out));
  for (const auto& [token, op] : {std::pair<std::string_view, Op>{"==", Op::kIn},
                                  {"=", Op::kIn},
                                  {"!=", Op::kNotIn},
                                  {">", Op::kGreater},
                                  {"<", Op::kLess}}) {
    if (!rest.starts_with(token)) continue;
    out.op = op;
    out.values.emplace_back(TrimBlanks(rest.substr(token.size())));
    return Checked(std::move(out));
  }
  const bool negative = rest.starts_with("notin");
  if (!negative && !rest.starts_with("in")) {
    return BadRequirement(fmt::format("found '{}', expected: in, notin, =, ==, !=, gt, lt", rest));
  }
  rest = TrimBlanks(rest.substr(negative ? 5 : 2));
  if (rest.size() < 2 || rest.front() != '(' || rest.back() != ')') {
    return BadRequirement(fmt::format("found '{}', expected: '('", rest));
  }
  out.op = negative ? Op::kNotIn : Op::kIn;
  for (const std::string_view value : SplitRequirements(rest.substr(1, rest.size() - 2))) {
    out.values.emplace_back(value);
  }
  return Checked(std::move(out));
}

absl::StatusOr<LabelSelector::Requirement> LabelSelector::Checked(Requirement requirement) {
  if (!IsQualifiedKey(requirement.key)) {
    return BadRequirement(
        fmt::format("<nil>: Invalid value: \"{}\": name part must consist of alphanumeric characters, '-', '_' or "
                    "'.', and must start and end with an alphanumeric character",
                    requirement.key));
  }
  const bool numeric = requirement.op == Op::kGreater || requirement.op == Op::kLess;
  for (const std::string& value : requirement.values) {
    int64_t number = 0;
    if (numeric ? !ParseNumber(value, &number) : !IsLabelValue(value)) {
      return BadRequirement(
          fmt::format("values[0][{}]: Invalid value: \"{}\": a valid label must be an empty string or consist of "
                      "alphanumeric characters, '-', '_' or '.'",
                      requirement.key, value));
    }
  }
  return requirement;
}

absl::StatusOr<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  if (TrimBlanks(text).empty()) return selector;
  for (const std::string_view part : SplitRequirements(text)) {
    BASALT_ASSIGN_OR_RETURN(Requirement requirement, ParseOne(part));
    selector.requirements_.push_back(std::move(requirement));
  }
  return selector;
}

size_t LabelSelector::terms() const {
  size_t terms = requirements_.size();
  for (const Requirement& requirement : requirements_) terms += requirement.values.size();
  return terms;
}

bool LabelSelector::Matches(Labels labels) const {
  for (const Requirement& need : requirements_) {
    const std::optional<std::string_view> value = labels(need.key);
    const auto listed = [&] { return std::find(need.values.begin(), need.values.end(), *value) != need.values.end(); };
    int64_t have = 0;
    int64_t bound = 0;
    bool ok = false;
    switch (need.op) {
      case Op::kIn:
        ok = value && listed();
        break;
      case Op::kNotIn:
        ok = !value || !listed();
        break;
      case Op::kExists:
        ok = value.has_value();
        break;
      case Op::kNotExists:
        ok = !value;
        break;
      case Op::kGreater:
      case Op::kLess:
        ok = value && ParseNumber(*value, &have) && ParseNumber(need.values.front(), &bound) &&
             (need.op == Op::kGreater ? have > bound : have < bound);
        break;
    }
    if (!ok) return false;
  }
  return true;
}

}  // namespace basalt::kube
