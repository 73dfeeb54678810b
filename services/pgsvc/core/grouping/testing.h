#pragma once

// Grouping for tests: objects as manifests, and groups as one line of text.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "common/base/yaml.h"
#include "services/pgsvc/core/grouping/group_pod.h"
#include "services/pgsvc/core/grouping/object_set.h"

namespace basalt::pgsvc::testing {

inline std::string TextOf(const Minimum& minimum) {
  return minimum.of_sub_groups ? fmt::format("sub {}", minimum.count) : fmt::format("{}", minimum.count);
}

// Returns " @t/required/preferred", or nothing.
inline std::string TextOf(const Topology& topology) {
  return topology == Topology() ? "" : fmt::format(" @{}/{}/{}", topology.name, topology.required, topology.preferred);
}

// Returns "worker-0{worker, 2}".
inline std::string TextOf(const SubGroup& sub_group) {
  return fmt::format("{}{{{}{}{}{}}}", sub_group.name, sub_group.parent, sub_group.parent.empty() ? "" : ", ",
                     TextOf(sub_group.minimum), TextOf(sub_group.topology));
}

// Returns "pg-j-U 2: master{1} worker{sub 2}; in master".
inline std::string TextOf(const Grouping& grouping) {
  std::string text = fmt::format("{} {}{}", grouping.name, TextOf(grouping.minimum), TextOf(grouping.topology));
  if (!grouping.sub_groups.empty()) text += ":";
  for (const SubGroup& sub_group : grouping.sub_groups) text += " " + TextOf(sub_group);
  if (!grouping.pod_sub_group.empty()) text += "; in " + grouping.pod_sub_group;
  return text;
}

class Objects {
 public:
  // Takes documents of YAML, which may lack UIDs: that of a named owner is "<kind>-<name>", with the kind in lower
  // case.
  explicit Objects(std::string_view manifests) {
    const auto documents = ParseYamlDocuments(manifests);
    EXPECT_TRUE(documents.ok()) << documents.status() << "\n" << manifests;
    if (!documents.ok()) return;
    for (const json::value& document : *documents) {
      if (document.is_null()) continue;
      const absl::Status added = set_.Add(document);
      EXPECT_TRUE(added.ok()) << added;
    }
    set_.CompleteUids();
  }

  // Groups the first pod, or the pod of that name.
  absl::StatusOr<PodGrouping> Group(std::string_view pod_name = "") const {
    for (const ObjectView pod : set_.pods()) {
      if (!pod_name.empty() && pod.name() != pod_name) continue;
      const auto owners = set_.OwnersOf(pod);
      if (!owners.ok()) return owners.status();
      StepBudget budget;
      return GroupPodByRules(pod, *owners, set_, options, budget);
    }
    return absl::NotFoundError("there is no such pod");
  }
  Grouping Of(std::string_view pod_name = "") const {
    const absl::StatusOr<PodGrouping> grouped = Group(pod_name);
    EXPECT_TRUE(grouped.ok()) << grouped.status();
    return grouped.ok() ? grouped->grouping : Grouping();
  }
  // Returns the group, or the message of the error.
  std::string Text(std::string_view pod_name = "") const {
    const absl::StatusOr<PodGrouping> grouped = Group(pod_name);
    if (!grouped.ok()) return "error: " + std::string(grouped.status().message());
    switch (grouped->verdict) {
      case PodGrouping::Verdict::kOptedOut:
        return "opted out by " + grouped->decided_by;
      case PodGrouping::Verdict::kAssigned:
        return "assigned";
      case PodGrouping::Verdict::kGrouped:
        break;
    }
    return TextOf(grouped->grouping);
  }

  RuleOptions options;

 private:
  ObjectSet set_;
};

// Returns a pod of that owner. `more` are further lines of its metadata, indented by two.
inline std::string PodOf(std::string_view name, std::string_view api_version, std::string_view kind,
                         std::string_view owner, std::string_view more = "") {
  return fmt::format(
      "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\n  uid: {}-uid\n  ownerReferences:\n"
      "  - {{apiVersion: {}, kind: {}, name: {}, uid: {}-{}, controller: true}}\n{}",
      name, name, api_version, kind, owner, absl::AsciiStrToLower(std::string(kind)), owner, more);
}

// Returns any other object. `more` are further lines of its metadata, indented by two, and then its other members.
inline std::string ObjectOf(std::string_view api_version, std::string_view kind, std::string_view name,
                            std::string_view more = "") {
  return fmt::format("---\napiVersion: {}\nkind: {}\nmetadata:\n  name: {}\n{}", api_version, kind, name, more);
}

// Returns the line of metadata that names the one owner of an object.
inline std::string OwnedBy(std::string_view api_version, std::string_view kind, std::string_view name) {
  return fmt::format("  ownerReferences: [{{apiVersion: {}, kind: {}, name: {}, uid: {}-{}, controller: true}}]\n",
                     api_version, kind, name, absl::AsciiStrToLower(std::string(kind)), name);
}

}  // namespace basalt::pgsvc::testing
