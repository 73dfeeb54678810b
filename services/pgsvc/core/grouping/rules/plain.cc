// Kinds whose groups differ from those of the default rule in a field or two.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "services/pgsvc/core/grouping/group_name.h"
#include "services/pgsvc/core/grouping/inheritance.h"
#include "services/pgsvc/core/grouping/minimum.h"
#include "services/pgsvc/core/grouping/rules/rules.h"

namespace basalt::pgsvc {

namespace {

// This label marks a pod of a Spark application.
constexpr std::string_view kSparkApplicationName = "spark-app-name";
// This label of a pod of a Spark application has the id of the application, which names the group.
constexpr std::string_view kSparkSelector = "spark-app-selector";

}  // namespace

absl::StatusOr<Grouping> GroupByDeclaredRule(const RuleInput& input, const DeclaredRule& rule) {
  Grouping grouping =
      InheritFromTop(input, rule.priority_class.empty() ? kTrain : std::string_view(rule.priority_class));
  for (const std::vector<std::string>& path : rule.minimum) {
    BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> minimum, input.top.IntAt(path));
    if (!minimum || *minimum <= 0) continue;
    grouping.minimum = {.count = *minimum};
    grouping.sources["minMember"] =
        fmt::format("{} of {}", fmt::join(path.begin(), path.end(), "."), input.top.Described());
    break;
  }
  return grouping;
}

absl::StatusOr<Grouping> GroupByDefault(const RuleInput& input) { return DefaultGrouping(input); }
absl::StatusOr<Grouping> GroupByDefaultAsBuild(const RuleInput& input) { return InheritFromTop(input, kBuild); }
absl::StatusOr<Grouping> GroupByDefaultAsInference(const RuleInput& input) { return InheritFromTop(input, kInference); }

// Driver and executors of a Spark application share the group that their selector names.
absl::StatusOr<Grouping> GroupPod(const RuleInput& input) {
  Grouping grouping = InheritFromTop(input);
  const json::string* const selector = input.pod.Label(kSparkSelector);
  if (selector != nullptr && !selector->empty() && input.pod.Label(kSparkApplicationName) != nullptr)
    grouping.name = GroupNameOf(*selector);
  return grouping;
}

// Pods that are made one after the other, each once the one before is ready, cannot be a gang.
absl::StatusOr<Grouping> GroupStatefulSet(const RuleInput& input) {
  Grouping grouping = DefaultGrouping(input);
  const ObjectView set = input.top;
  const json::string* const text = set.Annotation(kShortMinMemberAnnotation);
  if (text == nullptr) return grouping;
  const std::string where = fmt::format("{}: annotation {}", set.Described(), kShortMinMemberAnnotation);
  if (set.TextAt({"spec", "podManagementPolicy"}) != "Parallel") {
    grouping.warnings.push_back(where + ": needs spec.podManagementPolicy Parallel, else pods are made one by one");
    return grouping;
  }
  BASALT_ASSIGN_OR_RETURN(const int32_t wanted, MinimumOf(set.Described(), kShortMinMemberAnnotation, *text, 1));
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> replicas, set.IntAt({"spec", "replicas"}));
  grouping.minimum.count = Capped(wanted, std::max(replicas.value_or(1), 0), where, grouping.warnings);
  grouping.sources["minMember"] = fmt::format("annotation {} of {}", kShortMinMemberAnnotation, set.Described());
  return grouping;
}

absl::StatusOr<Grouping> GroupDeployment(const RuleInput& input) {
  Grouping grouping = InheritFromTop(input, kInference);
  if (const MinimumAnnotation asked = MinimumAnnotationOf(input.top); asked.text != nullptr) {
    grouping.warnings.push_back(fmt::format("{}: annotation {}: does nothing, as each pod of a Deployment is a group",
                                            input.top.Described(), asked.key));
  }
  grouping.name = DefaultNameOf(input.pod);
  grouping.owner = OwnerOf(input.pod);
  return grouping;
}

absl::StatusOr<Grouping> GroupAmlJob(const RuleInput& input) {
  Grouping grouping = InheritFromTop(input);
  BASALT_ASSIGN_OR_RETURN(const std::optional<int32_t> nodes,
                          input.top.IntAt({"spec", "job", "options", "envs", "AZUREML_NODE_COUNT"}));
  if (!nodes || *nodes < 0) {
    return Invalid(fmt::format("{}: spec.job.options.envs.AZUREML_NODE_COUNT: must be an integer of at least 0",
                               input.top.Described()));
  }
  grouping.minimum = {.count = *nodes};
  return grouping;
}

}  // namespace basalt::pgsvc
