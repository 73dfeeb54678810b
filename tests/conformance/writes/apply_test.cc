// Server-side apply: owners of fields, conflicts, and fields that are removed with their last owner.
#include "absl/strings/match.h"

#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

class ApplyConformance : public WriteConformance {
 protected:
  Answer ApplyConfig(std::string_view manager, std::string_view data, std::string_view more = "") {
    return Apply(Configs("a"), manager,
                 fmt::format("{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a}}, data: {}}}", data), more);
  }
  Answer ApplyWidget(std::string_view manager, std::string_view spec, std::string_view more = "") {
    return Apply(Widgets("a"), manager,
                 fmt::format("{{apiVersion: {}, kind: Widget, metadata: {{name: a}}, spec: {}}}", kVersion, spec),
                 more);
  }
  // Applies `members`, as "status: {phase: Done}", to the status of the widget.
  Answer ApplyStatus(std::string_view manager, std::string_view members, std::string_view labels = "") {
    return Apply(
        Widgets("a") + "/status", manager,
        fmt::format("{{apiVersion: {}, kind: Widget, metadata: {{name: a{}}}, {}}}", kVersion, labels, members));
  }
};

TEST_F(ApplyConformance, MakesWhatIsNotThere) {
  const Answer made = ApplyConfig("me", "{k: v}");
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(Has(made.json, R"(
data: {k: v}
metadata:
  managedFields:
  - {manager: me, operation: Apply, apiVersion: v1, time: "*", fieldsType: FieldsV1, fieldsV1: {"f:data": {"f:k": {}, ".": null}}}
)")) << made;
  const Answer again = ApplyConfig("me", "{k: v}");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.version(), made.version()) << "it changes nothing";
}

TEST_F(ApplyConformance, DemandsAManager) {
  const Answer refused = Patch(Configs("a"), kApply, J("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"));
  EXPECT_EQ(StatusText(refused),
            "422 Invalid: PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for "
            "apply patch");
}

TEST_F(ApplyConformance, AnothersValueIsAConflict) {
  ApplyConfig("one", "{k: v}");
  const Answer refused = ApplyConfig("two", "{k: w}");
  EXPECT_EQ(StatusText(refused), "409 Conflict: Apply failed with 1 conflict: conflict with \"one\": .data.k");
  EXPECT_EQ(Why(refused), "FieldManagerConflict .data.k: conflict with \"one\"");
}

TEST_F(ApplyConformance, SeveralConflictsAreToldByManager) {
  Post(Configs() + "?fieldManager=edit", ConfigBody("a", "{}", R"({"x":"1","q":"1"})"));
  const Answer refused = ApplyConfig("me", "{x: '2', q: '2'}");
  EXPECT_EQ(refused.status, 409) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "Apply failed with 2 conflicts: conflicts with \"edit\" using v1"))
      << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), ":\n- .data.q\n- .data.x")) << refused;
  EXPECT_EQ(refused.Causes().size(), 2);
}

