// Owner references: objects that are deleted with their owner, objects that wait for it, and objects that an owner
// waits for.
#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

class GarbageConformance : public WriteConformance {
 protected:
  static constexpr absl::Duration kCollected = absl::Seconds(60);

  static std::string Owner(std::string_view kind, std::string_view name, std::string_view uid,
                           std::string_view more = "") {
    const bool custom = kind == "Widget" || kind == "Crate";
    return fmt::format("{{apiVersion: {}, kind: {}, name: {}, uid: {}{}}}", custom ? kVersion : "v1", kind, name, uid,
                       more);
  }
  void MakeOwned(std::string_view name, std::string_view owners, std::string_view more = "") {
    const Answer made =
        Post(Configs(), Body("ConfigMap", name, "", fmt::format("ownerReferences: [{}]{}", owners, more)));
    EXPECT_EQ(made.status, 201) << made;
  }
  bool Becomes(std::string_view config, std::string_view shape) {
    return Eventually([&] { return bool(Has(Get(Configs(config)).json, shape)); }, kCollected);
  }
  bool Goes(const std::string& target) {
    return Eventually([&] { return Get(target).status == 404; }, kCollected);
  }
  // Waits until the collector has done a later deletion, and so has examined every earlier object.
  void AwaitCollector() {
    const Answer owner = MakeConfig("last-owner");
    MakeOwned("last", Owner("ConfigMap", "last-owner", owner.uid()));
    Delete(Configs("last-owner"));
    EXPECT_TRUE(Goes(Configs("last")));
  }
};

TEST_F(GarbageConformance, AnOwnedObjectGoesAfterItsOwner) {
  const Answer owner = MakeConfig("owner");
  MakeOwned("owned", Owner("ConfigMap", "owner", owner.uid()));
  EXPECT_EQ(Delete(Configs("owner")).status, 200);
  EXPECT_EQ(Get(Configs("owner")).status, 404);
  EXPECT_TRUE(Goes(Configs("owned")));
}

TEST_F(GarbageConformance, ACustomOwnerTakesItsPodsAlong) {
  const Answer owner = MakeWidget("owner");
  const Answer pod = Post(
      Pods(), Body("Pod", "a", "spec: {containers: [{name: c, image: i}]}",
                   fmt::format("ownerReferences: [{}]", Owner("Widget", "owner", owner.uid(), ", controller: true"))));
  ASSERT_EQ(pod.status, 201) << pod;
  Delete(Widgets("owner"), J("propagationPolicy: Background"));
  EXPECT_TRUE(Goes(Pods("a")));
}

TEST_F(GarbageConformance, AChainGoes) {
  const Answer first = MakeConfig("first");
  MakeOwned("second", Owner("ConfigMap", "first", first.uid()));
  MakeOwned("third", Owner("ConfigMap", "second", Get(Configs("second")).uid()));
  Delete(Configs("first"));
  EXPECT_TRUE(Goes(Configs("third")));
}

TEST_F(GarbageConformance, AnOwnerInTheForegroundWaitsForWhatBlocksIt) {
  const Answer owner = MakeWidget("owner");
  MakeOwned("owned", Owner("Widget", "owner", owner.uid(), ", blockOwnerDeletion: true"),
            ", finalizers: [example.com/hold]");
  const Answer gone = Delete(Widgets("owner") + "?propagationPolicy=Foreground");
  EXPECT_TRUE(Has(gone.json, R"({kind: Widget, metadata: {deletionTimestamp: "*", finalizers: [foregroundDeletion]}})"))
      << gone;
  EXPECT_TRUE(Becomes("owned", "metadata: {deletionTimestamp: '*'}"));
  EXPECT_EQ(Get(Widgets("owner")).status, 200);
  Patch(Configs("owned"), kMerge, J("metadata: {finalizers: null}"));
  EXPECT_TRUE(Goes(Widgets("owner")));
}

TEST_F(GarbageConformance, AnOwnerInTheForegroundDoesNotWaitForWhatDoesNotBlockIt) {
  const Answer owner = MakeWidget("owner");
  MakeOwned("owned", Owner("Widget", "owner", owner.uid()), ", finalizers: [example.com/hold]");
  Delete(Widgets("owner") + "?propagationPolicy=Foreground");
  EXPECT_TRUE(Goes(Widgets("owner")));
  EXPECT_TRUE(Becomes("owned", "metadata: {deletionTimestamp: '*'}"));
  Patch(Configs("owned"), kMerge, J("metadata: {finalizers: null}"));
}

