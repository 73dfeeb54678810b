#include "kubesim/schema/table/table.h"

#include <gtest/gtest.h>

#include "kubesim/schema/builtin/testing.h"
#include "kubesim/schema/core/testing.h"
#include "kubesim/schema/table/json_path.h"
#include "kubesim/schema/table/pod_cells.h"

namespace basalt::kubesim {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1767225600 + 90);  // 2026-01-01T00:01:30Z.

json::value Cells(const TypeInfo& type, std::string_view object) {
  const json::value value = Y(object);
  return MakeTable(type, {&value}, kNow, "None", json::object()).at("rows").at(0).at("cells");
}

TEST(JsonPathTest, FindsWhatColumnsAskFor) {
  const json::value root = Y(R"(
status: {phase: Running, list: [a, b, c], conditions: [{type: Ready, status: 'True', n1: 3}, {type: Other, status: 'False', n1: 5}]}
metadata: {labels: {app.io/name: x}}
)");
  const struct {
    std::string_view path, want;
  } rows[] = {
      {".status.phase", "[\"Running\"]"},
      {"{.status.phase}", "[\"Running\"]"},
      {"$.status['phase']", "[\"Running\"]"},
      {".metadata.labels.app\\.io/name", "[\"x\"]"},
      {".metadata.labels['app.io/name']", "[\"x\"]"},
      {".status.list[1]", "[\"b\"]"},
      {".status.list[-1]", "[\"c\"]"},
      {".status.list[0:2]", "[\"a\",\"b\"]"},
      {".status.list[*]", "[\"a\",\"b\",\"c\"]"},
      {".status.conditions[?(@.type==\"Ready\")].status", "[\"True\"]"},
      {".status.conditions[?(@.type != 'Ready')].status", "[\"False\"]"},
      {".status.conditions[?(@.n1 >= 4)].type", "[\"Other\"]"},
      {".status.conditions[?(@.missing)].type", "[]"},
      {".nothing.here[3]", "[]"},
  };
  for (const auto& row : rows) {
    auto path = JsonPath::Parse(row.path);
    ASSERT_TRUE(path.ok()) << row.path << " " << path.status();
    json::array got;
    for (const json::value* found : path->Find(root)) got.push_back(*found);
    EXPECT_EQ(ToText(got), row.want) << row.path;
  }
  for (const std::string_view bad : {"..a", ".a[", ".a[x]", ".a[?(b==1)]", ".a[?(@.b like 1)]", ".a[1:x]"}) {
    EXPECT_FALSE(JsonPath::Parse(bad).ok()) << bad;
  }
}

TEST(HumanDurationTest, RoundsLikeKubectl) {
  const struct {
    int64_t seconds;
    std::string_view want;
  } rows[] = {{-5, "<invalid>"},    {0, "0s"},
              {119, "119s"},        {120, "2m"},
              {150, "2m30s"},       {660, "11m"},
              {10799, "179m"},      {10800, "3h"},
              {11100, "3h5m"},      {36000, "10h"},
              {172800, "2d"},       {180000, "2d2h"},
              {864000, "10d"},      {86400 * 800, "2y70d"},
              {86400 * 4000, "10y"}};
  for (const auto& row : rows) EXPECT_EQ(HumanDuration(absl::Seconds(row.seconds)), row.want) << row.seconds;
}

TEST(TableTest, PodsShowReadinessAndReason) {
  const std::string head =
      "{metadata: {name: a, creationTimestamp: '2026-01-01T00:00:00Z'}, spec: {nodeName: n1, containers: [{}, {}]}, "
      "status: ";
  EXPECT_EQ(ToText(Cells(
                Type("Pod"),
                head + "{phase: Running, podIP: 10.0.0.1, containerStatuses: [{ready: true, restartCount: 2}, {}]}}")),
            R"(["a","1/2","Running","2","90s","10.0.0.1","n1","<none>","<none>"])");
  const struct {
    std::string_view status, want;
  } rows[] = {
      {"{phase: Pending}", "Pending"},
      {"{phase: Failed, reason: Evicted}", "Evicted"},
      {"{phase: Failed, containerStatuses: [{state: {terminated: {exitCode: 3, reason: Error}}}]}", "Error"},
      {"{phase: Failed, containerStatuses: [{state: {terminated: {exitCode: 3}}}]}", "ExitCode:3"},
      {"{phase: Pending, containerStatuses: [{state: {waiting: {reason: ContainerCreating}}}]}", "ContainerCreating"},
      {"{phase: Pending, initContainerStatuses: [{state: {running: {}}}]}", "Init:0/0"},
  };
  for (const auto& row : rows)
    EXPECT_EQ(PodStatusWord(Y(head + std::string(row.status) + "}")), row.want) << row.status;
  EXPECT_EQ(PodStatusWord(Y("{metadata: {deletionTimestamp: x}, status: {phase: Running}}")), "Terminating");
}