TEST_F(ApplyConformance, ForceTakesTheFieldOver) {
  ApplyConfig("one", "{k: v, own: x}");
  const Answer forced = ApplyConfig("two", "{k: w}", "&force=true");
  EXPECT_EQ(forced.status, 200) << forced;
  EXPECT_TRUE(Has(forced.json, R"(
data: {k: w, own: x}
metadata:
  managedFields:
  - {manager: one, fieldsV1: {"f:data": {"f:own": {}, "f:k": null}}}
  - {manager: two, fieldsV1: {"f:data": {"f:k": {}, "f:own": null}}}
)")) << forced;
}

TEST_F(ApplyConformance, AFieldThatIsLeftOutGoes) {
  ApplyConfig("me", "{x: '1', q: '1'}");
  const Answer applied = ApplyConfig("me", "{x: '1'}");
  EXPECT_TRUE(Has(applied.json, "data: {x: '1', q: null}")) << applied;
}

TEST_F(ApplyConformance, FieldsOfOthersStay) {
  ApplyConfig("me", "{x: '1'}");
  Patch(Configs("a") + "?fieldManager=edit", kMerge, J("data: {z: '1'}"));
  EXPECT_TRUE(Has(ApplyConfig("me", "{q: '1'}").json, "data: {x: null, q: '1', z: '1'}"));
}

TEST_F(ApplyConformance, TheSameValueIsSharedAndStaysWithItsLastOwner) {
  ApplyConfig("one", "{k: v}");
  const Answer shared = ApplyConfig("two", "{k: v}");
  EXPECT_EQ(shared.status, 200) << shared;
  EXPECT_TRUE(Has(shared.json, R"(
metadata:
  managedFields:  # What changes nothing but the ownership has no time.
  - {manager: two, fieldsV1: {"f:data": {"f:k": {}}}, time: null}
  - {manager: one, fieldsV1: {"f:data": {"f:k": {}}}}
)")) << shared;
  EXPECT_TRUE(Has(ApplyConfig("one", "{}").json, "data: {k: v}"));
  EXPECT_TRUE(Has(ApplyConfig("two", "{}").json, "data: null"));
}

TEST_F(ApplyConformance, AnUpdateTakesAFieldFromWhoAppliedIt) {
  ApplyConfig("me", "{k: v, l: v}");
  Patch(Configs("a") + "?fieldManager=edit", kMerge, J("data: {k: w}"));
  const Answer refused = ApplyConfig("me", "{k: v, l: v}");
  EXPECT_EQ(refused.status, 409) << refused;
  EXPECT_TRUE(absl::StartsWith(refused.message(), "Apply failed with 1 conflict: conflict with \"edit\" using v1"))
      << refused;
}

TEST_F(ApplyConformance, ManagedFieldsAreNotApplied) {
  const Answer refused = Apply(Configs("a"), "me",
                               "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, managedFields: [{manager: x}]}}");
  EXPECT_EQ(refused.status, 400) << refused;
  EXPECT_EQ(refused.message(), "metadata.managedFields must be nil");
}

TEST_F(ApplyConformance, TheBodyNamesItsKindAndTheNameOfThePath) {
  EXPECT_EQ(Apply(Configs("a"), "me", "{metadata: {name: a}}").status, 400);
  EXPECT_EQ(Apply(Configs("a"), "me", "{apiVersion: v1, kind: ConfigMap, metadata: {name: b}}").status, 400);
}

TEST_F(ApplyConformance, AVersionIsAPrecondition) {
  ApplyConfig("me", "{k: v}");
  const Answer refused = Apply(
      Configs("a"), "me", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, resourceVersion: '1'}, data: {k: w}}");
  EXPECT_EQ(refused.status, 409) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "the object has been modified")) << refused;
}

TEST_F(ApplyConformance, AnIdentityThatIsNotThereIsAConflict) {
  const Answer refused = Apply(Configs("a"), "me", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, uid: gone}}");
  EXPECT_EQ(StatusText(refused),
            "409 Conflict: Operation cannot be fulfilled on configmaps \"a\": uid mismatch: the provided object "
            "specified uid "
            "gone, and no existing object was found");
}

TEST_F(ApplyConformance, ADryRunChangesNothing) {
  EXPECT_EQ(ApplyConfig("me", "{k: v}", "&dryRun=All").status, 201);
  EXPECT_EQ(Get(Configs("a")).status, 404);
}

TEST_F(ApplyConformance, ContainersMergeByName) {
  const auto apply = [&](std::string_view manager, std::string_view containers) {
    return Apply(
        Pods("a"), manager,
        fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: a}}, spec: {{containers: {}}}}}", containers));
  };
  EXPECT_EQ(apply("one", "[{name: x, image: i}, {name: q, image: i}]").status, 201);
  const Answer second = apply("two", "[{name: q, image: i}]");
  EXPECT_EQ(second.status, 200) << second;
  EXPECT_TRUE(Has(second.json, R"(
spec: {containers: [{name: x}, {name: q}]}
metadata:
  managedFields:
  - {manager: two, fieldsV1: {"f:spec": {"f:containers": {'k:{"name":"q"}': {".": {}, "f:image": {}, "f:name": {}}}}}}
  - {manager: one}
)")) << second;
  const Answer conflict = apply("two", "[{name: q, image: j}]");
  EXPECT_EQ(Why(conflict), "FieldManagerConflict .spec.containers[name=\"q\"].image: conflict with \"one\"");
}

TEST_F(ApplyConformance, AKeyedListMergesByItsKeys) {
  ApplyWidget("one", "{ports: [{name: a, number: 1}, {name: b, number: 2}]}");
  const Answer second = ApplyWidget("two", "{ports: [{name: c, number: 3}]}");
  EXPECT_TRUE(Has(second.json, "spec: {ports: [{name: a}, {name: b}, {name: c}]}")) << second;
  const Answer third = ApplyWidget("one", "{ports: [{name: b, number: 2}]}");
  EXPECT_TRUE(Has(third.json, "spec: {ports: [{name: b}, {name: c}]}")) << third;
  EXPECT_EQ(Why(ApplyWidget("two", "{ports: [{name: b, number: 9}]}")),
            "FieldManagerConflict .spec.ports[name=\"b\"].number: conflict with \"one\"");
}

