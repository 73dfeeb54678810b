#include "services/pgsvc/core/grouping/owner_walk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "services/pgsvc/core/grouping/testing.h"

namespace basalt::pgsvc::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Returns a reference to the Foo of that name and UID.
std::string Reference(std::string_view name, std::string_view uid, std::string_view more = "") {
  return fmt::format("{{apiVersion: example.com/v1, kind: Foo, name: {}, uid: {}{}}}", name, uid, more);
}
std::string Foo(std::string_view name, std::string_view references = "") {
  return fmt::format(
      "---\napiVersion: example.com/v1\nkind: Foo\nmetadata: {{name: {}, uid: foo-{}, ownerReferences: [{}]}}\n", name,
      name, references);
}
std::string Pod(std::string_view references) {
  return fmt::format("---\napiVersion: v1\nkind: Pod\nmetadata: {{name: p, ownerReferences: [{}]}}\n", references);
}
std::string Controller(std::string_view name) {
  return Reference(name, fmt::format("foo-{}", name), ", controller: true");
}
std::string Plain(std::string_view name) { return Reference(name, fmt::format("foo-{}", name)); }

// Returns the names from the direct owner up, or the error. An owner whose name begins with "secret" may not be read.
std::string Walk(const std::string& manifests) {
  const auto documents = ParseYamlDocuments(manifests);
  EXPECT_TRUE(documents.ok()) << documents.status();
  if (!documents.ok()) return {};
  ObjectSet set;
  for (const json::value& document : *documents) EXPECT_TRUE(set.Add(document).ok());
  const auto find = [&set](const OwnerReference& reference, std::string_view ns) -> absl::StatusOr<ObjectView> {
    if (reference.name.starts_with("secret")) return absl::PermissionDeniedError("forbidden");
    const ObjectView found = set.Find("example.com/v1", reference.kind, ns, reference.name);
    if (found.empty()) return absl::NotFoundError(fmt::format("{} is missing", reference.name));
    return found;
  };
  const auto owners = OwnersOf(set.pods().front(), find);
  if (!owners.ok()) return std::string(owners.status().ToString());
  std::string text;
  for (const ObjectView owner : *owners) text += (text.empty() ? "" : " ") + std::string(owner.name());
  return text;
}

TEST(OwnerWalkTest, AnOwnerWantsNoPodsWhereItSaysSo) {
  struct Case {
    const char* owner;
    bool wants_none;
  };
  const Case cases[] = {
      {"{kind: Job, spec: {}}", false},
      {"{kind: Job, spec: {parallelism: 2, suspend: false}}", false},
      {"{kind: Job, spec: {parallelism: 0}}", true},
      {"{kind: Job, spec: {parallelism: 2, suspend: true}}", true},
      {"{kind: StatefulSet, spec: {replicas: 0}}", true},
      {"{kind: StatefulSet, spec: {replicas: 1}}", false},
      {"{kind: StatefulSet, spec: {replicas: none}}", false},
      {"{kind: PyTorchJob, spec: {runPolicy: {suspend: true}}}", true},
      {"{kind: CronJob, spec: {suspend: true}}", false},
      {"{kind: ScheduledSparkApplication, spec: {suspend: true}}", false},
      {"{kind: ConfigMap}", false},
  };
  for (const Case& test : cases) {
    const json::value owner = ParseYamlDocuments(test.owner)->front();
    EXPECT_EQ(WantsNoPods(ObjectView(owner)), test.wants_none) << test.owner;
  }
}

TEST(OwnerWalkTest, TheOwnersAreThoseFromTheDirectOneUp) {
  struct Case {
    const char* what;
    std::string manifests;
    const char* expected;
  };
  const Case cases[] = {
      {"nobody owns the pod", Pod(""), ""},
      {"one owner", Pod(Controller("a")) + Foo("a"), "a"},
      {"a chain", Pod(Controller("a")) + Foo("a", Controller("b")) + Foo("b", Plain("c")) + Foo("c"), "a b c"},
      {"the controller of several owners (G7)", Pod(Plain("a") + ", " + Controller("b")) + Foo("a") + Foo("b"), "b"},
      {"the first of several owners without a controller", Pod(Plain("a") + ", " + Plain("b")) + Foo("a") + Foo("b"),
       "a"},
      {"several owners of an owner (G7)",
       Pod(Plain("a")) + Foo("a", Plain("b") + ", " + Controller("c")) + Foo("b") + Foo("c"), "a c"},
      {"an owner beside the controller may be missing", Pod(Plain("gone") + ", " + Controller("b")) + Foo("b"), "b"},
      {"a reference that says it is none",
       Pod(Reference("a", "foo-a", ", controller: false") + ", " + Controller("b")) + Foo("a") + Foo("b"), "b"},
      {"nobody may look at the direct owner", Pod(Controller("secret")), ""},
      {"nobody may look further up", Pod(Controller("a")) + Foo("a", Controller("secret")), "a"},
      {"an entry that is no object", Pod("3, " + Plain("a")) + Foo("a"), "a"},
  };
  for (const Case& test : cases) EXPECT_EQ(Walk(test.manifests), test.expected) << test.what;
}

