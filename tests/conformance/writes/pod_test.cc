// The subresources that place and evict pods, and the quota that counts pods.
#include "absl/strings/match.h"

#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

class PodConformance : public WriteConformance {
 protected:
  Answer Bind(std::string_view name, std::string_view node, std::string_view meta = "") {
    return Post(Pods(name) + "/binding",
                J(fmt::format("{{apiVersion: v1, kind: Binding, metadata: {{name: {}{}}}, target: {{apiVersion: "
                              "v1, kind: Node, name: {}}}}}",
                              name, meta, node)));
  }
  Answer Evict(std::string_view name, std::string_view more = "") {
    return Post(Pods(name) + "/eviction",
                J(fmt::format("{{apiVersion: policy/v1, kind: Eviction, metadata: {{name: {}}}{}}}", name, more)));
  }
};

TEST_F(PodConformance, ABindingPlacesAPod) {
  MakePod("a");
  const Answer bound = Bind("a", "node-x");
  EXPECT_EQ(bound.status, 201) << bound;
  EXPECT_TRUE(Has(bound.json, "{kind: Status, apiVersion: v1, status: Success, code: 201}")) << bound;
  EXPECT_TRUE(Has(Get(Pods("a")).json, R"(
spec: {nodeName: node-x}
status: {conditions: [{type: PodScheduled, status: "True", lastTransitionTime: "*"}]}
)"));
}

TEST_F(PodConformance, ABindingCarriesAnnotations) {
  MakePod("a");
  EXPECT_EQ(Bind("a", "node-x", ", annotations: {note: v}").status, 201);
  EXPECT_TRUE(Has(Get(Pods("a")).json, "metadata: {annotations: {note: v}}"));
}

TEST_F(PodConformance, APodIsBoundOnce) {
  MakePod("a");
  Bind("a", "node-x");
  const Answer again = Bind("a", "node-q");
  EXPECT_EQ(StatusText(again),
            "409 Conflict: Operation cannot be fulfilled on pods/binding \"a\": pod a is already assigned to node "
            "\"node-x\"");
}

TEST_F(PodConformance, NothingIsBoundThatIsNotThere) { EXPECT_EQ(Bind("a", "node-x").status, 404); }

TEST_F(PodConformance, ABindingOfAnotherIdentityIsAConflict) {
  MakePod("a");
  const Answer bound = Bind("a", "node-x", ", uid: other");
  EXPECT_EQ(bound.status, 409) << bound;
  EXPECT_TRUE(Has(Get(Pods("a")).json, "spec: {nodeName: null}"));
}

TEST_F(PodConformance, ABindingNamesItsNode) {
  MakePod("a");
  const Answer bound = Bind("a", "''");
  EXPECT_EQ(StatusText(bound), "500 : target.name: Required value");
}

TEST_F(PodConformance, AnEvictionDeletes) {
  MakePod("a", "{}", R"(,"nodeName":"somewhere")");
  const Answer evicted = Evict("a");
  EXPECT_EQ(evicted.status, 201) << evicted;
  EXPECT_TRUE(Has(evicted.json, "{kind: Status, status: Success}")) << evicted;
  EXPECT_TRUE(Has(Get(Pods("a")).json, R"(
metadata: {deletionTimestamp: "*"}
status: {conditions: [{type: DisruptionTarget, status: "True", reason: EvictionByEvictionAPI}]}
)"));
}

TEST_F(PodConformance, AnEvictionTakesOptions) {
  MakePod("a", "{}", R"(,"nodeName":"somewhere")");
  EXPECT_EQ(Evict("a", ", deleteOptions: {gracePeriodSeconds: 0}").status, 201);
  EXPECT_EQ(Get(Pods("a")).status, 404);
}

TEST_F(PodConformance, NothingIsEvictedThatIsNotThere) {
  EXPECT_EQ(StatusText(Evict("a")), "404 NotFound: pods \"a\" not found");
}

TEST_F(PodConformance, AnEvictionOfAnotherIdentityIsAConflict) {
  MakePod("a", "{}", R"(,"nodeName":"somewhere")");
  EXPECT_EQ(Evict("a", ", deleteOptions: {preconditions: {uid: other}}").status, 409);
  EXPECT_TRUE(Has(Get(Pods("a")).json, "metadata: {deletionTimestamp: null}"));
}

TEST_F(PodConformance, AnUnknownPriorityClassIsForbidden) {
  const Answer made = Post(Pods(), PodBody("a", "{}", R"(,"priorityClassName":"none")"));
  EXPECT_EQ(StatusText(made), "403 Forbidden: pods \"a\" is forbidden: no PriorityClass with name none was found");
}

TEST_F(PodConformance, APriorityClassGivesItsValue) {
  const Answer made = MakePod("a", "{}", R"(,"priorityClassName":"system-node-critical")");
  EXPECT_TRUE(Has(made.json, "spec: {priority: 2000001000, preemptionPolicy: PreemptLowerPriority}"));
}

// ---- quotas ----

class QuotaConformance : public WriteConformance {
 protected:
  // Makes a quota and waits until it is enforced.
  void MakeQuota(std::string_view hard) {
    const Answer made =
        Post(Core("resourcequotas"), Body("ResourceQuota", "q", fmt::format("spec: {{hard: {}}}", hard)));
    ASSERT_EQ(made.status, 201) << made;
    EXPECT_TRUE(Eventually([&] { return !Get(Core("resourcequotas", "q")).At({"status", "used"}).empty(); }));
  }
  bool Used(std::string_view used) {
    return Eventually(
        [&] { return bool(Has(Get(Core("resourcequotas", "q")).json, fmt::format("status: {{used: {}}}", used))); },
        absl::Seconds(40));
  }
};

TEST_F(QuotaConformance, PodsAreCounted) {
  MakeQuota("{pods: '2'}");
  EXPECT_TRUE(Has(Get(Core("resourcequotas", "q")).json, "status: {hard: {pods: '2'}, used: {pods: '0'}}"));
  MakePod("a");
  MakePod("b");
  const Answer refused = Post(Pods(), PodBody("c"));
  EXPECT_EQ(
      StatusText(refused),
      "403 Forbidden: pods \"c\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2");
  EXPECT_TRUE(Has(refused.json, "details: {name: c, kind: pods}"));
  EXPECT_TRUE(Used("{pods: '2'}"));
}

TEST_F(QuotaConformance, ADeletedPodMakesRoom) {
  MakeQuota("{pods: '1'}");
  MakePod("a");
  EXPECT_EQ(Post(Pods(), PodBody("b")).status, 403);
  Delete(Pods("a"));
  EXPECT_TRUE(Used("{pods: '0'}"));
  EXPECT_TRUE(Eventually([&] { return Post(Pods(), PodBody("b")).status == 201; }));
}

TEST_F(QuotaConformance, AFinishedPodMakesRoom) {
  MakeQuota("{pods: '1'}");
  MakePod("a");
  Patch(Pods("a") + "/status", kMerge, J("status: {phase: Succeeded}"));
  EXPECT_TRUE(Used("{pods: '0'}"));
  EXPECT_TRUE(Eventually([&] { return Post(Pods(), PodBody("b")).status == 201; }));
}

TEST_F(QuotaConformance, ObjectsOfAnyKindAreCounted) {
  Widgets();
  MakeQuota("{count/widgets.conformance.example.com: '1'}");
  MakeWidget("a");
  const Answer refused = Post(Widgets(), WidgetBody("b"));
  EXPECT_EQ(StatusText(refused),
            "403 Forbidden: widgets.conformance.example.com \"b\" is forbidden: exceeded quota: q, requested: "
            "count/widgets.conformance.example.com=1, used: count/widgets.conformance.example.com=1, limited: "
            "count/widgets.conformance.example.com=1");
}

TEST_F(QuotaConformance, CountedPodsIncludeTheFinishedOnes) {
  MakeQuota("{count/pods: '1'}");
  MakePod("a");
  Patch(Pods("a") + "/status", kMerge, J("status: {phase: Succeeded}"));
  EXPECT_EQ(Post(Pods(), PodBody("b")).status, 403);
}

TEST_F(QuotaConformance, ADryRunIsNotCounted) {
  MakeQuota("{pods: '1'}");
  EXPECT_EQ(Post(Pods() + "?dryRun=All", PodBody("a")).status, 201);
  EXPECT_EQ(Post(Pods(), PodBody("a")).status, 201);
  EXPECT_EQ(Post(Pods() + "?dryRun=All", PodBody("b")).status, 403);
}

TEST_F(QuotaConformance, AnotherNamespaceIsNotCounted) {
  MakeQuota("{pods: '0'}");
  EXPECT_EQ(Post(Pods(), PodBody("a")).status, 403);
  EXPECT_EQ(Post(fmt::format("/api/v1/namespaces/{}/pods", MakeNamespace()), PodBody("a")).status, 201);
}

TEST_F(QuotaConformance, AnUpdateIsNotCounted) {
  MakeQuota("{pods: '1'}");
  MakePod("a");
  EXPECT_EQ(Patch(Pods("a"), kMerge, J("metadata: {labels: {l: v}}")).status, 200);
}

}  // namespace
}  // namespace basalt::conformance
