#include "services/jobsvc/api/manifest.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/json.h"
#include "common/base/status.h"
#include "common/rpc/error_details.h"

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kTask =
    R"({"name":"t","replicas":2,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}})";

std::string Manifest(std::string_view metadata, std::string_view spec) {
  return R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":)" + std::string(metadata) +
         R"(,"spec":)" + std::string(spec) + "}";
}
std::string WithMeta(std::string_view metadata) {
  return Manifest(metadata, R"({"tasks":[)" + std::string(kTask) + "]}");
}
// Adds members beside one good task.
std::string WithSpec(std::string_view members) {
  return Manifest(R"({"name":"j"})", R"({"tasks":[)" + std::string(kTask) + "]," + std::string(members) + "}");
}
std::string WithTask(std::string_view task) {
  return Manifest(R"({"name":"j"})", R"({"tasks":[)" + std::string(task) + "]}");
}

struct BadCase {
  std::string text;
  std::string_view words;  // A part of the message.
};

void ExpectRefused(const std::vector<BadCase>& cases) {
  for (const BadCase& c : cases) {
    const auto result = ReadManifest(c.text, "default");
    const std::string text = c.text.substr(0, 300);
    EXPECT_EQ(result.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_NE(ToStd(result.status().message()).find(c.words), std::string_view::npos)
        << text << "\n"
        << result.status().message() << "\nwanted: " << c.words;
  }
}

TEST(ManifestTest, ProgramsReadTheFieldOfEachViolation) {
  struct Case {
    std::string text;
    std::vector<std::string> fields;
  };
  const std::vector<Case> cases = {
      {"[]", {"manifest_json"}},
      {"{}", {"apiVersion", "kind", "spec", "metadata.name"}},
      {WithMeta(R"({"name":"j","annotations":{"x/y":{}}})"), {"metadata.annotations[x/y]"}},
      {Manifest(R"({"name":"j"})", "{}"), {"spec.tasks"}},
  };
  for (const Case& c : cases) {
    const auto details = rpc::BadRequestOf(ReadManifest(c.text, "default").status());
    ASSERT_TRUE(details.has_value()) << c.text;
    std::vector<std::string> fields;
    for (const auto& violation : details->field_violations()) {
      fields.push_back(violation.field());
      EXPECT_NE(violation.description().find(c.text == "[]" ? "manifest" : violation.field()), std::string::npos);
    }
    EXPECT_EQ(fields, c.fields) << c.text;
  }
}

TEST(ManifestTest, AManifestThatIsNoJobIsRefusedByFieldAndRule) {
  ExpectRefused({
      {"", "not valid JSON"},
      {"{", "not valid JSON"},
      {"[]", "manifest: must be an object"},
      {"null", "manifest: must be an object"},
      {R"("text")", "manifest: must be an object"},
      {"{}", "apiVersion: must be batch.volcano.sh/v1alpha1"},
      {"{}", "kind: must be Job"},
      {"{}", "spec: is required"},
      {"{}", "metadata.name: is required"},
      {R"({"apiVersion":"v1","kind":"Job"})", "apiVersion: must be batch.volcano.sh/v1alpha1"},
      {R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Pod"})", "kind: must be Job"},
      {R"({"apiVersion":5,"kind":["Job"]})", "kind: expected a string, found a list"},
      {WithMeta("null"), "metadata.name: is required"},
      {WithMeta("[]"), "metadata: expected an object, found a list"},
      {WithMeta("{}"), "metadata.name: is required"},
      {WithMeta(R"({"name":""})"), "metadata.name: is required"},
      {WithMeta(R"({"name":7})"), "metadata.name: expected a string, found a number"},
      {WithMeta(R"({"generateName":"j-"})"), "metadata.generateName: is not supported; give a name"},
      {WithMeta(R"({"name":"j","namespace":"other"})"), "metadata.namespace: is other, but default was asked for"},
      {WithMeta(R"({"name":"j","labels":["a"]})"), "metadata.labels: expected an object, found a list"},
      {WithMeta(R"({"name":"j","labels":{"a":1}})"), "metadata.labels.a: expected a string, found a number"},
      {WithMeta(R"({"name":"j","annotations":{"x/y":{}}})"), "metadata.annotations[x/y]: expected a string"},
      {Manifest(R"({"name":"j"})", "null"), "spec: is required"},
      {Manifest(R"({"name":"j"})", "5"), "spec: expected an object, found a number"},
      {Manifest(R"({"name":"j"})", "{}"), "spec.tasks"},
  });
}

TEST(ManifestTest, AFieldOfAWrongTypeOrThatDoesNotExistIsNamedWhereItStands) {
  ExpectRefused({
      {WithSpec(R"("minAvailable":"3")"), "spec.minAvailable: expected a number, found a string"},
      {WithSpec(R"("minAvailable":1.5)"), "spec.minAvailable: expected a whole number"},
      {WithSpec(R"("minAvailable":4294967296)"), "spec.minAvailable: 4294967296 is not between"},
      {WithSpec(R"("maxRetry":true)"), "spec.maxRetry: expected a number, found a boolean"},
      {WithSpec(R"("queue":{})"), "spec.queue: expected a string, found an object"},
      {WithSpec(R"("volumes":{})"), "spec.volumes: expected a list, found an object"},
      {WithSpec(R"("plugins":[])"), "spec.plugins: expected an object, found a list"},
      {WithSpec(R"("plugins":{"svc":"x"})"), "spec.plugins.svc: expected a list, found a string"},
      {WithSpec(R"("plugins":{"svc":[1]})"), "spec.plugins.svc[0]: expected a string, found a number"},
      {WithSpec(R"("policies":[{"timeout":"soon"}])"), "spec.policies[0].timeout: 'soon' is not a duration"},
      {WithSpec(R"("policies":[{"action":"RestartJob","evnt":"PodFailed"}])"),
       "spec.policies[0].evnt: there is no such field"},
      {WithSpec(R"("minavailable":3)"), "spec.minavailable: there is no such field"},
      {WithTask("null"), "spec.tasks[0]: must not be null"},
      {WithTask("[]"), "spec.tasks[0]: expected an object, found a list"},
      {WithTask(R"({"name":"t","replicas":"many"})"), "spec.tasks[0].replicas: expected a number, found a string"},
      {WithTask(R"({"name":"t","template":"x"})"), "spec.tasks[0].template: expected an object, found a string"},
      {WithTask(R"({"name":"t","replica":1})"), "spec.tasks[0].replica: there is no such field"},
      {WithTask(R"({"name":"t","dependsOn":{"name":"a"}})"),
       "spec.tasks[0].dependsOn.name: expected a list, found a string"},
  });
}

TEST(ManifestTest, HostileValuesAreRefusedByFieldAndRuleInFewWords) {
  std::string deep = "1";
  for (int i = 0; i < 3000; ++i) deep = "[" + deep + "]";
  const std::string long_name(64, 'n');
  const std::string huge(300'000, 'x');
  ExpectRefused({
      {WithMeta(R"({"name":")" + long_name + R"("})"), "metadata.name"},
      {WithMeta(R"({"name":"a\nb"})"), "metadata.name"},
      {WithMeta(R"({"name":"../x"})"), "metadata.name"},
      {WithTask(R"({"name":")" + long_name + R"(","replicas":1,"template":{"spec":{}}})"), "spec.tasks[0].name"},
      {WithTask(R"({"name":"t","replicas":-1,"template":{"spec":{}}})"), "spec.tasks[0].replicas"},
      {WithSpec(R"("minAvailable":-1)"), "spec.minAvailable"},
      {WithSpec(R"("queue":")" + huge + R"(")"), "spec.queue"},
      {WithMeta(R"({"name":"j","annotations":{"a":)" + deep + "}}"), "not valid JSON"},
      {WithSpec(R"("\u001b[2J)" + huge + R"(":1)"), "there is no such field"},
      {WithMeta(R"({"name":"j","labels":{"\u001b[2J)" + huge + R"(":1}})"), "expected a string"},
      {std::string(4 << 20, '['), "manifest: has 4194304 bytes; Kubernetes takes at most 3145728"},
      {"{\"a\":\"\xff\"}", "not valid JSON"},
      {R"({"metadata":{"name":"\ud800"}})", "not valid JSON"},
  });
  for (const std::string& text :
       {WithSpec(R"("queue":")" + huge + R"(")"), WithMeta(R"({"name":"j","labels":{"\u001b)" + huge + R"(":1}})"),
        WithMeta(R"({"name":")" + huge + R"("})")}) {
    const absl::Status status = ReadManifest(text, "default").status();
    EXPECT_LT(status.message().size(), 2000u) << "words, not the value itself";
    for (const char c : status.message()) EXPECT_TRUE(c == '\n' || c >= ' ');
  }
}

TEST(ManifestTest, SeveralErrorsAreToldAtOnceEachInALineOfItsOwn) {
  const auto result =
      ReadManifest(Manifest(R"({"name":"j"})", R"({"tasks":[{"replicas":"x"}],"queue":1,"no":2})"), "default");
  EXPECT_EQ(ToStd(result.status().message()),
            "spec.tasks[0].replicas: expected a number, found a string\n"
            "spec.queue: expected a string, found a number\n"
            "spec.no: there is no such field");
}

TEST(ManifestTest, VeryManyErrorsAreCutAndCounted) {
  std::string tasks;
  for (int i = 0; i < 1000; ++i) tasks += std::string(i == 0 ? "" : ",") + R"({"name":"_","replicas":1,"template":{}})";
  const absl::Status status = ReadManifest(Manifest(R"({"name":"j"})", R"({"tasks":[)" + tasks + "]}"), "").status();
  const std::string_view message = ToStd(status.message());
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 20);
  EXPECT_NE(message.find(" more)"), std::string_view::npos) << message;
}

TEST(ManifestTest, TheValidatedManifestIsTheStoredOne) {
  const auto result = ReadManifest(
      Manifest(R"({"name":"j","labels":{"a":"b"},"annotations":null})",
               R"({"tasks":[{"replicas":3,"template":{"metadata":{"x":1},"spec":{"restartPolicy":"Never",)"
               R"("unknown":{"kept":[1,2]},"containers":[{"name":"c","image":"i"}]}}}],"plugins":{"svc":null}})"),
      "team");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->job.meta().namespace_(), "team");
  EXPECT_EQ(result->job.spec().min_available(), 3);
  const auto stored = ParseJson(result->json);
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(FindString(*FindPath(*stored, {"metadata"}), "namespace"), "team");
  const json::value& spec = *Find(*stored, "spec");
  EXPECT_EQ(FindString(spec, "queue"), "default");
  EXPECT_EQ(FindString(spec, "schedulerName"), result->job.spec().scheduler_name());
  EXPECT_EQ(FindInt(spec, "minAvailable"), 3);
  EXPECT_EQ(FindInt(spec, "maxRetry"), 3);
  const json::value& task = Find(spec, "tasks")->as_array()[0];
  EXPECT_EQ(FindString(task, "name"), result->job.spec().tasks(0).name());
  EXPECT_NE(FindPath(task, {"template", "spec", "unknown", "kept"}), nullptr) << "the server's to judge";
  EXPECT_NE(FindPath(*stored, {"spec", "plugins", "svc"}), nullptr);
}

// Job spec 2.1: D2, D6, D7, D9, D10.
TEST(ManifestTest, DefaultsOfTasksPluginsAndSchedulerAreStored) {
  const auto result = ReadManifest(
      Manifest(
          R"({"name":"j"})",
          R"({"tasks":[{"name":"master","replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},)"
          R"({"name":"worker","replicas":6,"partitionPolicy":{"totalPartitions":3,"partitionSize":2,)"
          R"("minPartitions":2},"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}],)"
          R"("plugins":{"mpi":[]}})"),
      "team", {.scheduler_name = "ours"});
  ASSERT_TRUE(result.ok()) << result.status();
  const auto stored = ParseJson(result->json);
  ASSERT_TRUE(stored.ok());
  const json::value& spec = *Find(*stored, "spec");
  EXPECT_EQ(FindString(spec, "schedulerName"), "ours");
  const json::array& tasks = Find(spec, "tasks")->as_array();
  EXPECT_EQ(FindInt(tasks[0], "minAvailable"), 1);
  EXPECT_EQ(FindInt(tasks[1], "minAvailable"), 4) << "minPartitions of partitionSize";
  EXPECT_EQ(FindInt(tasks[0], "maxRetry"), 3);
  EXPECT_EQ(FindInt(spec, "minAvailable"), 5);
  for (const char* plugin : {"svc", "ssh"}) EXPECT_NE(FindPath(spec, {"plugins", plugin}), nullptr) << plugin;
}

