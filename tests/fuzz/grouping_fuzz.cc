// Target: manifests of pods, their owners and Kartas, grouped for either scheduler. Each pod has at most one group,
// which does not depend on the order of the objects.
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "common/base/json.h"
#include "common/base/yaml.h"
#include "services/pgsvc/api/try_grouping.h"
#include "tests/fuzz/input.h"

namespace basalt {
namespace {

using fuzz::Require;
using podgroup::v1::TriedGroup;
using podgroup::v1::TriedPod;
using podgroup::v1::TryGroupingRequest;
using podgroup::v1::TryGroupingResponse;

std::string NameOf(const std::string& ns, const std::string& name) { return ns + "/" + name; }

void CheckGroup(const TriedGroup& group, TryGroupingRequest::Form form) {
  const absl::StatusOr<json::value> manifest = ParseJson(group.manifest());
  Require(manifest.ok(), "a group is JSON");
  const json::value* const metadata = Find(*manifest, "metadata");
  Require(metadata != nullptr && FindString(*metadata, "name") == group.name(), "a group has its name");
  const json::value* const spec = Find(*manifest, "spec");
  Require(spec != nullptr, "a group has a spec");
  const bool is_of_pods = Find(*spec, "minMember") != nullptr;
  const bool is_of_sub_groups = Find(*spec, "minSubGroup") != nullptr;
  Require(form == TryGroupingRequest::FORM_VOLCANO || is_of_pods != is_of_sub_groups,
          "a group of KAI's has a minimum of pods or of subgroups");
  Require(FindInt(*spec, "minMember") >= 0 && FindInt(*spec, "minSubGroup") >= 0, "no minimum is below 0");
  const json::value* const sub_groups = Find(*spec, "subGroups");
  if (sub_groups == nullptr) return;
  std::set<std::string_view> names;
  for (const json::value& sub_group : sub_groups->as_array()) {
    const std::string_view parent = FindString(sub_group, "parent");
    Require(parent.empty() || names.contains(parent), "a parent stands before the subgroups below the parent");
    Require(names.insert(FindString(sub_group, "name")).second, "two subgroups have different names");
  }
}

void Check(const TryGroupingResponse& response, TryGroupingRequest::Form form) {
  std::set<std::string> wanted;
  std::set<std::string> pods;
  for (const TriedPod& pod : response.pods()) {
    Require(pods.insert(NameOf(pod.namespace_(), pod.name())).second, "a pod is grouped once");
    const bool is_grouped = pod.verdict() == TriedPod::VERDICT_GROUPED;
    Require(is_grouped != pod.group().empty() || pod.verdict() == TriedPod::VERDICT_ASSIGNED,
            "a grouped pod has a group");
    Require(pod.error().empty() == (pod.verdict() != TriedPod::VERDICT_FAILED), "a pod that has failed says why");
    if (is_grouped) wanted.insert(NameOf(pod.namespace_(), pod.group()));
  }
  std::set<std::string> made;
  for (const TriedGroup& group : response.groups()) {
    Require(made.insert(NameOf(group.namespace_(), group.name())).second, "a group is made once");
    CheckGroup(group, form);
  }
  Require(wanted == made, "the groups are those of the pods");
}

// Gives an object without a UID one. TryGrouping would take the UID of the first reference to the object, which depends
// on the order.
json::value WithUid(json::value object) {
  if (!object.is_object()) return object;
  json::object& metadata = ObjectIn(object.as_object(), "metadata");
  if (FindString(metadata, "uid").empty()) metadata["uid"] = ToText(metadata);
  return object;
}

// Returns the groups by their names, so that they can be compared whatever their order is.
std::map<std::string, std::string> GroupsOf(const TryGroupingResponse& response) {
  std::map<std::string, std::string> groups;
  for (const TriedGroup& group : response.groups()) {
    groups[NameOf(group.namespace_(), group.name())] = group.SerializeAsString();
  }
  return groups;
}

}  // namespace
}  // namespace basalt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace basalt;  // NOLINT: one function.
  const auto documents = ParseYamlDocuments(fuzz::TextOf(data, size));
  if (!documents.ok()) return 0;
  TryGroupingRequest request;
  TryGroupingRequest ordered;
  for (const json::value& document : *documents) {
    request.add_objects(ToText(document));
    ordered.add_objects(ToText(WithUid(document)));
  }
  TryGroupingRequest reversed = ordered;
  absl::c_reverse(*reversed.mutable_objects());
  for (const auto form : {TryGroupingRequest::FORM_KAI, TryGroupingRequest::FORM_VOLCANO}) {
    for (TryGroupingRequest* each : {&request, &ordered, &reversed}) each->set_form(form);
    const auto response = pgsvc::TryGrouping(request, {});
    if (response.ok()) Check(*response, form);
    const auto one = pgsvc::TryGrouping(ordered, {});
    const auto other = pgsvc::TryGrouping(reversed, {});
    Require(one.ok() == other.ok(), "objects are grouped in whichever order they come");
    if (one.ok()) {
      Require(GroupsOf(*one) == GroupsOf(*other), "groups are the same in whichever order the objects come");
    }
  }
  return 0;
}