TEST(TableTest, CustomKindsShowTheirColumns) {
  TypeInfo type;
  type.builtin = false;
  type.kind = "Job";
  type.columns = {{"STATUS", "string", "", "", ".status.state.phase", 0},
                  {"minAvailable", "integer", "", "", ".status.minAvailable", 0},
                  {"AGE", "date", "", "", ".metadata.creationTimestamp", 0},
                  {"QUEUE", "string", "", "", ".spec.queue", 1}};
  const json::value object =
      Y("{metadata: {name: j, creationTimestamp: '2026-01-01T00:00:00Z'}, status: {minAvailable: 3, state: {phase: "
        "Running}}}");
  const json::value table = MakeTable(type, {&object}, kNow, "", {{"resourceVersion", "7"}});
  EXPECT_EQ(ToText(table.at("rows").at(0).at("cells")), R"(["j","Running",3,"90s",null])");
  EXPECT_EQ(table.at("columnDefinitions").at(4).at("priority"), 1);
  EXPECT_EQ(table.at("rows").at(0).at("object").at("kind"), "PartialObjectMetadata");
  EXPECT_EQ(table.at("rows").at(0).at("object").at("metadata").at("name"), "j");
  EXPECT_EQ(table.at("metadata").at("resourceVersion"), "7");
  EXPECT_EQ(MakeTable(type, {&object}, kNow, "Object", nullptr).at("rows").at(0).at("object"), object);
}

TEST(TableTest, CoreKindsShowKubectlsColumns) {
  EXPECT_EQ(ToText(Cells(Type("Service"),
                         "{metadata: {name: s}, spec: {type: ClusterIP, clusterIP: None, ports: [{port: 80, protocol: "
                         "TCP}], selector: {a: b}}}")),
            R"(["s","ClusterIP","None","<none>","80/TCP","<unknown>","a=b"])");
  EXPECT_EQ(ToText(Cells(Type("ConfigMap"), "{metadata: {name: c}, data: {a: b}}")), R"(["c",1,"<unknown>"])");
  EXPECT_EQ(ToText(Cells(Type("Node"),
                         "{metadata: {name: w, labels: {node-role.kubernetes.io/worker: ''}}, status: {conditions: "
                         "[{type: Ready, status: 'True'}], nodeInfo: {kubeletVersion: v1.32.0}}}")),
            R"(["w","Ready","worker","<unknown>","v1.32.0","<none>","<none>","<unknown>","<unknown>","<unknown>"])");
  EXPECT_EQ(ToText(Cells(Type("Event"),
                         "{metadata: {name: e}, type: Warning, reason: R, message: m, count: 2, lastTimestamp: "
                         "'2026-01-01T00:01:00Z', involvedObject: {kind: Pod, name: p}}")),
            R"(["30s","Warning","R","pod/p","","","m","<unknown>",2,"e"])");
}

TEST(TableTest, KindsOfLimitsShowTheirNumbers) {
  EXPECT_EQ(ToText(Cells(Type("PodDisruptionBudget"),
                         "{metadata: {name: a}, spec: {minAvailable: 1}, status: {disruptionsAllowed: 2}}")),
            R"(["a","1","N/A",2,"<unknown>"])");
  EXPECT_EQ(ToText(Cells(Type("ResourceQuota"),
                         "{metadata: {name: a}, status: {hard: {pods: '10', cpu: '2', limits.cpu: '4'}, "
                         "used: {pods: '3', limits.cpu: '1'}}}")),
            R"(["a","cpu: 0/2, pods: 3/10","limits.cpu: 1/4","<unknown>"])");
  EXPECT_EQ(ToText(Cells(Type("PriorityClass"), "{metadata: {name: a}, value: 7, globalDefault: true}")),
            R"(["a",7,true,"<unknown>",""])");
}

TEST(TableTest, EveryKindHasCellsForStrangeObjects) {
  for (const TypeInfoPtr& type : BuiltinTypes()) {
    for (const std::string_view shape :
         {"{}", "{metadata: 1, spec: 1, status: 1}",
          "{spec: {containers: [1], ports: [1]}, status: {conditions: [1], containerStatuses: [1]}}"}) {
      const json::value object = Y(shape);
      const json::value table = MakeTable(*type, {&object}, kNow, "Metadata", nullptr);
      EXPECT_EQ(table.at("rows").at(0).at("cells").as_array().size(), table.at("columnDefinitions").as_array().size());
    }
  }
}

}  // namespace
}  // namespace basalt::kubesim
