#include "kubesim/schema/table/table.h"

#include <gtest/gtest.h>

#include "kubesim/schema/builtin/testing.h"
#include "kubesim/schema/core/testing.h"
#include "kubesim/schema/table/pod_cells.h"

namespace basalt::kubesim {
namespace {

const absl::Time kNow = absl::FromUnixSeconds(1767225600 + 90);  // 2026-01-01T00:01:30Z.

json::value Cells(const TypeInfo& type, std::string_view object) {
  const json::value value = Y(object);
  return MakeTable(type, {&value}, kNow, "None", json::object()).at("rows").at(0).at("cells");
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
                  {"QUEUE", "string", "", "", ".spec.queue", 1},
                  {"FILTER", "string", "", "", ".status.conditions[0].type", 0}};
  const json::value object =
      Y("{metadata: {name: j, creationTimestamp: '2026-01-01T00:00:00Z'}, status: {minAvailable: 3, state: {phase: "
        "Running}}}");
  const json::value table = MakeTable(type, {&object}, kNow, "", {{"resourceVersion", "7"}});
  EXPECT_EQ(ToText(table.at("rows").at(0).at("cells")), R"(["j","Running",3,"90s",null,null])");
  EXPECT_EQ(table.at("columnDefinitions").at(4).at("priority"), 1);
  EXPECT_EQ(table.at("rows").at(0).at("object").at("kind"), "PartialObjectMetadata");
  EXPECT_EQ(table.at("rows").at(0).at("object").at("metadata").at("name"), "j");
  EXPECT_EQ(table.at("metadata").at("resourceVersion"), "7");
  EXPECT_EQ(MakeTable(type, {&object}, kNow, "Object", nullptr).at("rows").at(0).at("object"), object);
}

TEST(TableTest, CoreKindsThatPeopleLookAtShowTheirColumns) {
  EXPECT_EQ(ToText(Cells(Type("Node"),
                         "{metadata: {name: w}, spec: {unschedulable: true}, status: {conditions: [{type: Ready, "
                         "status: 'True'}]}}")),
            R"(["w","Ready,SchedulingDisabled","<unknown>"])");
  EXPECT_EQ(ToText(Cells(Type("Namespace"), "{metadata: {name: team}, status: {phase: Active}}")),
            R"(["team","Active","<unknown>"])");
  EXPECT_EQ(ToText(Cells(Type("Event"),
                         "{metadata: {name: e}, type: Warning, reason: R, message: m, count: 2, lastTimestamp: "
                         "'2026-01-01T00:01:00Z', involvedObject: {kind: Pod, name: p}}")),
            R"(["30s","Warning","R","pod/p","m","e"])");
  EXPECT_EQ(ToText(Cells(Type("Deployment"),
                         "{metadata: {name: d}, spec: {replicas: 3}, status: {readyReplicas: 2, updatedReplicas: 3, "
                         "availableReplicas: 2}}")),
            R"(["d","2/3",3,2,"<unknown>"])");
  EXPECT_EQ(ToText(Cells(Type("ConfigMap"), "{metadata: {name: c}, data: {a: b}}")), R"(["c","<unknown>"])");
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
