// Updates: versions and identities as preconditions, immutable fields, and the status apart from the other fields.
#include "absl/strings/match.h"

#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

class UpdateConformance : public WriteConformance {
 protected:
  // Returns the stored object with one value changed.
  static std::string Changed(const Answer& made, std::string_view pointer, json::value value) {
    json::value next = made.json;
    SetAt(next, pointer, std::move(value));
    return ToText(next);
  }
};

TEST_F(UpdateConformance, APutReplacesWhatWasThere) {
  const Answer made = MakeConfig("a", R"({"l":"v"})", R"({"x":"1","q":"2"})");
  const Answer put = Put(Configs("a"), ConfigBody("a", "{}", R"({"x":"3"})"));
  EXPECT_EQ(put.status, 200) << put;
  EXPECT_TRUE(Has(put.json, "{metadata: {labels: null}, data: {x: '3', q: null}}"));
  EXPECT_GT(NumberOf(put.version()), NumberOf(made.version()));
  EXPECT_EQ(put.uid(), made.uid());
  EXPECT_EQ(put.At({"metadata", "creationTimestamp"}), made.At({"metadata", "creationTimestamp"}));
}

TEST_F(UpdateConformance, AStaleVersionIsAConflict) {
  const Answer made = MakeConfig("a");
  EXPECT_EQ(Put(Configs("a"), Changed(made, "/data", {{"x", "1"}})).status, 200);
  const Answer put = Put(Configs("a"), Changed(made, "/data", {{"x", "2"}}));
  EXPECT_EQ(StatusText(put),
            "409 Conflict: Operation cannot be fulfilled on configmaps \"a\": the object has been modified; "
            "please apply your changes to the latest version and try again");
  EXPECT_TRUE(Has(put.json, "details: {name: a, kind: configmaps}"));
}

TEST_F(UpdateConformance, AStaleVersionOfACustomObjectIsAConflict) {
  const Answer made = MakeWidget("a");
  EXPECT_EQ(Put(Widgets("a"), Changed(made, "/spec", {{"replicas", 1}})).status, 200);
  const Answer put = Put(Widgets("a"), Changed(made, "/spec", {{"replicas", 2}}));
  EXPECT_EQ(StatusText(put),
            "409 Conflict: Operation cannot be fulfilled on widgets.conformance.example.com \"a\": the object has "
            "been modified; please apply your changes to the latest version and try again");
  EXPECT_TRUE(Has(put.json, "details: {name: a, kind: widgets, group: conformance.example.com}"));
}

TEST_F(UpdateConformance, ACustomKindDemandsAVersion) {
  MakeWidget("a");
  const Answer put = Put(Widgets("a"), WidgetBody("a", "spec: {replicas: 1}"));
  EXPECT_EQ(StatusText(put),
            "422 Invalid: widgets.conformance.example.com \"a\" is invalid: metadata.resourceVersion: Invalid "
            "value: 0: must be specified for an update");
}

TEST_F(UpdateConformance, AVersionOfNothingIsNone) {
  MakeWidget("a");
  const Answer put = Put(Widgets("a"), WidgetBody("a", "spec: {replicas: 1}", "resourceVersion: '0'"));
  EXPECT_EQ(put.status, 422) << put;
}

TEST_F(UpdateConformance, AVersionThatIsNoNumberIsRefused) {
  MakeConfig("a");
  const Answer put = Put(Configs("a"), Body("ConfigMap", "a", "", "resourceVersion: abc"));
  EXPECT_EQ(StatusText(put), "500 : strconv.ParseUint: parsing \"abc\": invalid syntax");
}

TEST_F(UpdateConformance, AnotherIdentityIsAConflict) {
  const Answer made = MakeConfig("a");
  const Answer put = Put(Configs("a"), Body("ConfigMap", "a", "", "uid: other"));
  EXPECT_EQ(put.status, 409) << put;
  EXPECT_EQ(put.reason(), "Conflict");
  EXPECT_TRUE(put.message().ends_with(
      fmt::format("Precondition failed: UID in precondition: other, UID in object meta: {}", made.uid())))
      << put;
}

