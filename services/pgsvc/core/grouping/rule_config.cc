#include "services/pgsvc/core/grouping/rule_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "common/base/excerpt.h"
#include "common/base/json.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/base/yaml.h"
#include "services/pgsvc/core/grouping/inheritance.h"

namespace basalt::pgsvc {

namespace {

absl::Status Bad(std::string_view field, std::string_view rule) { return Invalid(fmt::format("{}: {}", field, rule)); }

std::string FieldOf(std::string_view parent, std::string_view name) {
  return parent.empty() ? std::string(name) : fmt::format("{}.{}", parent, name);
}

// `where` is the path of the value. The object may have these members and no others.
absl::Status CheckObject(const json::value& value, std::string_view where,
                         std::initializer_list<std::string_view> members) {
  if (!value.is_object()) return Bad(where.empty() ? "the configuration" : where, "must be an object");
  for (const auto& [name, member] : value.get_object()) {
    if (std::find(members.begin(), members.end(), name) == members.end()) {
      return Bad(FieldOf(where, name), "there is no such field");
    }
  }
  return absl::OkStatus();
}

// Returns the text of the member; empty if there is none.
absl::StatusOr<std::string> TextOf(const json::value& object, std::string_view where, std::string_view name) {
  const json::value* const member = Find(object, name);
  if (member == nullptr) return std::string();
  if (!member->is_string() || member->get_string().empty()) {
    return Bad(FieldOf(where, name), "must be a text that is not empty");
  }
  return std::string(member->get_string());
}

absl::StatusOr<bool> BoolOf(const json::value& object, std::string_view name, bool otherwise) {
  const json::value* const member = Find(object, name);
  if (member == nullptr) return otherwise;
  if (!member->is_bool()) return Bad(name, "must be true or false");
  return member->get_bool();
}

// Calls `read(entry, where)` for each entry of the list, if the object has that member.
template <typename Read>
absl::Status ForEach(const json::value& object, std::string_view name, Read read) {
  const json::value* const list = Find(object, name);
  if (list == nullptr) return absl::OkStatus();
  if (!list->is_array()) return Bad(name, "must be a list");
  for (size_t i = 0; i < list->get_array().size(); ++i) {
    BASALT_RETURN_IF_ERROR(read(list->get_array()[i], fmt::format("{}[{}]", name, i)));
  }
  return absl::OkStatus();
}

absl::StatusOr<KindName> KindOf(const json::value& entry, std::string_view where) {
  KindName kind;
  BASALT_ASSIGN_OR_RETURN(kind.group, TextOf(entry, where, "group"));
  BASALT_ASSIGN_OR_RETURN(kind.version, TextOf(entry, where, "version"));
  BASALT_ASSIGN_OR_RETURN(kind.kind, TextOf(entry, where, "kind"));
  if (kind.version.empty()) kind.version = "*";
  if (kind.group.empty()) return Bad(FieldOf(where, "group"), "is required");
  if (kind.kind.empty()) return Bad(FieldOf(where, "kind"), "is required");
  return kind;
}

// Returns the members of a path such as "spec.workers.replicas".
absl::StatusOr<std::vector<std::string>> PathOf(const json::value& value, std::string_view where) {
  if (!value.is_string()) return Bad(where, "must be a path like spec.replicas");
  const std::string text(value.get_string());
  std::vector<std::string> path = absl::StrSplit(text, '.');
  if (std::find(path.begin(), path.end(), "") != path.end()) {
    return Bad(where, fmt::format("{} must be a path like spec.replicas", Excerpt(text)));
  }
  return path;
}

absl::StatusOr<DeclaredRule> RuleOf(const json::value& entry, const std::string& where) {
  BASALT_RETURN_IF_ERROR(CheckObject(entry, where, {"group", "version", "kind", "minimum", "priorityClassName"}));
  DeclaredRule rule;
  BASALT_ASSIGN_OR_RETURN(rule.kind, KindOf(entry, where));
  BASALT_ASSIGN_OR_RETURN(rule.priority_class, TextOf(entry, where, "priorityClassName"));
  const json::value* const minimum = Find(entry, "minimum");
  if (minimum == nullptr) return rule;
  if (!minimum->is_array()) return Bad(FieldOf(where, "minimum"), "must be a list of paths");
  for (size_t i = 0; i < minimum->get_array().size(); ++i) {
    BASALT_ASSIGN_OR_RETURN(std::vector<std::string> path,
                            PathOf(minimum->get_array()[i], fmt::format("{}.minimum[{}]", where, i)));
    rule.minimum.push_back(std::move(path));
  }
  return rule;
}

absl::Status ReadDefaults(const json::value& entry, const std::string& where, RuleOptions& options) {
  BASALT_RETURN_IF_ERROR(CheckObject(entry, where, {"group", "kind", "priorityClassName", "preemptibility"}));
  BASALT_ASSIGN_OR_RETURN(const std::string group, TextOf(entry, where, "group"));
  BASALT_ASSIGN_OR_RETURN(const std::string kind, TextOf(entry, where, "kind"));
  if (kind.empty()) return Bad(FieldOf(where, "kind"), "is required");
  KindDefaults defaults;
  BASALT_ASSIGN_OR_RETURN(defaults.priority_class, TextOf(entry, where, "priorityClassName"));
  BASALT_ASSIGN_OR_RETURN(const std::string preemptibility, TextOf(entry, where, "preemptibility"));
  defaults.preemptibility = absl::AsciiStrToLower(preemptibility);
  if (!IsPreemptibility(defaults.preemptibility)) {
    return Bad(FieldOf(where, "preemptibility"),
               fmt::format("{} must be preemptible or non-preemptible", Excerpt(preemptibility)));
  }
  const std::string key = group.empty() ? kind : fmt::format("{}.{}", kind, group);
  if (!options.kind_defaults.emplace(key, std::move(defaults)).second) {
    return Bad(where, fmt::format("kind {} has defaults already", key));
  }
  return absl::OkStatus();
}

absl::Status ReadRule(const json::value& entry, const std::string& where, RuleOptions& options) {
  BASALT_ASSIGN_OR_RETURN(DeclaredRule rule, RuleOf(entry, where));
  const auto is_same = [&rule](const DeclaredRule& other) {
    return other.kind.group == rule.kind.group && other.kind.kind == rule.kind.kind &&
           other.kind.version == rule.kind.version;
  };
  if (std::any_of(options.rules.begin(), options.rules.end(), is_same)) {
    return Bad(where,
               fmt::format("kind {} of {}/{} has a rule already", rule.kind.kind, rule.kind.group, rule.kind.version));
  }
  options.rules.push_back(std::move(rule));
  return absl::OkStatus();
}

absl::Status ReadLookedThrough(const json::value& entry, const std::string& where, RuleOptions& options) {
  BASALT_RETURN_IF_ERROR(CheckObject(entry, where, {"group", "version", "kind"}));
  BASALT_ASSIGN_OR_RETURN(KindName kind, KindOf(entry, where));
  options.looked_through.push_back(std::move(kind));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<RuleOptions> ParseRuleConfig(std::string_view text) {
  BASALT_ASSIGN_OR_RETURN(const std::vector<json::value> documents, ParseYamlDocuments(text));
  RuleOptions options;
  if (documents.empty()) return options;
  if (documents.size() > 1) return Bad("the configuration", "must be one document");
  const json::value& config = documents.front();
  BASALT_RETURN_IF_ERROR(
      CheckObject(config, "",
                  {"queueLabel", "nodePoolLabel", "searchLegacyGroups", "knativeGangs", "followQueue", "jobPodsAlone",
                   "keepNamedGroups", "kartas", "kindDefaults", "rules", "lookThrough"}));
  BASALT_ASSIGN_OR_RETURN(const std::string queue_label, TextOf(config, "", "queueLabel"));
  if (!queue_label.empty()) options.queue_label = queue_label;
  BASALT_ASSIGN_OR_RETURN(const std::string node_pool_label, TextOf(config, "", "nodePoolLabel"));
  if (!node_pool_label.empty()) options.node_pool_label = node_pool_label;
  BASALT_ASSIGN_OR_RETURN(options.finds_legacy_groups,
                          BoolOf(config, "searchLegacyGroups", options.finds_legacy_groups));
  BASALT_ASSIGN_OR_RETURN(options.follows_queue, BoolOf(config, "followQueue", options.follows_queue));
  BASALT_ASSIGN_OR_RETURN(options.keeps_named_groups, BoolOf(config, "keepNamedGroups", options.keeps_named_groups));
  BASALT_ASSIGN_OR_RETURN(options.groups_job_pods_alone, BoolOf(config, "jobPodsAlone", options.groups_job_pods_alone));
  BASALT_ASSIGN_OR_RETURN(options.uses_kartas, BoolOf(config, "kartas", options.uses_kartas));
  BASALT_ASSIGN_OR_RETURN(options.gangs_knative_revisions,
                          BoolOf(config, "knativeGangs", options.gangs_knative_revisions));
  const auto with = [&options](auto read) {
    return [&options, read](const json::value& entry, const std::string& where) { return read(entry, where, options); };
  };
  BASALT_RETURN_IF_ERROR(ForEach(config, "kindDefaults", with(ReadDefaults)));
  BASALT_RETURN_IF_ERROR(ForEach(config, "rules", with(ReadRule)));
  BASALT_RETURN_IF_ERROR(ForEach(config, "lookThrough", with(ReadLookedThrough)));
  return options;
}

}  // namespace basalt::pgsvc
