#include "kubesim/server/request/selectors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

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

// Returns the refusal of an unknown field. The message differs for core kinds that have no fields of their own
// (`plain`).
absl::Status UnknownField(std::string_view field, bool plain) {
  if (!plain) return BadRequest(fmt::format("field label not supported: {}", field));
  return BadRequest(
      fmt::format("\"{}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"", field));
}

}  // namespace

bool MatchesLabels(const kube::LabelSelector& selector, const json::value& object) {
  if (selector.empty()) return true;
  const json::value* const labels = FindPath(object, {"metadata", "labels"});
  return selector.Matches([&](std::string_view key) -> std::optional<std::string_view> {
    const json::value* const label = labels == nullptr ? nullptr : Find(*labels, key);
    if (label == nullptr || !label->is_string()) return std::nullopt;
    return TextOf(label->get_string());
  });
}

absl::StatusOr<FieldSelector> FieldSelector::Parse(std::string_view text, const TypeInfo& type) {
  FieldSelector selector;
  text = kube::TrimBlanks(text);
  if (text.empty()) return selector;
  const std::vector<std::string_view> more = FieldsOf(type);
  for (std::string_view part : kube::SplitRequirements(text)) {
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
    one.field = kube::TrimBlanks(part.substr(0, key_end));
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
  absl::StatusOr<kube::LabelSelector> labels = kube::LabelSelector::Parse(info.target.Query("labelSelector"));
  if (!labels.ok()) return BadRequest(ToStd(labels.status().message()));
  selector.labels = *std::move(labels);
  BASALT_ASSIGN_OR_RETURN(selector.fields, FieldSelector::Parse(info.target.Query("fieldSelector"), *info.type));
  return selector;
}

}  // namespace basalt::kubesim
