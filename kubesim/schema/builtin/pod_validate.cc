#include "kubesim/schema/builtin/pod_validate.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "kubesim/schema/core/field_errors.h"
#include "kubesim/schema/core/name_rules.h"

namespace basalt::kubesim {
namespace {

using Errors = std::vector<FieldError>;

const json::array& List(const json::value& value, std::string_view name) {
  static const json::array& empty = *new json::array();
  const json::value* found = Find(value, name);
  return found == nullptr || !found->is_array() ? empty : found->get_array();
}

void CheckName(const json::value& item, const std::string& field, std::set<std::string>& names, Errors* errors) {
  const std::string name(FindString(item, "name"));
  if (name.empty()) return AddRequired(errors, field + ".name", "");
  if (const std::string wrong = CheckDnsLabel(name); !wrong.empty()) AddInvalid(errors, field + ".name", name, wrong);
  if (!names.insert(name).second) AddDuplicate(errors, field + ".name", name);
}

bool IsQuantity(const json::value& value) {
  if (value.is_number()) return true;
  if (!value.is_string()) return false;
  std::string_view text(value.get_string().data(), value.get_string().size());
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  size_t digits = 0;
  bool dot = false;
  while (!text.empty() && ((text[0] >= '0' && text[0] <= '9') || (text[0] == '.' && !dot))) {
    dot |= text[0] == '.';
    digits += text[0] != '.';
    text.remove_prefix(1);
  }
  if (digits == 0) return false;
  constexpr std::string_view kSuffixes[] = {"",  "n", "u",  "m",  "k",  "M",  "G",  "T",
                                            "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  if (std::find(std::begin(kSuffixes), std::end(kSuffixes), text) != std::end(kSuffixes)) return true;
  if (text[0] != 'e' && text[0] != 'E') return false;
  text.remove_prefix(1);
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void CheckResources(const json::value& container, const std::string& field, Errors* errors) {
  for (const std::string_view list : {"requests", "limits"}) {
    const json::value* amounts = FindPath(container, {"resources", list});
    if (amounts == nullptr || !amounts->is_object()) continue;
    for (const auto& member : amounts->get_object()) {
      const std::string at = fmt::format("{}.resources.{}[{}]", field, list, std::string(member.key()));
      if (!IsQuantity(member.value())) {
        AddInvalidJson(errors, at, member.value(),
                       "quantities must match the regular expression "
                       "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
      } else if (member.value().is_string() && member.value().get_string().starts_with('-')) {
        AddInvalidJson(errors, at, member.value(), "must be greater than or equal to 0");
      }
    }
  }
}

void CheckPorts(const json::value& container, const std::string& field, Errors* errors) {
  const json::array& ports = List(container, "ports");
  for (size_t i = 0; i < ports.size(); ++i) {
    const std::string at = fmt::format("{}.ports[{}]", field, i);
    const json::value* number = Find(ports[i], "containerPort");
    if (number == nullptr) {
      AddRequired(errors, at + ".containerPort", "");
    } else if (const int64_t port = FindInt(ports[i], "containerPort"); port < 1 || port > 65535) {
      AddInvalidJson(errors, at + ".containerPort", *number, "must be between 1 and 65535, inclusive");
    }
    const std::string_view protocol = FindString(ports[i], "protocol");
    if (!protocol.empty() && protocol != "TCP" && protocol != "UDP" && protocol != "SCTP") {
      AddUnsupported(errors, at + ".protocol", protocol, {"SCTP", "TCP", "UDP"});
    }
  }
}

void CheckContainer(const json::value& container, const std::string& field, const std::set<std::string>& volumes,
                    Errors* errors) {
  if (FindString(container, "image").empty()) AddRequired(errors, field + ".image", "");
  const std::string_view pull = FindString(container, "imagePullPolicy");
  if (!pull.empty() && pull != "Always" && pull != "IfNotPresent" && pull != "Never") {
    AddUnsupported(errors, field + ".imagePullPolicy", pull, {"Always", "IfNotPresent", "Never"});
  }
  CheckPorts(container, field, errors);
  CheckResources(container, field, errors);
  const json::array& env = List(container, "env");
  for (size_t i = 0; i < env.size(); ++i) {
    const std::string at = fmt::format("{}.env[{}]", field, i);
    if (FindString(env[i], "name").empty()) AddRequired(errors, at + ".name", "");
    const json::value* value = Find(env[i], "value");
    if (value != nullptr && !value->is_string()) AddType(errors, at + ".value", "string", *value);
  }
  const json::array& mounts = List(container, "volumeMounts");
  for (size_t i = 0; i < mounts.size(); ++i) {
    const std::string at = fmt::format("{}.volumeMounts[{}]", field, i);
    const std::string name(FindString(mounts[i], "name"));
    if (name.empty()) {
      AddRequired(errors, at + ".name", "");
    } else if (!volumes.contains(name)) {
      AddNotFound(errors, at + ".name", name);
    }
    if (FindString(mounts[i], "mountPath").empty()) AddRequired(errors, at + ".mountPath", "");
  }
}

// Sets the fields that may change to their old values, so that every remaining difference is forbidden.
json::value Masked(const json::value& live, const json::value& next) {
  json::value spec = next;
  json::object* members = spec.if_object();
  if (members == nullptr) return spec;
  for (const char* list : {"containers", "initContainers"}) {
    json::value* found = members->if_contains(list);
    if (found == nullptr || !found->is_array()) continue;
    const json::array& old = List(live, list);
    json::array& now = found->get_array();
    for (size_t i = 0; i < now.size() && i < old.size(); ++i) {
      const json::value* image = Find(old[i], "image");
      if (now[i].is_object() && image != nullptr) now[i].get_object()["image"] = *image;
    }
  }
  const auto restore = [&](std::string_view name) {
    const json::string_view key(name.data(), name.size());
    if (const json::value* old = Find(live, name)) {
      (*members)[key] = *old;
    } else {
      members->erase(key);
    }
  };
  restore("activeDeadlineSeconds");
  const json::array& old_tolerations = List(live, "tolerations");
  const json::array& now_tolerations = List(next, "tolerations");
  const bool only_added = std::all_of(old_tolerations.begin(), old_tolerations.end(), [&](const json::value& kept) {
    return std::find(now_tolerations.begin(), now_tolerations.end(), kept) != now_tolerations.end();
  });
  if (only_added) restore("tolerations");
  const json::array& old_gates = List(live, "schedulingGates");
  const json::array& now_gates = List(next, "schedulingGates");
  const bool only_removed = std::all_of(now_gates.begin(), now_gates.end(), [&](const json::value& gate) {
    return std::find(old_gates.begin(), old_gates.end(), gate) != old_gates.end();
  });
  if (only_removed) restore("schedulingGates");
  return spec;
}

}  // namespace

void ValidatePodSpec(const json::value& spec, const std::string& field,
                     const std::vector<std::string_view>& restart_policies, Errors* errors) {
  std::set<std::string> volumes;
  const json::array& volume_list = List(spec, "volumes");
  for (size_t i = 0; i < volume_list.size(); ++i) {
    CheckName(volume_list[i], fmt::format("{}.volumes[{}]", field, i), volumes, errors);
  }
  if (List(spec, "containers").empty()) AddRequired(errors, field + ".containers", "");
  std::set<std::string> names;
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json::array& containers = List(spec, list);
    for (size_t i = 0; i < containers.size(); ++i) {
      const std::string at = fmt::format("{}.{}[{}]", field, list, i);
      CheckName(containers[i], at, names, errors);
      CheckContainer(containers[i], at, volumes, errors);
    }
  }
  const std::string_view policy = FindString(spec, "restartPolicy");
  if (std::find(restart_policies.begin(), restart_policies.end(), policy) == restart_policies.end()) {
    AddUnsupported(errors, field + ".restartPolicy", policy, restart_policies);
  }
  const std::string_view dns = FindString(spec, "dnsPolicy");
  const std::vector<std::string_view> dns_policies = {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"};
  if (std::find(dns_policies.begin(), dns_policies.end(), dns) == dns_policies.end()) {
    AddUnsupported(errors, field + ".dnsPolicy", dns, dns_policies);
  }
  if (const json::value* grace = Find(spec, "terminationGracePeriodSeconds"); grace != nullptr && !grace->is_int64()) {
    AddType(errors, field + ".terminationGracePeriodSeconds", "integer", *grace);
  }
  for (const std::string_view name : {"hostname", "subdomain"}) {
    const std::string_view value = FindString(spec, name);
    if (value.empty()) continue;
    if (const std::string wrong = CheckDnsLabel(value); !wrong.empty()) {
      AddInvalid(errors, fmt::format("{}.{}", field, name), value, wrong);
    }
  }
}

void ValidatePodUpdate(const json::value& live, const json::value& next, Errors* errors) {
  const json::value* old = Find(live, "spec");
  const json::value* now = Find(next, "spec");
  if (old == nullptr || now == nullptr || *old == *now) return;
  if (Masked(*old, *now) == *old) return;
  AddForbidden(errors, "spec",
               "pod updates may not change fields other than `spec.containers[*].image`,"
               "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to "
               "existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
               "previously negative)");
}

}  // namespace basalt::kubesim