TEST_F(GarbageConformance, OrphansLoseTheirOwner) {
  const Answer owner = MakeWidget("owner");
  MakeOwned("owned", Owner("Widget", "owner", owner.uid()));
  const Answer gone = Delete(Widgets("owner"), J("propagationPolicy: Orphan"));
  EXPECT_EQ(gone.status, 200);
  EXPECT_TRUE(Goes(Widgets("owner")));
  EXPECT_TRUE(Becomes("owned", "metadata: {ownerReferences: null}"));
  EXPECT_TRUE(Has(Get(Configs("owned")).json, "metadata: {deletionTimestamp: null}"));
}

TEST_F(GarbageConformance, TheOldWordForOrphansStillHolds) {
  const Answer owner = MakeConfig("owner");
  MakeOwned("owned", Owner("ConfigMap", "owner", owner.uid()));
  Delete(Configs("owner") + "?orphanDependents=true");
  EXPECT_TRUE(Goes(Configs("owner")));
  EXPECT_TRUE(Becomes("owned", "metadata: {ownerReferences: null}"));
}

TEST_F(GarbageConformance, AnOwnerThatIsNotThereKeepsNothing) {
  MakeConfig("owner");
  const std::string other = MakeNamespace();
  const std::string elsewhere = fmt::format("/api/v1/namespaces/{}/configmaps", other);
  const Answer foreign = Post(elsewhere, ConfigBody("owner"));
  MakeOwned("of-another-identity", Owner("ConfigMap", "owner", "00000000-0000-0000-0000-000000000001"));
  MakeOwned("of-none", Owner("ConfigMap", "never", "00000000-0000-0000-0000-000000000002"));
  MakeOwned("of-another-namespace", Owner("ConfigMap", "owner", foreign.uid()));
  for (const char* owned : {"of-another-identity", "of-none", "of-another-namespace"}) {
    EXPECT_TRUE(Goes(Configs(owned))) << owned;
  }
  EXPECT_EQ(Get(Configs("owner")).status, 200);
  EXPECT_EQ(Get(elsewhere + "/owner").status, 200);
}

// The collector cannot find out whether an owner of a kind that is not served exists.
TEST_F(GarbageConformance, AnOwnerThatMayBeThereKeepsWhatItOwns) {
  const Answer owner = MakeConfig("owner");
  MakeOwned("owned", Owner("ConfigMap", "owner", owner.uid()));
  MakeOwned("of-thing",
            "{apiVersion: example.com/v1, kind: Thing, name: x, uid: 00000000-0000-0000-0000-000000000003}");
  AwaitCollector();
  EXPECT_EQ(Get(Configs("owned")).status, 200);
  EXPECT_EQ(Get(Configs("of-thing")).status, 200);
}

TEST_F(GarbageConformance, OneOfTwoOwnersSuffices) {
  const Answer one = MakeConfig("one");
  const Answer two = MakeConfig("two");
  MakeOwned("owned", fmt::format("{}, {}", Owner("ConfigMap", "one", one.uid()), Owner("ConfigMap", "two", two.uid())));
  Delete(Configs("one"));
  EXPECT_TRUE(Becomes("owned", "metadata: {ownerReferences: [{name: two}]}"));
  Delete(Configs("two"));
  EXPECT_TRUE(Goes(Configs("owned")));
}

TEST_F(GarbageConformance, AClusterWideOwnerHasThingsInNamespaces) {
  const std::string name = "owner-" + ns();
  const Answer owner = Post(Crates(), Body("Crate", name));
  ASSERT_EQ(owner.status, 201) << owner;
  MakeOwned("owned", Owner("Crate", name, owner.uid()));
  AwaitCollector();
  EXPECT_EQ(Get(Configs("owned")).status, 200);
  Delete(Crates(name));
  EXPECT_TRUE(Goes(Configs("owned")));
}

TEST_F(GarbageConformance, AnOwnerGivenLaterCountsToo) {
  const Answer owner = MakeConfig("owner");
  MakeConfig("later");
  Patch(Configs("later"), kMerge,
        J(fmt::format("metadata: {{ownerReferences: [{}]}}", Owner("ConfigMap", "owner", owner.uid()))));
  Delete(Configs("owner"));
  EXPECT_TRUE(Goes(Configs("later")));
}

}  // namespace
}  // namespace basalt::conformance
