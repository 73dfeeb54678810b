#include "kubesim/server/request/selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "common/base/status_macros.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Splits at commas that stand outside parentheses.
std::vector<std::string_view> SplitRequirements(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')') --depth;
    if (text[i] == ',' && depth == 0) {
      parts.push_back(Trim(text.substr(start, i - start)));
      start = i + 1;
    }
  }
  parts.push_back(Trim(text.substr(start)));
  return parts;
}

bool NameChar(char c) { return isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.'; }

bool ValidNamePart(std::string_view text) {
  if (text.empty() || text.size() > 63) return false;
  if (isalnum(static_cast<unsigned char>(text.front())) == 0) return false;
  if (isalnum(static_cast<unsigned char>(text.back())) == 0) return false;
  return std::all_of(text.begin(), text.end(), NameChar);
}

bool ValidKey(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return ValidNamePart(key);
  const std::string_view prefix = key.substr(0, slash);
  if (prefix.empty() || prefix.size() > 253 || !std::all_of(prefix.begin(), prefix.end(), NameChar)) return false;
  return ValidNamePart(key.substr(slash + 1));
}

bool ValidValue(std::string_view value) { return value.empty() || ValidNamePart(value); }

bool ParseNumber(std::string_view text, int64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

absl::Status BadRequirement(std::string_view what) {
  return BadRequest(fmt::format("unable to parse requirement: {}", what));
}

std::string_view TextOf(const json::string& text) { return {text.data(), text.size()}; }

constexpr std::array<std::string_view, 2> kCommonFields = {"metadata.name", "metadata.namespace"};

std::vector<std::string_view> FieldsOf(const TypeInfo& type) {
  if (type.group.empty() && type.plural == "pods") {
    return {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
            "status.phase",  "status.podIP",       "status.podIPs",      "status.nominatedNodeName"};
  }
  if (type.group.empty() && type.plural == "services") return {"spec.clusterIP", "spec.type"};
  if (type.plural == "events") {
    return {"involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "reportingController"};
  }
  if (type.group.empty() && type.plural == "secrets") return {"type"};
  if (type.group.empty() && type.plural == "nodes") return {"spec.unschedulable"};
  if (type.group.empty() && type.plural == "namespaces") return {"status.phase"};
  if (type.group == "batch" && type.plural == "jobs") return {"status.successful"};
  return {};
}

std::string FieldValue(const json::value& object, std::string_view field) {
  const json::value* at = &object;
  // Events of v1 keep the reporting component in `source.component` too.
  if (field == "source") {
    at = FindPath(object, {"source", "component"});
    return at != nullptr && at->is_string() ? std::string(TextOf(at->get_string())) : "";
  }
  std::string_view rest = field;
  while (!rest.empty() && at != nullptr) {
    const size_t dot = rest.find('.');
    at = Find(*at, rest.substr(0, dot));
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  }
  if (at == nullptr || at->is_null()) {
    if (field == "spec.hostNetwork" || field == "spec.unschedulable") return "false";
    return "";
  }
  if (at->is_string()) return std::string(TextOf(at->get_string()));
  return ToText(*at);
}

// Core kinds with no fields of their own are told of in other words.
absl::Status UnknownField(std::string_view field, bool plain) {
  if (!plain) return BadRequest(fmt::format("field label not supported: {}", field));
  return BadRequest(
      fmt::format("\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", field));
}

}  // namespace

// One requirement of a label selector's text.
class LabelParser {
 public:
  static absl::Status Add(std::string_view text, LabelSelector& selector) {
    LabelSelector::Requirement out;
    if (text.empty()) return BadRequirement("found ',', expected: identifier after ','");
    if (text.front() == '!') {
      out.key = Trim(text.substr(1));
      out.op = LabelSelector::Op::kNotExists;
      return Finish(std::move(out), selector);
    }
    size_t end = 0;
    while (end < text.size() && (NameChar(text[end]) || text[end] == '/')) ++end;
    out.key = text.substr(0, end);
    std::string_view rest = Trim(text.substr(end));
    if (rest.empty()) return Finish(std::move(out), selector);
    for (const auto& [token, op] : {std::pair<std::string_view, LabelSelector::Op>{"==", LabelSelector::Op::kIn},
                                    {"=", LabelSelector::Op::kIn},
                                    {"!=", LabelSelector::Op::kNotIn},
                                    {">", LabelSelector::Op::kGreater},
                                    {"<", LabelSelector::Op::kLess}}) {
      if (!rest.starts_with(token)) continue;
      out.op = op;
      out.values.emplace_back(Trim(rest.substr(token.size())));
      return Finish(std::move(out), selector);
    }
    const bool negative = rest.starts_with("notin");
    if (!negative && !rest.starts_with("in")) {
      return BadRequirement(fmt::format("found '{}', expected: in, notin, =, ==, !=, gt, lt", rest));
    }
    rest = Trim(rest.substr(negative ? 5 : 2));
    if (rest.size() < 2 || rest.front() != '(' || rest.back() != ')') {
      return BadRequirement(fmt::format("found '{}', expected: '('", rest));
    }
    out.op = negative ? LabelSelector::Op::kNotIn : LabelSelector::Op::kIn;
    for (const std::string_view value : SplitRequirements(rest.substr(1, rest.size() - 2))) {
      out.values.emplace_back(value);
    }
    return Finish(std::move(out), selector);
  }

  static absl::Status Finish(LabelSelector::Requirement out, LabelSelector& selector) {
    if (!ValidKey(out.key))
      return BadRequirement(
          fmt::format("<nil>: Invalid value: \"{}\": name part must consist of alphanumeric characters, '-', '_' or "
                      "'.', and must start and end with an alphanumeric character",
                      out.key));
    for (const std::string& value : out.values) {
      int64_t number = 0;
      const bool numeric = out.op == LabelSelector::Op::kGreater || out.op == LabelSelector::Op::kLess;
      if (numeric ? !ParseNumber(value, &number) : !ValidValue(value)) {
        return BadRequirement(
            fmt::format("values[0][{}]: Invalid value: \"{}\": a valid label must be an empty string or consist of "
                        "alphanumeric characters, '-', '_' or '.'",
                        out.key, value));
      }
    }
    selector.requirements_.push_back(std::move(out));
    return absl::OkStatus();
  }

  static absl::Status AddExpression(const json::value& expression, LabelSelector& selector) {
    LabelSelector::Requirement out;
    out.key = FindString(expression, "key");
    const std::string_view op = FindString(expression, "operator");
    if (op == "In") {
      out.op = LabelSelector::Op::kIn;
    } else if (op == "NotIn") {
      out.op = LabelSelector::Op::kNotIn;
    } else if (op == "Exists") {
      out.op = LabelSelector::Op::kExists;
    } else if (op == "DoesNotExist") {
      out.op = LabelSelector::Op::kNotExists;
    } else {
      return BadRequest(fmt::format("\"{}\" is not a valid label selector operator", op));
    }
    if (const json::value* values = Find(expression, "values"); values != nullptr && values->is_array()) {
      for (const json::value& value : values->get_array()) {
        if (value.is_string()) out.values.emplace_back(TextOf(value.get_string()));
      }
    }
    return Finish(std::move(out), selector);
  }
};

absl::StatusOr<LabelSelector> LabelSelector::Parse(std::string_view text) {
  LabelSelector selector;
  if (Trim(text).empty()) return selector;
  for (const std::string_view part : SplitRequirements(text)) {
    BASALT_RETURN_IF_ERROR(LabelParser::Add(part, selector));
  }
  return selector;
}

absl::StatusOr<LabelSelector> LabelSelector::FromObject(const json::value& object) {
  LabelSelector selector;
  if (const json::value* labels = Find(object, "matchLabels"); labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->get_object()) {
      Requirement one{std::string(key), Op::kIn, {}};
      if (value.is_string()) one.values.emplace_back(TextOf(value.get_string()));
      BASALT_RETURN_IF_ERROR(LabelParser::Finish(std::move(one), selector));
    }
  }
  if (const json::value* list = Find(object, "matchExpressions"); list != nullptr && list->is_array()) {
    for (const json::value& expression : list->get_array()) {
      BASALT_RETURN_IF_ERROR(LabelParser::AddExpression(expression, selector));
    }
  }
  return selector;
}

bool LabelSelector::Matches(const json::value& object) const {
  return requirements_.empty() || MatchesLabels(FindPath(object, {"metadata", "labels"}));
}

bool LabelSelector::MatchesLabels(const json::value* labels) const {
  for (const Requirement& need : requirements_) {
    const json::value* label = labels == nullptr ? nullptr : Find(*labels, need.key);
    const bool present = label != nullptr && label->is_string();
    const std::string_view value = present ? TextOf(label->get_string()) : std::string_view();
    const auto listed = [&] { return std::find(need.values.begin(), need.values.end(), value) != need.values.end(); };
    int64_t have = 0;
    int64_t bound = 0;
    bool ok = false;
    switch (need.op) {
      case Op::kIn:
        ok = present && listed();
        break;
      case Op::kNotIn:
        ok = !present || !listed();
        break;
      case Op::kExists:
        ok = present;
        break;
      case Op::kNotExists:
        ok = !present;
        break;
      case Op::kGreater:
      case Op::kLess:
        ok = present && ParseNumber(value, &have) && ParseNumber(need.values.front(), &bound) &&
             (need.op == Op::kGreater ? have > bound : have < bound);
        break;
    }
    if (!ok) return false;
  }
  return true;
}

absl::StatusOr<FieldSelector> FieldSelector::Parse(std::string_view text, const TypeInfo& type) {
  FieldSelector selector;
  text = Trim(text);
  if (text.empty()) return selector;
  const std::vector<std::string_view> more = FieldsOf(type);
  for (std::string_view part : SplitRequirements(text)) {
    if (part.empty()) continue;
    Requirement one;
    size_t at = part.find('=');
    if (at == std::string_view::npos) {
      return BadRequest(fmt::format("invalid selector: '{}'; can't understand '{}'", text, part));
    }
    size_t key_end = at;
    if (at > 0 && part[at - 1] == '!') {
      one.equal = false;
      --key_end;
    } else if (at + 1 < part.size() && part[at + 1] == '=') {
      ++at;
    }
    one.field = Trim(part.substr(0, key_end));
    for (const std::string_view value = part.substr(at + 1); const char c : value) {
      if (c != '\\') one.value += c;
    }
    const bool known = std::find(kCommonFields.begin(), kCommonFields.end(), one.field) != kCommonFields.end() ||
                       std::find(more.begin(), more.end(), one.field) != more.end();
    if (!known) return UnknownField(one.field, type.builtin && more.empty());
    selector.requirements_.push_back(std::move(one));
  }
  return selector;
}

bool FieldSelector::Matches(const json::value& object) const {
  for (const Requirement& need : requirements_) {
    if ((FieldValue(object, need.field) == need.value) != need.equal) return false;
  }
  return true;
}

std::string_view FieldSelector::RequiredName() const {
  for (const Requirement& need : requirements_) {
    if (need.equal && need.field == "metadata.name") return need.value;
  }
  return {};
}

absl::StatusOr<Selector> SelectorOf(const RequestInfo& info) {
  Selector selector;
  BASALT_ASSIGN_OR_RETURN(selector.labels, LabelSelector::Parse(info.target.Query("labelSelector")));
  BASALT_ASSIGN_OR_RETURN(selector.fields, FieldSelector::Parse(info.target.Query("fieldSelector"), *info.type));
  return selector;
}

}  // namespace basalt::kubesim