TEST_F(UpdateConformance, AMissingObjectIsNotFound) {
  EXPECT_EQ(StatusText(Put(Configs("a"), ConfigBody("a"))), "404 NotFound: configmaps \"a\" not found");
  EXPECT_EQ(StatusText(Put(Widgets("a"), WidgetBody("a", "", "resourceVersion: '1'"))),
            "404 NotFound: widgets.conformance.example.com \"a\" not found");
}

TEST_F(UpdateConformance, ANameThatIsNotThePathsIsRefused) {
  MakeConfig("a");
  const Answer put = Put(Configs("a"), ConfigBody("b"));
  EXPECT_EQ(StatusText(put), "400 BadRequest: the name of the object (b) does not match the name on the URL (a)");
}

TEST_F(UpdateConformance, AnEqualObjectIsNotWritten) {
  const Answer config = MakeConfig("a", "{}", R"({"k":"v"})");
  EXPECT_EQ(Put(Configs("a"), config.body).version(), config.version());
  const Answer widget = MakeWidget("a", "spec: {replicas: 1}");
  EXPECT_EQ(Put(Widgets("a"), widget.body).version(), widget.version());
}

TEST_F(UpdateConformance, ADryRunChangesNothing) {
  const Answer made = MakeConfig("a", "{}", R"({"k":"v"})");
  const Answer put = Put(Configs("a") + "?dryRun=All", ConfigBody("a", "{}", R"({"k":"w"})"));
  EXPECT_EQ(put.status, 200);
  EXPECT_TRUE(Has(put.json, "data: {k: w}"));
  EXPECT_EQ(put.version(), made.version());
  EXPECT_TRUE(Has(Get(Configs("a")).json, "data: {k: v}"));
}

TEST_F(UpdateConformance, AWrongDryRunIsRefusedInTheNameOfItsOptions) {
  MakeConfig("a");
  EXPECT_EQ(StatusText(Put(Configs("a") + "?dryRun=Some", ConfigBody("a"))),
            "422 Invalid: UpdateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported "
            "values: \"All\"");
}

TEST_F(UpdateConformance, OnlyTheSpecCountsAsAGeneration) {
  Answer now = MakeWidget("a", "spec: {replicas: 1}");
  now = Put(Widgets("a"), Changed(now, "/metadata/labels", {{"l", "v"}}));
  EXPECT_TRUE(Has(now.json, "metadata: {generation: 1}"));
  now = Put(Widgets("a"), Changed(now, "/spec/replicas", 2));
  EXPECT_TRUE(Has(now.json, "metadata: {generation: 2}"));
  now = Put(Widgets("a") + "/status", Changed(now, "/status", {{"phase", "Done"}}));
  EXPECT_TRUE(Has(now.json, "metadata: {generation: 2}"));
}

TEST_F(UpdateConformance, TheGenerationOfAPodCountsToo) {
  MakePod("a");
  EXPECT_TRUE(Has(Patch(Pods("a"), kMerge, J("metadata: {labels: {l: v}}")).json, "metadata: {generation: 1}"));
  EXPECT_TRUE(Has(Patch(Pods("a"), kMerge, J("spec: {activeDeadlineSeconds: 5}")).json, "metadata: {generation: 2}"));
  EXPECT_TRUE(
      Has(Patch(Pods("a") + "/status", kMerge, J("status: {phase: Running}")).json, "metadata: {generation: 2}"));
}

TEST_F(UpdateConformance, TheGenerationIsTheServers) {
  const Answer made = MakeWidget("a");
  EXPECT_TRUE(Has(Put(Widgets("a"), Changed(made, "/metadata/generation", 9)).json, "metadata: {generation: 1}"));
}

struct Immutable {
  const char* title;
  const char* plural;
  const char* kind;
  const char* made;
  const char* patch;
  const char* why;  // The beginning of the causes.
};

class ImmutableConformance : public WriteConformance, public ::testing::WithParamInterface<Immutable> {};

