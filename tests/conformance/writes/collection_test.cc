// Deletions of collections: the objects that a selector chooses, and the effect on each object.
#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

class DeleteCollectionConformance : public WriteConformance {};

TEST_F(DeleteCollectionConformance, DeletesWhatALabelChooses) {
  MakeConfig("a", R"({"x":"1"})");
  MakeConfig("b", R"({"x":"2"})");
  MakeConfig("c", R"({"x":"1"})");
  const Answer gone = Delete(Configs() + "?labelSelector=x%3D1");
  EXPECT_EQ(gone.status, 200) << gone;
  EXPECT_TRUE(Has(gone.json, "{kind: ConfigMapList, apiVersion: v1}")) << gone;
  EXPECT_EQ(gone.Names(), "a c");
  EXPECT_EQ(Get(Configs("a")).status, 404);
  EXPECT_EQ(Get(Configs("b")).status, 200);
}

TEST_F(DeleteCollectionConformance, DeletesAllOfTheNamespaceAndNoOther) {
  MakeWidget("a");
  MakeWidget("b");
  const std::string other = MakeNamespace();
  const std::string elsewhere = fmt::format("/apis/{}/namespaces/{}/widgets", kVersion, other);
  Post(elsewhere, WidgetBody("a"));
  EXPECT_EQ(Delete(Widgets()).status, 200);
  EXPECT_EQ(Get(Widgets()).Names(), "");
  EXPECT_EQ(Get(elsewhere).Names(), "a");
}

TEST_F(DeleteCollectionConformance, TheListOfACustomKindIsAnswered) {
  MakeWidget("a");
  const Answer gone = Delete(Widgets());
  EXPECT_TRUE(Has(gone.json, "{kind: WidgetList, apiVersion: conformance.example.com/v1}")) << gone;
  EXPECT_EQ(gone.Names(), "a");
}

TEST_F(DeleteCollectionConformance, AnEmptyChoiceIsNoError) {
  const Answer gone = Delete(Configs() + "?labelSelector=none%3Dhere");
  EXPECT_EQ(gone.status, 200) << gone;
  EXPECT_EQ(gone.Names(), "");
}

TEST_F(DeleteCollectionConformance, AFieldChoosesPodsByPhase) {
  for (const char* name : {"a", "b", "c"}) MakePod(name);
  Patch(Pods("b") + "/status", kMerge, J("status: {phase: Succeeded}"));
  Patch(Pods("c") + "/status", kMerge, J("status: {phase: Failed}"));
  const Answer gone = Delete(Pods() + Query({{"fieldSelector", "status.phase!=Succeeded,status.phase!=Failed"}}));
  EXPECT_EQ(gone.Names(), "a") << gone;
  EXPECT_EQ(Get(Pods()).Names(), "b c");
}

TEST_F(DeleteCollectionConformance, AFieldAndALabelChooseTogether) {
  MakePod("a", R"({"x":"1"})");
  MakePod("b", R"({"x":"2"})");
  MakePod("c", R"({"x":"1"})");
  Delete(Pods() + Query({{"labelSelector", "x=1"}, {"fieldSelector", "metadata.name!=c"}}));
  EXPECT_EQ(Get(Pods()).Names(), "b c");
}

TEST_F(DeleteCollectionConformance, AWrongSelectorIsABadRequest) {
  EXPECT_EQ(Delete(Configs() + "?labelSelector=a%3D%3D%3Db").status, 400);
  EXPECT_EQ(Delete(Configs() + "?fieldSelector=data.k%3Dv").status, 400);
}

TEST_F(DeleteCollectionConformance, ScheduledPodsGetTheirGrace) {
  MakePod("a", "{}", R"(,"nodeName":"somewhere")");
  MakePod("b");
  const Answer gone = Delete(Pods() + "?gracePeriodSeconds=9");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(Get(Pods()).Names(), "a");
  EXPECT_TRUE(Has(Get(Pods("a")).json, "metadata: {deletionGracePeriodSeconds: 9}"));
}

TEST_F(DeleteCollectionConformance, NoGraceDeletesScheduledPodsAtOnce) {
  MakePod("a", "{}", R"(,"nodeName":"somewhere")");
  Delete(Pods(), J("gracePeriodSeconds: 0"));
  EXPECT_EQ(Get(Pods()).Names(), "");
}

TEST_F(DeleteCollectionConformance, APodUnderDeletionIsHurried) {
  MakePod("a", "{}", R"(,"nodeName":"somewhere")");
  Delete(Pods("a"));
  Delete(Pods() + "?gracePeriodSeconds=3");
  EXPECT_TRUE(Has(Get(Pods("a")).json, "metadata: {deletionGracePeriodSeconds: 3}"));
}

TEST_F(DeleteCollectionConformance, FinalizersHold) {
  MakeWidget("a", "", "finalizers: [example.com/hold]");
  MakeWidget("b");
  const Answer gone = Delete(Widgets());
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.Names(), "a b");
  EXPECT_EQ(Get(Widgets()).Names(), "a");
  EXPECT_TRUE(Has(Get(Widgets("a")).json, R"(metadata: {deletionTimestamp: "*"})"));
  Patch(Widgets("a"), kMerge, J("metadata: {finalizers: null}"));
}

TEST_F(DeleteCollectionConformance, ADryRunDeletesNothing) {
  MakeConfig("a");
  EXPECT_EQ(Delete(Configs() + "?dryRun=All").status, 200);
  EXPECT_EQ(Get(Configs("a")).status, 200);
}

TEST_F(DeleteCollectionConformance, AnIdentityIsAPreconditionOfEach) {
  MakeConfig("a", R"({"x":"1"})");
  const Answer gone = Delete(Configs() + "?labelSelector=x%3D1", J("preconditions: {uid: other}"));
  EXPECT_EQ(gone.status, 409) << gone;
  EXPECT_EQ(Get(Configs("a")).status, 200);
}

TEST_F(DeleteCollectionConformance, PropagationHoldsForEach) {
  MakeWidget("a");
  Delete(Widgets() + "?propagationPolicy=Orphan");
  EXPECT_TRUE(Eventually([&] { return Get(Widgets("a")).status == 404; }, absl::Seconds(60))) << Get(Widgets("a"));
}

TEST_F(DeleteCollectionConformance, ManyAreDeleted) {
  constexpr int kMany = 250;
  for (int i = 0; i < kMany; ++i) MakeConfig(fmt::format("c{:03}", i), R"({"x":"1"})");
  const Answer gone = Delete(Configs() + "?labelSelector=x%3D1");
  EXPECT_EQ(gone.Items().size(), kMany);
  EXPECT_EQ(Get(Configs() + "?labelSelector=x%3D1").Names(), "");
}

TEST_F(DeleteCollectionConformance, NoCollectionOfAllNamespacesIsDeleted) {
  EXPECT_EQ(Delete("/api/v1/configmaps").status, 405);
}

}  // namespace
}  // namespace basalt::conformance