TEST_F(ApplyConformance, ASetMergesByItsValues) {
  ApplyWidget("one", "{tags: [a, b]}");
  const Answer second = ApplyWidget("two", "{tags: [c]}");
  EXPECT_TRUE(Has(second.json, "spec: {tags: [a, b, c]}")) << second;
  EXPECT_TRUE(Has(second.json, R"(metadata: {managedFields: [{}, {fieldsV1: {"f:spec": {"f:tags": {'v:"c"': {}}}}}]})"))
      << second;
  EXPECT_TRUE(Has(ApplyWidget("one", "{tags: [a]}").json, "spec: {tags: [a, c]}"));
}

TEST_F(ApplyConformance, AnAtomicListHasOneOwner) {
  ApplyWidget("one", "{steps: [a, b]}");
  EXPECT_EQ(Why(ApplyWidget("two", "{steps: [c]}")), "FieldManagerConflict .spec.steps: conflict with \"one\"");
  EXPECT_TRUE(Has(ApplyWidget("two", "{steps: [c]}", "&force=true").json, "spec: {steps: [c]}"));
}

TEST_F(ApplyConformance, AnAtomicMapHasOneOwner) {
  ApplyWidget("one", "{whole: {a: '1'}}");
  EXPECT_EQ(Why(ApplyWidget("two", "{whole: {b: '1'}}")), "FieldManagerConflict .spec.whole: conflict with \"one\"");
}

TEST_F(ApplyConformance, AnItemWithoutItsKeyIsRefused) {
  const Answer refused = ApplyWidget("one", "{ports: [{number: 1}]}");
  EXPECT_GE(refused.status, 400) << refused;
}

TEST_F(ApplyConformance, DefaultsAreNobodysFields) {
  const Answer made = ApplyWidget("me", "{replicas: 1}");
  EXPECT_TRUE(Has(made.json, R"(
spec: {replicas: 1, policy: Always}
metadata: {managedFields: [{manager: me, fieldsV1: {"f:spec": {"f:replicas": {}, "f:policy": null}}}]}
)")) << made;
}

TEST_F(ApplyConformance, TheStatusIsAppliedApart) {
  ApplyWidget("me", "{replicas: 1}");
  const Answer applied = ApplyStatus("me", "spec: {replicas: 5}, status: {phase: Done}", ", labels: {l: v}");
  EXPECT_EQ(applied.status, 200) << applied;
  EXPECT_TRUE(Has(applied.json, R"(
spec: {replicas: 1}
status: {phase: Done}
metadata:
  labels: null
  managedFields:
  - {manager: me, operation: Apply, subresource: null}
  - {manager: me, operation: Apply, subresource: status, fieldsV1: {"f:status": {"f:phase": {}}}}
)")) << applied;
}

TEST_F(ApplyConformance, TheStatusOfNothingIsNotFound) {
  EXPECT_EQ(ApplyStatus("me", "status: {phase: Done}").status, 404);
}

TEST_F(ApplyConformance, ConditionsOfTwoManagersLiveTogether) {
  ApplyWidget("me", "{replicas: 1}");
  const auto apply = [&](std::string_view manager, std::string_view type) {
    return ApplyStatus(manager, fmt::format("status: {{conditions: [{{type: {}, status: 'True'}}]}}", type));
  };
  apply("one", "Ready");
  EXPECT_TRUE(Has(apply("two", "Scheduled").json, "status: {conditions: [{type: Ready}, {type: Scheduled}]}"));
}

TEST_F(ApplyConformance, TheSchemaHolds) {
  const Answer refused = ApplyWidget("me", "{replicas: 11}");
  EXPECT_EQ(refused.status, 422) << refused;
  EXPECT_EQ(Get(Widgets("a")).status, 404);
}

TEST_F(ApplyConformance, AnUnknownFieldIsRefused) {
  const Answer refused = ApplyWidget("me", "{replica: 1}");
  EXPECT_EQ(refused.status, 500) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), ".spec.replica: field not declared in schema")) << refused;
}

}  // namespace
}  // namespace basalt::conformance
