// The groups of manifests: of the examples of docs/pod-groups, and of three for each kind in testing/shapes. The
// minimal one contains what a user of the kind must write, the full one everything that the kind's rule reads, and the
// odd one what is easily got wrong. The groups that the rules make of the pods are stored beside each manifest.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/base/yaml.h"
#include "common/testing/status_matchers.h"
#include "services/pgsvc/api/try_grouping.h"
#include "services/pgsvc/core/grouping/rule_table.h"
#include "services/pgsvc/testing/manifests.h"

namespace basalt::pgsvc {
namespace {

using basalt::testing::IsOk;
using podgroup::v1::TriedPod;
using podgroup::v1::TryGroupingRequest;
using podgroup::v1::TryGroupingResponse;
using ::testing::IsEmpty;

std::vector<json::value> ObjectsOf(const std::string& path) {
  const auto documents = ParseYamlDocuments(ReadFile(path + ".yaml"));
  EXPECT_THAT(documents, IsOk()) << path;
  return documents.ok() ? *documents : std::vector<json::value>();
}

TryGroupingResponse Try(const std::string& path) {
  TryGroupingRequest request;
  for (const json::value& object : ObjectsOf(path)) request.add_objects(ToText(object));
  const auto response = TryGrouping(request, {});
  EXPECT_THAT(response, IsOk()) << path;
  return response.ok() ? *response : TryGroupingResponse();
}

std::string GroupsIn(const TryGroupingResponse& response) {
  std::string groups;
  for (const auto& group : response.groups()) groups += "---\n" + ToYaml(*ParseJson(group.manifest()));
  return groups;
}

// Returns, as comments, the group of each pod and the warnings for people.
std::string RemarksOn(const TryGroupingResponse& response) {
  std::string remarks;
  for (const TriedPod& pod : response.pods()) {
    remarks += fmt::format("# {}: ", pod.name());
    if (pod.verdict() == TriedPod::VERDICT_GROUPED) {
      remarks += pod.group() + (pod.sub_group().empty() ? "" : ", subgroup " + pod.sub_group()) + ", ";
    }
    remarks += pod.verdict() == TriedPod::VERDICT_OPTED_OUT ? "left to somebody else, " : "";
    remarks += pod.error().empty() ? "by " + pod.decided_by() : "no group: " + pod.error();
    remarks += "\n";
  }
  for (const auto& group : response.groups()) {
    for (const std::string& warning : group.warnings()) remarks += fmt::format("# warning: {}\n", warning);
  }
  return remarks;
}

std::string NameOf(const ::testing::TestParamInfo<std::string>& manifest) {
  std::string name = manifest.param;
  std::replace(name.begin(), name.end(), '/', '_');
  return name;
}

class GroupingExampleTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GroupingExampleTest, BecomesTheGroupsBesideIt) {
  const TryGroupingResponse response = Try(kExamples + GetParam());
  for (const TriedPod& pod : response.pods()) EXPECT_EQ(pod.error(), "") << pod.name();
  EXPECT_EQ(GroupsIn(response), ReadFile(kExamples + GetParam() + ".group.yaml"));
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, GroupingExampleTest, ::testing::ValuesIn(ManifestsIn(kExamples)), NameOf);

class GroupingShapeTest : public ::testing::TestWithParam<std::string> {};

TEST_P(GroupingShapeTest, BecomesTheGroupsBesideIt) {
  const TryGroupingResponse response = Try(kShapes + GetParam());
  EXPECT_GT(response.pods_size(), 0);
  EXPECT_EQ(RemarksOn(response) + GroupsIn(response), ReadFile(kShapes + GetParam() + ".group.yaml"));
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, GroupingShapeTest, ::testing::ValuesIn(ManifestsIn(kShapes)), NameOf);

TEST(GroupingManifestsTest, ThereAreSomeOfEach) { EXPECT_GE(ManifestsIn(kExamples).size(), 17U); }

TEST(GroupingManifestsTest, EachKindHasThreeShapes) {
  std::map<std::string, std::set<std::string>> shapes;
  std::set<std::string> shown;  // Kinds.
  for (const std::string& name : ManifestsIn(kShapes)) {
    const size_t slash = name.find('/');
    ASSERT_NE(slash, std::string::npos) << name;
    shapes[name.substr(0, slash)].insert(name.substr(slash + 1));
    for (const json::value& object : ObjectsOf(kShapes + name)) shown.emplace(FindString(object, "kind"));
  }
  for (const auto& [kind, its] : shapes) EXPECT_EQ(its, (std::set<std::string>{"full", "minimal", "odd"})) << kind;
  std::vector<std::string> missing;
  for (const Rule& rule : AllRules()) {
    if (!shown.contains(std::string(rule.kind))) missing.emplace_back(rule.kind);
  }
  for (const LookThrough& row : AllLookThrough()) {
    if (!shown.contains(std::string(row.kind))) missing.emplace_back(row.kind);
  }
  EXPECT_THAT(missing, IsEmpty());
}

}  // namespace
}  // namespace basalt::pgsvc
