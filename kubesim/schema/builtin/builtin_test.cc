#include "kubesim/schema/builtin/builtin.h"

#include <gtest/gtest.h>

#include <map>

#include "kubesim/schema/builtin/testing.h"
#include "kubesim/schema/core/name_rules.h"
#include "kubesim/schema/core/testing.h"

namespace basalt::kubesim {
namespace {

json::value Created(std::string_view kind, std::string_view text) {
  json::value object = Y(text);
  PrepareCreate(Type(kind), object);
  return object;
}

std::string Wrong(std::string_view kind, std::string_view text) {
  std::vector<FieldError> errors;
  ValidateObject(Type(kind), Created(kind, text), &errors);
  return Words(errors);
}

TEST(BuiltinTypesTest, NamesAreUnique) {
  std::map<std::string, int> seen;
  for (const TypeInfoPtr& type : BuiltinTypes()) EXPECT_EQ(++seen[type->Resource()], 1) << type->Resource();
  EXPECT_EQ(Type("Deployment").ApiVersion(), "apps/v1");
  EXPECT_EQ(Type("Pod").ApiVersion(), "v1");
  EXPECT_EQ(Type("Pod").short_names, std::vector<std::string>{"po"});
  EXPECT_FALSE(Type("Node").namespaced);
}

TEST(PodTest, DefaultsAreTheApiServers) {
  const json::value pod = Created("Pod", R"(
metadata: {name: a, namespace: d, creationTimestamp: null}
spec:
  containers:
  - {name: c, image: busybox, ports: [{containerPort: 80}], resources: {limits: {cpu: 1}}}
  - {name: d, image: 'reg:5000/x:v1'}
  volumes: [{name: v}, {name: s, secret: {secretName: x}}]
status: {phase: Running}
)");
  EXPECT_EQ(pod, Y(R"(
metadata: {name: a, namespace: d}
spec:
  containers:
  - name: c
    image: busybox
    ports: [{containerPort: 80, protocol: TCP}]
    resources: {limits: {cpu: '1'}, requests: {cpu: '1'}}
    imagePullPolicy: Always
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
  - name: d
    image: 'reg:5000/x:v1'
    resources: {}
    imagePullPolicy: IfNotPresent
    terminationMessagePath: /dev/termination-log
    terminationMessagePolicy: File
  volumes: [{name: v, emptyDir: {}}, {name: s, secret: {secretName: x, defaultMode: 420}}]
  restartPolicy: Always
  dnsPolicy: ClusterFirst
  schedulerName: default-scheduler
  terminationGracePeriodSeconds: 30
  securityContext: {}
  enableServiceLinks: true
  priority: 0
  preemptionPolicy: PreemptLowerPriority
  tolerations:
  - {key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
  - {key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, tolerationSeconds: 300}
status: {phase: Pending, qosClass: Burstable}
)"));
}

TEST(PodTest, WrongSpecsAreNamed) {
  const struct {
    std::string_view spec, want;
  } rows[] = {
      {"{}", "spec.containers: Required value\n"},
      {"{containers: [{name: a, image: i}]}", ""},
      {"{containers: [{image: i}]}", "spec.containers[0].name: Required value\n"},
      {"{containers: [{name: a}]}", "spec.containers[0].image: Required value\n"},
      {"{containers: [{name: a, image: i}, {name: a, image: i}]}", "spec.containers[1].name: Duplicate value: \"a\"\n"},
      {"{restartPolicy: Sometimes, containers: [{name: a, image: i}]}",
       "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", "
       "\"Never\"\n"},
      {"{containers: [{name: a, image: i, volumeMounts: [{name: v, mountPath: /x}]}]}",
       "spec.containers[0].volumeMounts[0].name: Not found: \"v\"\n"},
      {"{containers: [{name: a, image: i, ports: [{containerPort: 70000}]}]}",
       "spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive\n"},
      {"{containers: [{name: a, image: i, env: [{name: X, value: 1}]}]}",
       "spec.containers[0].env[0].value: Invalid value: \"number\": spec.containers[0].env[0].value in body must be of "
       "type string: \"number\"\n"},
      {"{containers: [{name: a, image: i, resources: {requests: {cpu: 100m, memory: 1.5Gi, x/y: 1e3}}}]}", ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Wrong("Pod", std::string("{metadata: {name: a, namespace: d}, spec: ") + std::string(row.spec) + "}"),
              row.want)
        << row.spec;
  }
}

TEST(PodTest, OnlyImagesDeadlinesAndTolerationsMayChange) {
  const json::value live = Created("Pod",
                                   "{metadata: {name: a, namespace: d}, spec: {tolerations: [{key: a, operator: "
                                   "Exists}, {operator: Exists}], containers: [{name: c, image: i}]}}");
  const auto change = [&](std::string_view patch) {
    json::value next = Y(patch);
    PrepareUpdate(Type("Pod"), live, next);
    std::vector<FieldError> errors;
    ValidateUpdate(Type("Pod"), live, next, &errors);
    return errors.size();
  };
  const std::string head = "{metadata: {name: a, namespace: d}, spec: ";
  EXPECT_EQ(change(head + "{tolerations: [{key: a, operator: Exists}, {operator: Exists}], containers: [{name: c, "
                          "image: other, imagePullPolicy: Always}]}}"),
            0u);
  EXPECT_EQ(change(head + "{tolerations: [{key: b}, {key: a, operator: Exists}, {operator: Exists}], containers: "
                          "[{name: c, image: i}]}}"),
            0u);
  EXPECT_EQ(change(head + "{containers: [{name: c, image: i}]}}"), 1u);
  EXPECT_EQ(change(head + "{tolerations: [{key: a, operator: Exists}, {operator: Exists}], nodeName: n, containers: "
                          "[{name: c, image: i}]}}"),
            1u);
}

TEST(MetadataTest, SyntaxIsChecked) {
  const struct {
    std::string_view kind, metadata;
    std::string want;
  } rows[] = {
      {"ConfigMap", "{name: a.b-c, namespace: d}", ""},
      {"ConfigMap", "{generateName: a-, namespace: d}", ""},
      {"Namespace", "{name: a.b}", "metadata.name: Invalid value: \"a.b\": " + CheckDnsLabel("a.b") + "\n"},
      {"Node", "{name: a.b}", ""},
      {"Node", "{name: a, namespace: d}", "metadata.namespace: Forbidden: not allowed on this type\n"},
      {"ConfigMap", "{name: a, namespace: d, labels: {a/b: x, c: ''}}", ""},
      {"ConfigMap", "{name: a, namespace: d, labels: {a/b/c: x}}",
       "metadata.labels: Invalid value: \"a/b/c\": " + CheckQualifiedName("a/b/c") + "\n"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Wrong(row.kind, std::string("{metadata: ") + std::string(row.metadata) + "}"), row.want) << row.metadata;
  }
  json::value big = Y("{metadata: {name: a, namespace: d, annotations: {}}}");
  big.at("metadata").at("annotations").as_object()["k"] = std::string(300 << 10, 'x');
  std::vector<FieldError> errors;
  ValidateMetadata(Type("ConfigMap"), big, &errors);
  EXPECT_EQ(Words(errors), "metadata.annotations: Too long: may not be more than 262144 bytes\n");
}

TEST(ServiceTest, APortWithoutATargetTargetsItself) {
  for (const char* target : {"", ", targetPort: 0", ", targetPort: ''"}) {
    const std::string text =
        std::string("{metadata: {name: a, namespace: d}, spec: {ports: [{port: 80") + target + "}]}}";
    const json::value service = Created("Service", text);
    EXPECT_EQ(service.at("spec").at("ports").at(0).at("targetPort"), json::value(80)) << target;
  }
  const json::value named =
      Created("Service", "{metadata: {name: a, namespace: d}, spec: {ports: [{port: 80, targetPort: web}]}}");
  EXPECT_EQ(named.at("spec").at("ports").at(0).at("targetPort"), json::value("web"));
}

TEST(ServiceTest, AddressesAreAllottedOnceAndKept) {
  json::value service = Created("Service", "{metadata: {name: a, namespace: d}, spec: {ports: [{port: 80}]}}");
  EXPECT_TRUE(AllotClusterIp(service, 4));
  EXPECT_FALSE(AllotClusterIp(service, 5));
  EXPECT_EQ(service.at("spec").at("clusterIP"), "10.96.0.5");
  json::value next = Y("{metadata: {name: a, namespace: d}, spec: {ports: [{port: 81}]}}");
  PrepareUpdate(Type("Service"), service, next);
  EXPECT_EQ(next.at("spec").at("clusterIP"), "10.96.0.5");
  std::vector<FieldError> errors;
  ValidateUpdate(Type("Service"), service, next, &errors);
  EXPECT_TRUE(errors.empty());
  json::value headless = Created("Service", "{metadata: {name: a, namespace: d}, spec: {clusterIP: None}}");
  EXPECT_FALSE(AllotClusterIp(headless, 6));
  EXPECT_EQ(headless.at("spec").at("clusterIPs"), json::array{"None"});
  errors.clear();
  ValidateObject(Type("Service"), headless, &errors);
  EXPECT_EQ(Words(errors), "");
}

TEST(WorkloadTest, SelectorsMustMatchAndStay) {
  const std::string head = "{metadata: {name: a, namespace: d}, spec: ";
  const std::string pod = "spec: {containers: [{name: a, image: i}]}";
  EXPECT_EQ(Wrong("Deployment",
                  head + "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, " + pod + "}}}"),
            "");
  EXPECT_EQ(
      Wrong("Deployment",
            head + "{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: c}}, " + pod + "}}}"),
      "spec.template.metadata.labels: Invalid value: {\"a\":\"c\"}: `selector` does not match template `labels`\n");
  EXPECT_NE(Wrong("Job", head + "{template: {" + pod + "}}}").find("restartPolicy"), std::string::npos);
  const json::value live = Created("Deployment", head + "{selector: {matchLabels: {a: b}}, template: {}}}");
  EXPECT_EQ(live.at("spec").at("strategy").at("rollingUpdate").at("maxSurge"), "25%");
  json::value next = live;
  next.at("spec").at("selector") = Y("{matchLabels: {a: c}}");
  std::vector<FieldError> errors;
  ValidateUpdate(Type("Deployment"), live, next, &errors);
  EXPECT_EQ(Words(errors), "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable\n");
}

TEST(BuiltinTest, ObjectsOfStrangeShapesNeverCrash) {
  const std::string_view shapes[] = {
      "null",
      "[]",
      "1",
      "{}",
      "{metadata: 1, spec: []}",
      "{metadata: {labels: 1}, spec: {containers: {}}}",
      "{metadata: {}, spec: {containers: [1, null, []], volumes: [1], template: 1, ports: [1], strategy: 1}, data: []}",
      "{metadata: [], spec: {template: {spec: 1, metadata: 1}, selector: 1}}"};
  for (const TypeInfoPtr& type : BuiltinTypes()) {
    for (const std::string_view shape : shapes) {
      auto documents = ParseYamlDocuments(shape);
      json::value object = documents->empty() ? json::value() : documents->front();
      const json::value original = object;
      std::vector<FieldError> errors;
      PrepareCreate(*type, object);
      ValidateObject(*type, object, &errors);
      json::value next = original;
      PrepareUpdate(*type, object, next);
      ValidateUpdate(*type, object, next, &errors);
      ValidateUpdate(*type, original, original, &errors);
      ValidateObject(*type, original, &errors);
      EXPECT_FALSE(errors.empty());
    }
  }
}

}  // namespace
}  // namespace basalt::kubesim