TEST(OwnerWalkTest, AnOwnerThatIsMissingOrHasAnotherUidIsAnError) {
  EXPECT_THAT(Walk(Pod(Controller("a"))), AllOf(HasSubstr("NOT_FOUND"), HasSubstr("a is missing")));
  EXPECT_THAT(Walk(Pod(Controller("a")) + Foo("a", Controller("b"))),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("b is missing")));
  EXPECT_THAT(Walk(Pod(Reference("a", "older")) + Foo("a")),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("Foo default/a"), HasSubstr("older")));
  EXPECT_THAT(Walk(Pod(Controller("a")) + Foo("a", Reference("b", "older")) + Foo("b")),
              AllOf(HasSubstr("NOT_FOUND"), HasSubstr("Foo default/b"), HasSubstr("older")));
}

TEST(OwnerWalkTest, OwnersThatLeadBackAreAnError) {
  const std::string cycles[] = {
      Pod(Controller("a")) + Foo("a", Controller("a")),
      Pod(Controller("a")) + Foo("a", Controller("b")) + Foo("b", Controller("a")),
      Pod(Controller("a")) + Foo("a", Controller("b")) + Foo("b", Controller("c")) + Foo("c", Controller("b")),
  };
  for (const std::string& cycle : cycles) {
    EXPECT_THAT(Walk(cycle), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("Pod default/p"), HasSubstr("lead back")));
  }
}

// Returns a pod below `count` owners, with f1 directly above it.
std::string ChainOf(size_t count) {
  std::string manifests = Pod(Controller("f1"));
  for (size_t i = 1; i <= count; ++i) {
    manifests += Foo(fmt::format("f{}", i), i == count ? "" : Controller(fmt::format("f{}", i + 1)));
  }
  return manifests;
}

TEST(OwnerWalkTest, AChainEndsAtSixtyFourOwners) {
  EXPECT_THAT(Walk(ChainOf(63)), ::testing::EndsWith(" f63"));
  EXPECT_THAT(Walk(ChainOf(64)), ::testing::EndsWith(" f64"));
  EXPECT_THAT(Walk(ChainOf(65)), AllOf(HasSubstr("INVALID_ARGUMENT"), HasSubstr("64 owners")));
}

TEST(OwnerWalkTest, APodWhoseOwnersNobodyMayLookAtIsGroupedByItself) {
  const auto documents = ParseYamlDocuments(PodOf("p", "apps/v1", "DaemonSet", "d"));
  ASSERT_TRUE(documents.ok()) << documents.status();
  StepBudget budget;
  const auto grouped = GroupPodByRules(ObjectView(documents->front()), {}, ObjectSet(), RuleOptions(), budget);
  ASSERT_TRUE(grouped.ok()) << grouped.status();
  EXPECT_EQ(TextOf(grouped->grouping), "pg-p-p-uid 1");
  EXPECT_EQ(grouped->grouping.owner, (GroupOwner{"v1", "Pod", "p", "p-uid"}));
}

TEST(OwnerWalkTest, AnOwnerThatIsMissingLeavesThePodWithoutAGroup) {
  const absl::StatusOr<PodGrouping> grouped = Objects(PodOf("p", "apps/v1", "DaemonSet", "d")).Group();
  EXPECT_TRUE(absl::IsNotFound(grouped.status())) << grouped.status();
  EXPECT_THAT(std::string(grouped.status().message()), HasSubstr("DaemonSet default/d"));
}

}  // namespace
}  // namespace basalt::pgsvc::testing
