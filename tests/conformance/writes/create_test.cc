// Creates: the fields that the server fills in, the fields that it ignores, and the refusals with their exact messages.
#include "absl/strings/match.h"

#include <map>
#include <set>

#include "tests/conformance/writes/support.h"

namespace basalt::conformance {
namespace {

class CreateConformance : public WriteConformance {};

// ---- fields that the server fills in ----

struct Filled {
  const char* title;
  const char* kind;
  const char* rest;   // YAML for the members beside kind and name.
  const char* shape;  // The shape of the answer.
};

class FilledConformance : public WriteConformance, public ::testing::WithParamInterface<Filled> {};

TEST_P(FilledConformance, IsWhatTheServerMakesOfIt) {
  const std::map<std::string, std::string> collections = {{"Pod", Pods()},
                                                          {"Service", Core("services")},
                                                          {"PersistentVolumeClaim", Core("persistentvolumeclaims")},
                                                          {"ConfigMap", Configs()},
                                                          {"Secret", Secrets()},
                                                          {"Widget", Widgets()},
                                                          {"Gadget", Gadgets()}};
  const Filled& row = GetParam();
  const Answer made = Post(collections.at(row.kind), Body(row.kind, "a", row.rest));
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(Has(made.json, row.shape)) << made;
}

INSTANTIATE_TEST_SUITE_P(
    , FilledConformance,
    ::testing::Values(
        Filled{"Pod", "Pod", "spec: {containers: [{name: c, image: i}]}", R"(
metadata: {uid: "*", creationTimestamp: "*", resourceVersion: "*", generation: 1, namespace: "*", selfLink: null}
spec:
  restartPolicy: Always
  dnsPolicy: ClusterFirst
  schedulerName: default-scheduler
  terminationGracePeriodSeconds: 30
  securityContext: {}
  enableServiceLinks: true
  priority: 0
  preemptionPolicy: PreemptLowerPriority
  nodeName: null
  tolerations:
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  containers:
  - {imagePullPolicy: Always, terminationMessagePath: /dev/termination-log, terminationMessagePolicy: File, resources: {}}
status: {phase: Pending, qosClass: BestEffort}
)"},
        Filled{"PodWithTolerations", "Pod",
               "spec: {tolerations: [{operator: Exists}], containers: [{name: c, image: i}]}",
               "spec: {tolerations: [{operator: Exists}]}"},
        Filled{"PodWithLimits", "Pod",
               "spec: {containers: [{name: c, image: 'i:1', resources: {limits: {cpu: 1, memory: 1Gi}}}]}", R"(
spec: {containers: [{imagePullPolicy: IfNotPresent, resources: {limits: {cpu: "1"}, requests: {cpu: "1", memory: 1Gi}}}]}
status: {qosClass: Guaranteed}
)"},
        Filled{"Service", "Service", "spec: {selector: {a: b}, ports: [{port: 80}]}", R"(
spec:
  type: ClusterIP
  clusterIP: "*"
  clusterIPs: ["*"]
  sessionAffinity: None
  ipFamilies: [IPv4]
  ipFamilyPolicy: SingleStack
  internalTrafficPolicy: Cluster
  ports: [{port: 80, protocol: TCP, targetPort: 80}]
status: {loadBalancer: {}}
)"},
        Filled{"HeadlessService", "Service", "spec: {clusterIP: None, selector: {a: b}}",
               "spec: {clusterIP: None, clusterIPs: [None], ports: null, type: ClusterIP}"},
        Filled{"Claim", "PersistentVolumeClaim",
               "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}",
               "{spec: {volumeMode: Filesystem, resources: {requests: {storage: 1Gi}}}, status: {phase: Pending}}"},
        Filled{"ConfigMap", "ConfigMap", "data: {k: v}", "{metadata: {generation: null}, status: null, data: {k: v}}"},
        Filled{"SecretOfPlainTexts", "Secret", "stringData: {k: v}",
               "{type: Opaque, data: {k: dg==}, stringData: null}"},
        Filled{"CustomObject", "Widget", "", "{metadata: {generation: 1, uid: '*'}, status: null}"},
        Filled{"StatusThatIsASubResource", "Widget", "status: {phase: Done}", "status: null"},
        Filled{"StatusOfAPod", "Pod", "{spec: {containers: [{name: c, image: i}]}, status: {phase: Running}}",
               "status: {phase: Pending}"},
        Filled{"StatusThatIsNoSubResource", "Gadget", "status: {phase: Done}", "status: {phase: Done}"}),
    kTitle);

TEST_F(CreateConformance, AServicesNameMayBeginWithADigitAndHasNoDots) {
  EXPECT_EQ(Post(Core("services"), Body("Service", "1a", "spec: {ports: [{port: 80}]}")).status, 201);
  EXPECT_EQ(Post(Core("services"), Body("Service", "a.b", "spec: {ports: [{port: 80}]}")).status, 422);
}

TEST_F(CreateConformance, ANamespaceIsActiveAndNamedInALabel) {
  EXPECT_TRUE(Has(Get("/api/v1/namespaces/" + ns()).json,
                  fmt::format("{{metadata: {{labels: {{kubernetes.io/metadata.name: {}}}}}, spec: {{finalizers: "
                              "[kubernetes]}}, status: {{phase: Active}}}}",
                              ns())));
}

TEST_F(CreateConformance, AnEventIsKeptAsItIs) {
  const std::string event = fmt::format(
      "{{involvedObject: {{kind: Pod, namespace: {0}, name: a}}, reason: Because, message: words, type: Normal, count: "
      "1}}",
      ns());
  const Answer made = Post(Core("events"), Body("Event", "e.1", event));
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(
      Has(made.json, "{reason: Because, message: words, type: Normal, count: 1, metadata: {generation: null}}"));
}

TEST_F(CreateConformance, AnEventOfAnotherNamespaceIsRefused) {
  const Answer made =
      Post(Core("events"), Body("Event", "e.1", "{involvedObject: {kind: Pod, namespace: other, name: a}}"));
  EXPECT_EQ(made.status, 422) << made;
  EXPECT_TRUE(absl::StrContains(Why(made), "involvedObject.namespace: ")) << made;
}

TEST_F(CreateConformance, TheWriterOwnsTheFields) {
  const Answer made = Post(Configs() + "?fieldManager=me", ConfigBody("a", R"({"l":"v"})", R"({"k":"v"})"));
  EXPECT_TRUE(Has(made.json, R"(
metadata:
  managedFields:
  - manager: me
    operation: Update
    apiVersion: v1
    time: "*"
    fieldsType: FieldsV1
    fieldsV1: {"f:data": {".": {}, "f:k": {}}, "f:metadata": {"f:labels": {".": {}, "f:l": {}}}}
    subresource: null
)"));
}

TEST_F(CreateConformance, TheUserAgentIsTheManagerOfWhoNamesNone) {
  EXPECT_TRUE(Has(MakeConfig("a", "{}", R"({"k":"v"})").json, "metadata: {managedFields: [{manager: conformance}]}"));
}

// ---- fields that the server ignores ----

TEST_F(CreateConformance, TheServersOwnMetadataIsNotTheClients) {
  const Answer made = Post(Widgets(), WidgetBody("a", "", R"(uid: mine, creationTimestamp: "2001-01-01T00:00:00Z",
      generation: 7, selfLink: /here, deletionTimestamp: "2001-01-01T00:00:00Z", deletionGracePeriodSeconds: 5)"));
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(Has(made.json, "metadata: {generation: 1, deletionTimestamp: null, deletionGracePeriodSeconds: null}"));
  EXPECT_NE(made.uid(), "mine");
  EXPECT_NE(made.At({"metadata", "creationTimestamp"}), "2001-01-01T00:00:00Z");
}

TEST_F(CreateConformance, AVersionMustNotBeSet) {
  const Answer made = Post(Configs(), Body("ConfigMap", "a", "", "resourceVersion: '5'"));
  EXPECT_EQ(StatusText(made), "500 : resourceVersion should not be set on objects to be created");
}

// ---- names ----

TEST_F(CreateConformance, AnExistingNameIsRefused) {
  MakeConfig("a");
  const Answer again = Post(Configs(), ConfigBody("a"));
  EXPECT_EQ(StatusText(again), "409 AlreadyExists: configmaps \"a\" already exists");
  EXPECT_TRUE(Has(again.json, R"({kind: Status, apiVersion: v1, metadata: {}, status: Failure, code: 409,
      details: {name: a, kind: configmaps, group: null}})"));
}

TEST_F(CreateConformance, AnExistingCustomNameIsRefusedWithItsGroup) {
  MakeWidget("a");
  const Answer again = Post(Widgets(), WidgetBody("a"));
  EXPECT_EQ(StatusText(again), "409 AlreadyExists: widgets.conformance.example.com \"a\" already exists");
  EXPECT_TRUE(Has(again.json, "details: {name: a, kind: widgets, group: conformance.example.com}"));
}

TEST_F(CreateConformance, ANameIsMadeOfAPrefix) {
  std::set<std::string> names;
  for (int i = 0; i < 5; ++i) {
    const Answer made = Post(Configs(), Body("ConfigMap", "", "", "generateName: pre-"));
    EXPECT_EQ(made.status, 201) << made;
    const std::string name = NameOf(made.json);
    EXPECT_EQ(name.size(), 9) << name;
    EXPECT_TRUE(name.starts_with("pre-")) << name;
    EXPECT_TRUE(Has(made.json, "metadata: {generateName: pre-}"));
    names.insert(name);
  }
  EXPECT_EQ(names.size(), 5);
}

TEST_F(CreateConformance, ALongPrefixIsCutAndANameGoesBeforeAPrefix) {
  const Answer named = Post(Configs(), Body("ConfigMap", "a", "", "generateName: pre-"));
  EXPECT_TRUE(Has(named.json, "metadata: {name: a, generateName: pre-}"));
  const Answer made = Post(Configs(), Body("ConfigMap", "", "", "generateName: " + std::string(80, 'a')));
  EXPECT_EQ(NameOf(made.json).size(), 63) << made;
}

TEST_F(CreateConformance, ANameIsDemanded) {
  const Answer made = Post(Configs(), Body("ConfigMap", ""));
  EXPECT_EQ(StatusText(made),
            "422 Invalid: ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required");
  EXPECT_EQ(Why(made), "FieldValueRequired metadata.name: Required value: name or generateName is required");
}

struct BadMetadata {
  const char* title;
  const char* plural;
  const char* kind;
  const char* name;
  const char* meta;
  const char* why;  // The beginning of the causes.
};

class BadMetadataConformance : public WriteConformance, public ::testing::WithParamInterface<BadMetadata> {};

TEST_P(BadMetadataConformance, IsRefusedWithItsField) {
  const BadMetadata& row = GetParam();
  const bool widget = std::string_view(row.kind) == "Widget";
  const Answer made = Post(widget ? Widgets() : Core(row.plural), Body(row.kind, row.name, "", row.meta));
  EXPECT_EQ(made.status, 422) << made;
  EXPECT_EQ(made.reason(), "Invalid");
  EXPECT_EQ(Why(made).substr(0, std::string_view(row.why).size()), row.why) << made;
}

INSTANTIATE_TEST_SUITE_P(
    , BadMetadataConformance,
    ::testing::Values(
        BadMetadata{"UpperCase", "configmaps", "ConfigMap", "Upper", "",
                    "FieldValueInvalid metadata.name: Invalid value: \"Upper\": a lowercase RFC 1123 subdomain must"},
        BadMetadata{"Underscore", "configmaps", "ConfigMap", "a_b", "",
                    "FieldValueInvalid metadata.name: Invalid value: \"a_b\": a lowercase RFC 1123 subdomain must"},
        BadMetadata{"CustomName", "", "Widget", "a/b", "", "FieldValueInvalid metadata.name: Invalid value: \"a/b\": "},
        BadMetadata{"CustomUpperCase", "", "Widget", "Up", "",
                    "FieldValueInvalid metadata.name: Invalid value: \"Up\": a lowercase RFC 1123 subdomain must"},
        BadMetadata{"LabelValue", "configmaps", "ConfigMap", "a", "labels: {a: 'not ok'}",
                    "FieldValueInvalid metadata.labels: Invalid value: \"not ok\": a valid label must be"},
        BadMetadata{"LabelKey", "configmaps", "ConfigMap", "a", "labels: {'not ok': a}",
                    "FieldValueInvalid metadata.labels: Invalid value: \"not ok\": name part must consist of"},
        BadMetadata{"CustomLabelValue", "", "Widget", "a", "labels: {a: 'not ok'}",
                    "FieldValueInvalid metadata.labels: Invalid value: \"not ok\": a valid label must be"},
        BadMetadata{"AnnotationKey", "configmaps", "ConfigMap", "a", "annotations: {'/x': a}",
                    "FieldValueInvalid metadata.annotations: Invalid value: \"/x\": prefix part must be non-empty"},
        BadMetadata{"OwnerWithoutUid", "configmaps", "ConfigMap", "a",
                    "ownerReferences: [{apiVersion: v1, kind: Pod, name: p}]",
                    "FieldValueInvalid metadata.ownerReferences.uid: Invalid value: \"\": must not be empty"},
        BadMetadata{
            "OwnerWithoutVersion", "configmaps", "ConfigMap", "a", "ownerReferences: [{kind: Pod, name: p, uid: u}]",
            "FieldValueInvalid metadata.ownerReferences.apiVersion: Invalid value: \"\": version must not be empty"},
        BadMetadata{"TwoControllers", "configmaps", "ConfigMap", "a",
                    "ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u, controller: true}, "
                    "{apiVersion: v1, kind: Pod, name: q, uid: v, controller: true}]",
                    "FieldValueInvalid metadata.ownerReferences: Invalid value: "},
        BadMetadata{"Finalizer", "configmaps", "ConfigMap", "a", "finalizers: ['not ok']",
                    "FieldValueInvalid metadata.finalizers: Invalid value: \"not ok\": name part must consist of"},
        BadMetadata{"UnqualifiedFinalizer", "configmaps", "ConfigMap", "a", "finalizers: [plain]",
                    "FieldValueInvalid metadata.finalizers[0]: Invalid value: \"plain\": name is neither a standard "
                    "finalizer name nor is it fully qualified"}),
    kTitle);

TEST_F(CreateConformance, AnUnqualifiedFinalizerOfACustomKindIsOnlyWarnedOf) {
  const Answer made = Post(Widgets(), WidgetBody("a", "", "finalizers: [plain]"));
  EXPECT_EQ(made.status, 201);
  EXPECT_EQ(made.Header("Warning"),
            "299 - \"metadata.finalizers: \\\"plain\\\": prefer a domain-qualified finalizer name to avoid accidental "
            "conflicts with other finalizer writers\"");
  Patch(Widgets("a"), kMerge, J("metadata: {finalizers: null}"));
}

// ---- namespaces ----

TEST_F(CreateConformance, AMissingNamespaceIsNotFound) {
  const Answer made = Post("/api/v1/namespaces/nowhere/configmaps", ConfigBody("a"));
  EXPECT_EQ(StatusText(made), "404 NotFound: namespaces \"nowhere\" not found");
  EXPECT_TRUE(Has(made.json, "details: {name: nowhere, kind: namespaces}"));
}

TEST_F(CreateConformance, NothingIsMadeInATerminatingNamespace) {
  const std::string other = MakeNamespace();
  const std::string configs = fmt::format("/api/v1/namespaces/{}/configmaps", other);
  EXPECT_EQ(Post(configs, Body("ConfigMap", "held", "", "finalizers: [example.com/hold]")).status, 201);
  Delete("/api/v1/namespaces/" + other);
  const Answer made = Post(configs, ConfigBody("a"));
  EXPECT_EQ(StatusText(made),
            fmt::format("403 Forbidden: configmaps \"a\" is forbidden: unable to create new content in "
                        "namespace {0} because it is being terminated",
                        other));
  EXPECT_EQ(Why(made), fmt::format("NamespaceTerminating metadata.namespace: namespace {} is being terminated", other));
  EXPECT_EQ(Patch(configs + "/held", kMerge, J("metadata: {finalizers: null}")).status, 200);
}

TEST_F(CreateConformance, TheBodyIsOfTheNamespaceOfTheRequest) {
  const Answer made = Post(Configs(), Body("ConfigMap", "a", "", "namespace: other"));
  EXPECT_EQ(StatusText(made),
            "400 BadRequest: the namespace of the provided object does not match the namespace sent on the request");
}

TEST_F(CreateConformance, TheBodyIsOfTheKindOfTheRequest) {
  const Answer made = Post(Configs(), Body("Pod", "a"));
  EXPECT_EQ(made.status, 400) << made;
  EXPECT_EQ(made.reason(), "BadRequest");
}

TEST_F(CreateConformance, TheBodyIsOfTheVersionOfTheRequest) {
  const Answer made =
      Post(Widgets(), R"({"apiVersion":"conformance.example.com/v2","kind":"Widget","metadata":{"name":"a"}})");
  EXPECT_EQ(made.status, 400) << made;
}

TEST_F(CreateConformance, ACustomBodyNamesItsKind) {
  EXPECT_EQ(Post(Widgets(), R"({"metadata":{"name":"a"}})").status, 400);
}

TEST_F(CreateConformance, ABuiltInBodyNeedNotNameItsKind) {
  const Answer made = Post(Configs(), R"({"metadata":{"name":"a"}})");
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(Has(made.json, "{kind: ConfigMap, apiVersion: v1}"));
}

TEST_F(CreateConformance, ABodyMayBeYaml) {
  const Answer made = Post(Configs(), "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  k: v\n",
                           {{"Content-Type", "application/yaml"}});
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(Has(made.json, "data: {k: v}"));
}

// ---- options ----

TEST_F(CreateConformance, ADryRunStoresNothing) {
  const Answer made = Post(Configs() + "?dryRun=All", ConfigBody("a"));
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_TRUE(Has(made.json, "metadata: {uid: '*', creationTimestamp: '*', resourceVersion: null}"));
  EXPECT_EQ(Get(Configs("a")).status, 404);
}

TEST_F(CreateConformance, ADryRunIsRefusedLikeAnother) {
  MakeConfig("a");
  EXPECT_EQ(Post(Configs() + "?dryRun=All", ConfigBody("a")).status, 409);
}

// reads/errors_test has the other options that are refused.
TEST_F(CreateConformance, AManagerOfControlCharactersIsRefused) {
  EXPECT_EQ(StatusText(Post(Configs() + "?fieldManager=a%01b", ConfigBody("a"))),
            "422 Invalid: CreateOptions.meta.k8s.io \"\" is invalid: fieldManager: Invalid value: \"a\\x01b\": "
            "invalid character U+0001 (at position 1)");
}

TEST_F(CreateConformance, UnknownFieldsAreWarnedOf) {
  const Answer made = Post(Widgets() + "?fieldValidation=Warn", WidgetBody("a", "spec: {replica: 1}"));
  EXPECT_EQ(made.status, 201) << made;
  EXPECT_EQ(made.Header("Warning"), "299 - \"unknown field \\\"spec.replica\\\"\"");
  EXPECT_TRUE(Has(made.json, "spec: {replica: null}"));
}

}  // namespace
}  // namespace basalt::conformance
