#include "kubesim/schema/table/json_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "common/base/status.h"
#include "common/base/status_macros.h"

namespace basalt::kubesim {
namespace {

absl::Status Bad(std::string_view what) { return Invalid(fmt::format("JSONPath: {}", what)); }

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<int64_t> Integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsQuoted(std::string_view text) {
  return text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
}

// Returns the position of the closing bracket, past quotes and inner brackets.
size_t ClosingBracket(std::string_view text) {
  int depth = 0;
  char quote = '\0';
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (c == '[') {
      ++depth;
    } else if (c == ']' && --depth == 0) {
      return i;
    }
  }
  return std::string_view::npos;
}

bool Compare(const std::string& operation, int order) {
  if (operation == "==") return order == 0;
  if (operation == "!=") return order != 0;
  if (operation == "<") return order < 0;
  if (operation == "<=") return order <= 0;
  if (operation == ">") return order > 0;
  return order >= 0;
}

}  // namespace

absl::StatusOr<JsonPath> JsonPath::Parse(std::string_view text) {
  text = Trim(text);
  if (text.size() >= 2 && text.front() == '{' && text.back() == '}') text = Trim(text.substr(1, text.size() - 2));
  if (!text.empty() && text.front() == '$') text.remove_prefix(1);
  JsonPath path;
  BASALT_RETURN_IF_ERROR(ParseSteps(text, "", path.steps_));
  return path;
}

absl::Status JsonPath::ParseSteps(std::string_view& text, std::string_view stop, std::vector<Step>& steps) {
  while (!text.empty() && stop.find(text.front()) == std::string_view::npos) {
    if (text.front() == '[') {
      const size_t end = ClosingBracket(text);
      if (end == std::string_view::npos) return Bad("a bracket is not closed");
      BASALT_RETURN_IF_ERROR(ParseBracket(Trim(text.substr(1, end - 1)), steps));
      text.remove_prefix(end + 1);
      continue;
    }
    if (text.front() == '.') text.remove_prefix(1);
    if (!text.empty() && text.front() == '.') return Bad("recursive descent is not supported");
    if (!text.empty() && text.front() == '[') continue;
    Step step;
    while (!text.empty() && text.front() != '.' && text.front() != '[' &&
           stop.find(text.front()) == std::string_view::npos) {
      if (text.front() == '\\' && text.size() > 1) text.remove_prefix(1);
      step.name += text.front();
      text.remove_prefix(1);
    }
    if (step.name == "*") step.kind = Kind::kAll;
    if (!step.name.empty()) steps.push_back(std::move(step));
  }
  return absl::OkStatus();
}

absl::Status JsonPath::ParseBracket(std::string_view inside, std::vector<Step>& steps) {
  Step step;
  if (inside == "*") {
    step.kind = Kind::kAll;
  } else if (IsQuoted(inside)) {
    step.name = inside.substr(1, inside.size() - 2);
  } else if (inside.size() > 3 && inside.substr(0, 2) == "?(" && inside.back() == ')') {
    step.kind = Kind::kFilter;
    BASALT_RETURN_IF_ERROR(ParseFilter(inside.substr(2, inside.size() - 3), step));
  } else if (const size_t colon = inside.find(':'); colon != std::string_view::npos) {
    step.kind = Kind::kSlice;
    const std::string_view from = Trim(inside.substr(0, colon));
    const std::string_view to = Trim(inside.substr(colon + 1));
    step.open_end = to.empty();
    const std::optional<int64_t> first = from.empty() ? 0 : Integer(from);
    const std::optional<int64_t> last = to.empty() ? 0 : Integer(to);
    if (!first || !last) return Bad(fmt::format("'{}' is no slice", inside));
    step.from = *first;
    step.to = *last;
  } else if (const std::optional<int64_t> index = Integer(inside)) {
    step.kind = Kind::kIndex;
    step.from = *index;
  } else {
    return Bad(fmt::format("'[{}]' is not supported", inside));
  }
  steps.push_back(std::move(step));
  return absl::OkStatus();
}

absl::Status JsonPath::ParseFilter(std::string_view inside, Step& step) {
  inside = Trim(inside);
  if (inside.empty() || inside.front() != '@') return Bad("a filter must start with '@'");
  inside.remove_prefix(1);
  BASALT_RETURN_IF_ERROR(ParseSteps(inside, "=!<> ", step.left));
  inside = Trim(inside);
  if (inside.empty()) return absl::OkStatus();
  for (const std::string_view operation : {"==", "!=", "<=", ">=", "<", ">"}) {
    if (inside.substr(0, operation.size()) != operation) continue;
    step.operation = operation;
    inside = Trim(inside.substr(operation.size()));
    if (IsQuoted(inside)) {
      step.right = std::string(inside.substr(1, inside.size() - 2));
      return absl::OkStatus();
    }
    BASALT_ASSIGN_OR_RETURN(step.right, ParseJson(inside));
    return absl::OkStatus();
  }
  return Bad(fmt::format("'{}' is no comparison", inside));
}

std::vector<const json::value*> JsonPath::Find(const json::value& root) const {
  std::vector<const json::value*> out;
  Walk(steps_, 0, root, out);
  return out;
}

void JsonPath::Walk(const std::vector<Step>& steps, size_t at, const json::value& value,
                    std::vector<const json::value*>& out) {
  if (at == steps.size()) {
    out.push_back(&value);
    return;
  }
  const Step& step = steps[at];
  if (step.kind == Kind::kMember) {
    if (const json::value* found = basalt::Find(value, step.name)) Walk(steps, at + 1, *found, out);
    return;
  }
  if (const json::object* object = value.if_object(); object != nullptr && step.kind == Kind::kAll) {
    for (const auto& member : *object) Walk(steps, at + 1, member.value(), out);
    return;
  }
  const json::array* array = value.if_array();
  if (array == nullptr) return;
  const auto size = static_cast<int64_t>(array->size());
  const auto absolute = [&](int64_t index) { return index < 0 ? index + size : index; };
  int64_t from = 0;
  int64_t to = size;
  if (step.kind == Kind::kIndex) {
    from = absolute(step.from);
    to = from + 1;
    if (from < 0 || to > size) return;
  } else if (step.kind == Kind::kSlice) {
    from = absolute(step.from);
    if (!step.open_end) to = absolute(step.to);
  }
  for (int64_t i = std::max<int64_t>(from, 0); i < std::min(to, size); ++i) {
    const json::value& item = (*array)[static_cast<size_t>(i)];
    if (step.kind != Kind::kFilter || Passes(step, item)) Walk(steps, at + 1, item, out);
  }
}

bool JsonPath::Passes(const Step& filter, const json::value& item) {
  std::vector<const json::value*> found;
  Walk(filter.left, 0, item, found);
  if (found.empty()) return false;
  if (filter.operation.empty()) return true;
  const json::value& left = *found.front();
  if (left.is_string() && filter.right.is_string()) {
    return Compare(filter.operation, left.get_string().compare(filter.right.get_string()));
  }
  if (left.is_number() && filter.right.is_number()) {
    const double a = left.to_number<double>();
    const double b = filter.right.to_number<double>();
    return Compare(filter.operation, a < b ? -1 : a > b ? 1 : 0);
  }
  return Compare(filter.operation, left == filter.right ? 0 : 1) &&
         (filter.operation == "==" || filter.operation == "!=");
}

}  // namespace basalt::kubesim