TEST_P(ImmutableConformance, StaysAsItIs) {
  const Immutable& row = GetParam();
  const Answer made = Post(Core(row.plural), Body(row.kind, "a", row.made));
  ASSERT_EQ(made.status, 201) << made;
  const Answer patched = Patch(Core(row.plural, "a"), kMerge, J(row.patch));
  EXPECT_EQ(patched.status, 422) << patched;
  EXPECT_EQ(Why(patched).substr(0, std::string_view(row.why).size()), row.why) << patched;
}

INSTANTIATE_TEST_SUITE_P(
    , ImmutableConformance,
    ::testing::Values(Immutable{"PodCommand", "pods", "Pod", "spec: {containers: [{name: c, image: i}]}",
                                "spec: {containers: [{name: c, image: i, command: [x]}]}",
                                "FieldValueForbidden spec: Forbidden: pod updates may not change fields other than"},
                      Immutable{"PodPriority", "pods", "Pod", "spec: {containers: [{name: c, image: i}]}",
                                "spec: {schedulerName: x}",
                                "FieldValueForbidden spec: Forbidden: pod updates may not change fields other than"},
                      Immutable{"Uid", "configmaps", "ConfigMap", "", "metadata: {uid: other}",
                                "FieldValueInvalid metadata.uid: Invalid value: \"other\": field is immutable"},
                      Immutable{"ImmutableConfig", "configmaps", "ConfigMap", "{immutable: true, data: {k: v}}",
                                "data: {k: w}",
                                "FieldValueForbidden data: Forbidden: field is immutable when `immutable` is set"},
                      Immutable{"SecretType", "secrets", "Secret", "", "type: example.com/other",
                                "FieldValueInvalid type: Invalid value: \"example.com/other\": field is immutable"},
                      Immutable{"ServiceAddress", "services", "Service", "spec: {ports: [{port: 80}]}",
                                "spec: {clusterIP: 10.0.0.77, clusterIPs: [10.0.0.77]}",
                                "FieldValueInvalid spec.clusterIPs[0]: Invalid value: "},
                      Immutable{"ClaimModes", "persistentvolumeclaims", "PersistentVolumeClaim",
                                "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
                                "spec: {accessModes: [ReadWriteMany]}",
                                "FieldValueForbidden spec: Forbidden: spec is immutable after creation except"}),
    kTitle);

TEST_F(UpdateConformance, AnImageOfAPodMayChange) {
  MakePod("a");
  const Answer patched = Patch(Pods("a"), kStrategic, J("spec: {containers: [{name: c, image: other}]}"));
  EXPECT_TRUE(Has(patched.json, "spec: {containers: [{name: c, image: other}]}")) << patched;
}

TEST_F(UpdateConformance, AClientCannotMarkAnObjectAsDeleted) {
  MakeConfig("a");
  const Answer patched = Patch(Configs("a"), kMerge, J("metadata: {deletionTimestamp: '2001-01-01T00:00:00Z'}"));
  EXPECT_EQ(patched.status, 422) << patched;
  EXPECT_TRUE(absl::StartsWith(
      Why(patched),
      "FieldValueInvalid metadata.deletionTimestamp: Invalid value: \"2001-01-01T00:00:00Z\": field is immutable"));
}

TEST_F(UpdateConformance, ATimeOfCreationIsIgnored) {
  const Answer made = MakeConfig("a");
  const Answer patched = Patch(Configs("a"), kMerge, J("metadata: {creationTimestamp: '2001-01-01T00:00:00Z'}"));
  EXPECT_EQ(patched.status, 200) << patched;
  EXPECT_EQ(patched.version(), made.version());
}