// A definition that is not ours knows neither Any nor IterationAny, and wants totalPartitions (job spec 14, S4 to S7).
TEST(ManifestTest, WordsOfDocumentsForUsersAreStoredAsEveryDefinitionKnowsThem) {
  const auto result = ReadManifest(
      Manifest(R"({"name":"j"})",
               R"({"policies":[{"event":"Any","action":"RestartJob"}],"tasks":[)"
               R"({"name":"a","replicas":8,"policies":[{"events":["PodFailed","JobUnknown"],"action":"RestartJob"}],)"
               R"("partitionPolicy":{"partitionSize":4,"minPartitions":1},)"
               R"("template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},)"
               R"({"name":"b","replicas":1,"dependsOn":{"name":["a","a"],"iteration":"IterationAny"},)"
               R"("template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]})"),
      "team");
  ASSERT_TRUE(result.ok()) << result.status();
  const auto stored = ParseJson(result->json);
  ASSERT_TRUE(stored.ok());
  const json::value& spec = *Find(*stored, "spec");
  EXPECT_EQ(ToText(*Find(spec, "policies")), R"([{"event":"*","action":"RestartJob"}])");
  const json::array& tasks = Find(spec, "tasks")->as_array();
  EXPECT_EQ(ToText(*FindPath(tasks[0], {"policies"})), R"([{"events":["PodFailed","Unknown"],"action":"RestartJob"}])");
  EXPECT_EQ(FindInt(*Find(tasks[0], "partitionPolicy"), "totalPartitions"), 2);
  EXPECT_EQ(FindString(*Find(tasks[1], "dependsOn"), "iteration"), "any");
}

TEST(ManifestTest, TheStatusIsNotTheUsersToWrite) {
  std::string text = WithMeta(R"({"name":"j"})");
  text.insert(text.size() - 1, R"(,"status":{"state":{"phase":7}})");
  const auto result = ReadManifest(text, "");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->json.find("status"), std::string::npos);
  EXPECT_EQ(result->job.meta().namespace_(), "default");
}

TEST(ManifestTest, ADoubledKeyIsStoredAsItWasValidated) {
  const auto result = ReadManifest(
      Manifest(R"({"name":"first","name":"j"})",
               R"({"tasks":[{"name":"hidden","replicas":9,"template":{}}],"tasks":[)" + std::string(kTask) + "]}"),
      "");
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->job.meta().name(), "j");
  ASSERT_EQ(result->job.spec().tasks_size(), 1);
  EXPECT_EQ(result->job.spec().tasks(0).name(), "t");
  EXPECT_EQ(result->json.find("hidden"), std::string::npos);
}

}  // namespace
}  // namespace basalt::jobsvc