TEST_F(UpdateConformance, ManagedFieldsPassToWhoChangesAField) {
  Post(Configs() + "?fieldManager=one", ConfigBody("a", "{}", R"({"x":"1","q":"1"})"));
  const Answer patched = Patch(Configs("a") + "?fieldManager=two", kMerge, J("data: {q: '2'}"));
  EXPECT_TRUE(Has(patched.json, R"(
metadata:
  managedFields:
  - {manager: one, operation: Update, fieldsV1: {"f:data": {"f:x": {}, "f:q": null}}}
  - {manager: two, operation: Update, fieldsV1: {"f:data": {"f:q": {}, "f:x": null}}}
)")) << patched;
}

TEST_F(UpdateConformance, ManagedFieldsCanBeReset) {
  MakeConfig("a", "{}", R"({"x":"1"})");
  const Answer patched = Patch(Configs("a"), kMerge, J("metadata: {managedFields: [{}]}"));
  EXPECT_TRUE(Has(patched.json, "metadata: {managedFields: null}")) << patched;
}

// ---- status ----

class StatusConformance : public UpdateConformance {};

TEST_F(StatusConformance, AWriteOfTheObjectLeavesTheStatusAlone) {
  MakeWidget("a");
  Patch(Widgets("a") + "/status", kMerge, J("status: {phase: Done}"));
  const Answer patched = Patch(Widgets("a"), kMerge, J("{spec: {replicas: 2}, status: {phase: Wrong}}"));
  EXPECT_TRUE(Has(patched.json, "{spec: {replicas: 2}, status: {phase: Done}}"));
  MakePod("a");
  EXPECT_TRUE(Has(Patch(Pods("a"), kMerge, J("status: {phase: Running}")).json, "status: {phase: Pending}"));
}

TEST_F(StatusConformance, AWriteOfTheStatusLeavesTheRestAlone) {
  MakeWidget("a", "spec: {replicas: 1}", "labels: {l: old}, annotations: {note: old}, finalizers: [example.com/hold]");
  const Answer patched = Patch(Widgets("a") + "/status", kMerge, J(R"(
metadata:
  labels: {l: new}
  annotations: {note: new}
  finalizers: [example.com/other]
  ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]
spec: {replicas: 9}
status: {phase: Done}
)"));
  EXPECT_EQ(patched.status, 200) << patched;
  EXPECT_TRUE(Has(patched.json, R"(
metadata: {labels: {l: old}, annotations: {note: old}, finalizers: [example.com/hold], ownerReferences: null, generation: 1}
spec: {replicas: 1}
status: {phase: Done}
)")) << patched;
  Patch(Widgets("a"), kMerge, J("metadata: {finalizers: null}"));
}

TEST_F(StatusConformance, TheStatusOfAPodTakesLabelsButNoOwners) {
  MakePod("a", R"({"l":"old"})");
  const Answer patched = Patch(Pods("a") + "/status", kMerge, J(R"(
metadata: {labels: {l: new}, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]}
spec: {schedulerName: other}
status: {phase: Running, podIP: 10.1.2.3, podIPs: [{ip: 10.1.2.3}]}
)"));
  EXPECT_EQ(patched.status, 200) << patched;
  EXPECT_TRUE(Has(patched.json, R"(
metadata: {labels: {l: new}, ownerReferences: null}
spec: {schedulerName: default-scheduler}
status: {phase: Running, podIP: 10.1.2.3, qosClass: BestEffort}
)")) << patched;
}

TEST_F(StatusConformance, TheStatusCanBePutAndRead) {
  const Answer made = MakeWidget("a", "spec: {replicas: 1}");
  const Answer put = Put(Widgets("a") + "/status", Changed(made, "/status", {{"phase", "Done"}}));
  EXPECT_EQ(put.status, 200) << put;
  EXPECT_TRUE(Has(Get(Widgets("a") + "/status").json, "{spec: {replicas: 1}, status: {phase: Done}}"));
}

TEST_F(StatusConformance, AStalePutOfTheStatusIsAConflict) {
  const Answer made = MakeWidget("a");
  Patch(Widgets("a"), kMerge, J("spec: {replicas: 1}"));
  EXPECT_EQ(Put(Widgets("a") + "/status", Changed(made, "/status", {{"phase", "Done"}})).status, 409);
}

TEST_F(StatusConformance, TheVersionIsAPreconditionOfAStatusPatch) {
  const Answer made = MakeWidget("a");
  const auto patch = [&](std::string_view version) {
    return Patch(
        Widgets("a") + "/status", kMerge,
        J(fmt::format("{{metadata: {{uid: {}, resourceVersion: '{}'}}, status: {{phase: x}}}}", made.uid(), version)));
  };
  EXPECT_EQ(patch("1").status, 409);
  EXPECT_EQ(patch(made.version()).status, 200);
  EXPECT_EQ(patch(made.version()).status, 409) << "the version is the old one by now";
}

// The server keeps all metadata but the version before it compares identities. So the version alone guards a status.
TEST_F(StatusConformance, TheIdentityIsNoPreconditionOfAStatusPatch) {
  const Answer made = MakeWidget("a");
  const Answer patched = Patch(Widgets("a") + "/status", kMerge, J("{metadata: {uid: other}, status: {phase: x}}"));
  EXPECT_EQ(patched.status, 200) << patched;
  EXPECT_EQ(patched.uid(), made.uid());
}

TEST_F(StatusConformance, TheIdentityIsAPreconditionOfAPutOfTheStatus) {
  const Answer made = MakeWidget("a");
  EXPECT_EQ(Put(Widgets("a") + "/status", Changed(made, "/metadata/uid", "other")).status, 409);
}

TEST_F(StatusConformance, TheIdentityIsAPreconditionOfAPodsStatusPatch) {
  MakePod("a");
  const Answer patched = Patch(Pods("a") + "/status", kMerge, J("{metadata: {uid: other}, status: {phase: Running}}"));
  EXPECT_EQ(patched.status, 422) << patched;
}

TEST_F(StatusConformance, ABothWrongPreconditionIsAConflictFirst) {
  MakeWidget("a");
  const Answer patched =
      Patch(Widgets("a") + "/status", kMerge, J("{metadata: {uid: other, resourceVersion: '1'}, status: {phase: x}}"));
  EXPECT_EQ(patched.status, 409) << patched;
}

TEST_F(StatusConformance, AStatusOfAnotherTypeIsRefused) {
  MakeWidget("a");
  const Answer patched = Patch(Widgets("a") + "/status", kMerge, J("status: {count: many}"));
  EXPECT_EQ(patched.status, 422) << patched;
  EXPECT_TRUE(absl::StrContains(Why(patched), "status.count")) << patched;
}

TEST_F(StatusConformance, NothingIsCreatedThroughTheStatus) {
  EXPECT_EQ(Post(Widgets("a") + "/status", WidgetBody("a")).status, 405);
  EXPECT_EQ(Delete(Widgets("a") + "/status").status, 405);
}

TEST_F(StatusConformance, AKindWithoutTheSubResourceHasNoSuchPath) {
  Post(Gadgets(), Body("Gadget", "a"));
  EXPECT_EQ(Get(Gadgets("a") + "/status").status, 404);
  const Answer patched = Patch(Gadgets("a"), kMerge, J("status: {phase: Done}"));
  EXPECT_TRUE(Has(patched.json, "{metadata: {generation: 2}, status: {phase: Done}}")) << patched;
}

TEST_F(StatusConformance, TheStatusHasItsOwnManager) {
  MakeWidget("a", "spec: {replicas: 1}");
  const Answer patched = Patch(Widgets("a") + "/status?fieldManager=me", kMerge, J("status: {phase: Done}"));
  EXPECT_TRUE(Has(patched.json, R"(
metadata:
  managedFields:
  - {manager: conformance, operation: Update}
  - {manager: me, operation: Update, subresource: status, fieldsV1: {"f:status": {".": {}, "f:phase": {}}}}
)")) << patched;
}

TEST_F(StatusConformance, AnUnchangedStatusIsNotWritten) {
  MakeWidget("a");
  const Answer first = Patch(Widgets("a") + "/status", kMerge, J("status: {phase: Done}"));
  const Answer again = Patch(Widgets("a") + "/status", kMerge, J("status: {phase: Done}"));
  EXPECT_EQ(again.version(), first.version());
}

TEST_F(StatusConformance, TheStatusOfAMissingObjectIsNotFound) {
  EXPECT_EQ(StatusText(Patch(Widgets("a") + "/status", kMerge, J("status: {phase: Done}"))),
            "404 NotFound: widgets.conformance.example.com \"a\" not found");
}

}  // namespace
}  // namespace basalt::conformance
