// Tests deploy/admission on a real API server, without the suite. The server refuses the cases that the tables of
// tests/crds refuse, with the same messages, and accepts the cases that they accept: both with our definitions and with
// those of live clusters, which have fewer rules. The server's answer has every default.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/testing/status_matchers.h"
#include "tests/conformance/client.h"
#include "tests/crds/case.h"
#include "tests/realkube/admission_server.h"

namespace basalt::realkube {
namespace {

using conformance::Answer;
using crds::Case;

// Applies the policies of jobs, and waits until all of them are in force.
void ApplyPolicies(AdmissionServer& server) {
  server.Apply("/deploy/admission");
  const json::value probe = *ParseJson(
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"probe"},"spec":{"minAvailable":1,
          "tasks":[{"name":"a","replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]}})");
  json::value circle = probe, pod = probe, advice = probe, gang = probe;
  circle.at("spec").at("tasks").at(0).get_object()["dependsOn"] = json::object{{"name", json::array{"a"}}};
  pod.at("spec").at("tasks").at(0).at("template").get_object()["metadata"] =
      json::object{{"labels", json::object{{"a", "b/c"}}}};
  advice.at("spec").get_object()["policies"] = json::array{json::object{{"exitCode", 3}}};
  gang.at("spec").get_object()["minAvailable"] = 2;
  ExpectSoon([&] { return !server.Create(circle).ok(); });
  ExpectSoon([&] { return !server.Create(pod).ok(); });
  ExpectSoon([&] { return !server.Create(gang).ok(); });
  ExpectSoon([&] { return !server.Create(advice).AllHeaders("warning").empty(); });
  ExpectSoon([&] { return server.Create(probe).json.at("spec").get_object().contains("schedulerName"); });
  const Answer made = server.Make(probe);
  ASSERT_TRUE(made.ok()) << made;
  json::value changed = made.json;
  changed.at("spec").at("tasks").at(0).at("template").get_object()["metadata"] =
      json::object{{"labels", json::object{{"a", "b"}}}};
  ExpectSoon([&] { return !server.Replace(changed).ok(); });
  server.Delete(made.json);
}

bool IsJob(const Case& one) { return FindString(one.base, "kind") == "Job"; }
bool IsGroup(const Case& one) { return FindString(one.base, "kind") == "PodGroup"; }

// Returns true if upstream has no such rule. The policies then only warn, unless our definitions refuse the case.
bool IsAdvice(const Case& one, bool ours) {
  return (one.memory.starts_with('X') || one.memory.starts_with('N')) && !(ours && one.beyond.empty());
}

// More than one policy refuses these cases, and the server names only one: the defaults of each task remain when a user
// scales it.
const std::set<std::string_view> kRefusedTwice = {"MayScaleToZero", "U2_ScaledBelowTheMinimum", "U3_BothTiers",
                                                  "U4_TaskRemoved"};

// Values in documents for users that upstream's definition does not know. A submission through Basalt stores these
// values in the form that upstream knows.
const std::set<std::string_view> kAcceptedByOursAlone = {
    "accepted/Job_AnyEventByItsOtherName", "accepted/Job_UnknownByItsOtherName", "accepted/Job_PartitionsWithoutTotal"};

std::string Warnings(const Answer& answer) { return fmt::format("{}", fmt::join(answer.AllHeaders("warning"), "\n")); }

void ExpectTheTable(AdmissionServer& server) {
  size_t refused = 0, warned = 0;
  for (const Case& one : crds::LoadCasesAndExamples()) {
    if (!IsJob(one) && !(IsGroup(one) && !one.update)) continue;
    SCOPED_TRACE(one.name);
    const Answer answer = server.AnswerTo(one);
    const std::string text = answer.message();
    if (kRefusedTwice.contains(std::string_view(one.name).substr(one.name.find('/') + 1))) {
      EXPECT_FALSE(answer.ok());
    } else if (one.refused.empty()) {
      EXPECT_EQ(answer.ok(), server.ours() || !kAcceptedByOursAlone.contains(one.name)) << answer;
    } else if (IsAdvice(one, server.ours())) {
      ++warned;
      EXPECT_TRUE(answer.ok()) << answer;
      EXPECT_TRUE(Names(Warnings(answer), one.refused)) << "wanted " << one.refused << "\ngot " << Warnings(answer);
    } else {
      ++refused;
      EXPECT_FALSE(answer.ok());
      // A definition that is not ours has messages of its own.
      if (server.ours() || text.find("ValidatingAdmissionPolicy") != std::string::npos) ExpectNamed(one, text);
    }
  }
  EXPECT_GT(refused, 140u);
  EXPECT_GE(warned, 7u);
}

struct Default {
  std::string_view rule;
  crds::Changes set;
  std::vector<std::string> remove;
  crds::Changes stored;
};

void ExpectTheDefaults(AdmissionServer& server) {
  const json::value job = *ParseJson(
      R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{"name":"j"},"spec":{"tasks":[
          {"name":"a","replicas":2,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}},
          {"name":"b","replicas":4,"template":{"spec":{"containers":[{"name":"c","image":"i"}]}}}]}})");
  const std::vector<Default> table = {
      {"D1", {}, {}, {{"/spec/queue", "default"}}},
      {"D1", {{"/spec/queue", ""}}, {}, {{"/spec/queue", "default"}}},
      {"D1", {{"/spec/queue", "team"}}, {}, {{"/spec/queue", "team"}}},
      {"D2", {}, {}, {{"/spec/schedulerName", "volcano"}}},
      {"D2", {{"/spec/schedulerName", "other"}}, {}, {{"/spec/schedulerName", "other"}}},
      {"D3", {{"/spec/maxRetry", 0}}, {}, {{"/spec/maxRetry", 3}}},
      {"D3", {{"/spec/maxRetry", 5}}, {}, {{"/spec/maxRetry", 5}}},
      {"D4", {{"/spec/tasks/0/name", ""}}, {}, {{"/spec/tasks/0/name", "default0"}, {"/spec/tasks/1/name", "b"}}},
      {"D4", {}, {"/spec/tasks/1/name"}, {{"/spec/tasks/0/name", "a"}, {"/spec/tasks/1/name", "default1"}}},
      {"D5",
       {{"/spec/tasks/1/template/spec/hostNetwork", true}},
       {},
       {{"/spec/tasks/1/template/spec/dnsPolicy", "ClusterFirstWithHostNet"},
        {"/spec/tasks/0/template/spec/dnsPolicy", nullptr}}},
      {"D5",
       {{"/spec/tasks/1/template/spec/hostNetwork", true}, {"/spec/tasks/1/template/spec/dnsPolicy", "Default"}},
       {},
       {{"/spec/tasks/1/template/spec/dnsPolicy", "Default"}}},
      {"D6", {}, {}, {{"/spec/tasks/0/minAvailable", 2}, {"/spec/tasks/1/minAvailable", 4}}},
      {"D6", {{"/spec/tasks/0/minAvailable", 0}}, {}, {{"/spec/tasks/0/minAvailable", 0}}},
      {"D6", {}, {"/spec/tasks/0/replicas"}, {{"/spec/tasks/0/minAvailable", 0}}},
      {"D6",
       {{"/spec/tasks/1/partitionPolicy", *ParseJson(R"({"totalPartitions":2,"partitionSize":2,"minPartitions":1})")}},
       {},
       {{"/spec/tasks/1/minAvailable", 2}, {"/spec/minAvailable", 4}}},
      {"D7", {{"/spec/tasks/0/maxRetry", 0}}, {}, {{"/spec/tasks/0/maxRetry", 3}, {"/spec/tasks/1/maxRetry", 3}}},
      {"D7", {{"/spec/tasks/0/maxRetry", 1}}, {}, {{"/spec/tasks/0/maxRetry", 1}}},
      {"D8", {}, {}, {{"/spec/minAvailable", 6}}},
      {"D8", {{"/spec/minAvailable", 0}, {"/spec/tasks/1/minAvailable", 1}}, {}, {{"/spec/minAvailable", 3}}},
      {"D8", {{"/spec/minAvailable", 2}}, {}, {{"/spec/minAvailable", 2}}},
      {"D9",
       {{"/spec/plugins", *ParseJson(R"({"pytorch":["--port=1"]})")}},
       {},
       {{"/spec/plugins/svc", json::array{}}}},
      {"D9",
       {{"/spec/plugins", *ParseJson(R"({"tensorflow":[],"svc":["x"]})")}},
       {},
       {{"/spec/plugins/svc", json::array{"x"}}}},
      {"D9", {{"/spec/plugins", *ParseJson(R"({"env":[]})")}}, {}, {{"/spec/plugins/svc", nullptr}}},
      {"D9", {{"/spec/plugins", *ParseJson(R"({"ray":["--head=a"]})")}}, {}, {{"/spec/plugins/svc", json::array{}}}},
      {"D10",
       {{"/spec/plugins", *ParseJson(R"({"mpi":["--master=a"]})")}},
       {},
       {{"/spec/plugins/ssh", json::array{}}, {"/spec/plugins/svc", json::array{}}}},
  };
  for (const Default& one : table) {
    const Case change{.set = one.set, .remove = one.remove};
    const Answer answer = server.Create(change.Changed(job));
    SCOPED_TRACE(fmt::format("{} {}", one.rule, answer.body));
    EXPECT_TRUE(answer.ok());
    for (const auto& [pointer, wanted] : one.stored) {
      const json::value* got = crds::At(answer.json, pointer);
      EXPECT_TRUE(got == nullptr ? wanted.is_null() : *got == wanted) << pointer << ", wanted " << ToText(wanted);
    }
  }
}

// kubectl sends the same manifest again, without the values that the server had set by default.
void ExpectTheSameManifestAgain(AdmissionServer& server) {
  const std::string file = server.WriteFile(
      "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: again}\nspec:\n  plugins: {pytorch: []}\n"
      "  tasks:\n  - {replicas: 2, template: {spec: {hostNetwork: true, containers: [{name: c, image: i}]}}}\n"
      "  - {name: b, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}\n");
  // A separate policy handles updates and may come into force a moment after the others.
  EXPECT_THAT(server.cluster().Kubectl({"apply", "-f", file}), basalt::testing::IsOk());
  EXPECT_TRUE(conformance::Eventually([&] { return server.cluster().Kubectl({"apply", "-f", file}).ok(); }));
  const auto stored = server.cluster().Kubectl({"get", "jobs.batch.volcano.sh", "again", "-o",
                                                "jsonpath={.spec.tasks[*].name} {.spec.tasks[*].maxRetry} "
                                                "{.spec.tasks[0].template.spec.dnsPolicy}"});
  EXPECT_EQ(stored.value_or(""), "default0 b 3 3 ClusterFirstWithHostNet");

  const std::string empty = server.WriteFile(
      "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: empty}\nspec:\n  queue: ''\n"
      "  schedulerName: ''\n  maxRetry: 0\n  minAvailable: 0\n"
      "  tasks:\n  - {replicas: 2, template: {spec: {containers: [{name: c, image: i}]}}}\n");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(server.cluster().Kubectl({"apply", "-f", empty}), basalt::testing::IsOk());
    const auto given = server.cluster().Kubectl(
        {"get", "jobs.batch.volcano.sh", "empty", "-o",
         "jsonpath={.spec.queue} {.spec.schedulerName} {.spec.maxRetry} {.spec.minAvailable}"});
    EXPECT_EQ(given.value_or(""), "default volcano 3 2") << "applied " << i + 1 << " times";
  }
}

// Tests cases that a definition's rules, and therefore the tables for them, cannot express.
void ExpectTheRest(AdmissionServer& server) {
  const auto job = [](int tasks, std::string_view name) {
    json::array list;
    for (int i = 0; i < tasks; ++i) {
      list.push_back(*ParseJson(fmt::format(
          R"({{"name":"t{}","replicas":1,"template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}})", i)));
    }
    json::value made = *ParseJson(R"({"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job"})");
    made.get_object()["metadata"] = json::object{{"name", name}};
    made.get_object()["spec"] = json::object{{"tasks", std::move(list)}};
    return made;
  };
  const auto task = [](json::value& made, size_t i) -> json::object& {
    return made.at("spec").at("tasks").at(i).get_object();
  };
  json::value twice = job(300, "j");
  task(twice, 299)["name"] = "t250";
  EXPECT_NE(server.Create(twice).message().find("spec.tasks[299].name 't250' is a name of two tasks"),
            std::string::npos);

  // The name has 55 characters.
  json::value long_name = job(12, "jjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjjj");
  EXPECT_TRUE(server.Create(long_name).ok());
  task(long_name, 11)["name"] = "t1234";
  EXPECT_NE(server.Create(long_name).message().find("spec.tasks[11].name must make '<job>-<task>-<position>'"),
            std::string::npos);

  json::value chain = job(40, "j");
  for (size_t i = 1; i < 40; ++i) {
    task(chain, i)["dependsOn"] = json::object{{"name", json::array{fmt::format("t{}", i - 1)}}};
  }
  EXPECT_TRUE(server.Create(chain).ok()) << server.Create(chain);
  json::value circle = job(40, "j");
  for (size_t i = 0; i < 40; ++i) {
    task(circle, i)["dependsOn"] = json::object{{"name", json::array{fmt::format("t{}", (i + 1) % 40)}}};
  }
  EXPECT_NE(server.Create(circle).message().find("goes round in a circle: t0, t1,"), std::string::npos);

  for (const int tasks : {700, 3000}) {
    const Answer large = server.Create(job(tasks, "large"));
    EXPECT_TRUE(large.ok()) << large;
    EXPECT_EQ(ToText(large.json.at("spec").at("minAvailable")), fmt::format("{}", tasks));
    EXPECT_TRUE(Warnings(large).empty()) << Warnings(large);
  }

  json::value whole = job(1, "j");
  task(whole, 0)["topologyPolicy"] = "restricted";
  for (const auto& [resources, taken] : std::map<std::string, bool>{{R"({"requests":{"cpu":"2000m"}})", true},
                                                                    {R"({"requests":{"cpu":4}})", true},
                                                                    {R"({"limits":{"cpu":"1"}})", true},
                                                                    {R"({"limits":{"cpu":"0.5"}})", false},
                                                                    {R"({"requests":{"memory":"1Gi"}})", false},
                                                                    {R"({"requests":{"cpu":"2.5"}})", false}}) {
    task(whole, 0)["template"].at("spec").at("containers").at(0).get_object()["resources"] = *ParseJson(resources);
    EXPECT_EQ(server.Create(whole).ok(), taken) << resources;
  }
}

void ExpectGroupsAndPods(AdmissionServer& server) {
  ASSERT_TRUE(server
                  .Send("POST", "/api/v1/namespaces", *ParseJson(R"({"metadata":{"name":"team","annotations":{
                            "scheduling.volcano.sh/queue-name":"theirs"}}})"))
                  .ok());
  const auto queue = [&](std::string_view ns, std::string_view spec) {
    const json::value group = *ParseJson(fmt::format(
        R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"PodGroup","metadata":{{"name":"g"}},"spec":{}}})",
        spec));
    return server.Send("POST", crds::CollectionOf(group, ns) + "?dryRun=All", group).At({"spec", "queue"});
  };
  EXPECT_TRUE(conformance::Eventually([&] { return queue("team", "{}") == "theirs"; }));
  EXPECT_EQ(queue("team", R"({"queue":"default"})"), "theirs");
  EXPECT_EQ(queue("team", R"({"queue":"mine"})"), "mine");
  EXPECT_EQ(queue("default", "{}"), "default");

  const auto pod = [&](std::string_view scheduler, std::string_view annotations, std::string_view more = "") {
    return server.Send("POST", "/api/v1/namespaces/default/pods?dryRun=All",
                       *ParseJson(fmt::format(
                           R"({{"metadata":{{"name":"p","annotations":{{{}}}}},"spec":{{"schedulerName":"{}",
                               "containers":[{{"name":"c","image":"i"}}]{}}}}})",
                           annotations, scheduler, more)));
  };
  const auto says = [](const Answer& answer, std::string_view words) {
    return answer.message().find(words) != std::string::npos;
  };
  // The pod is admitted once its service account exists.
  EXPECT_TRUE(conformance::Eventually([&] { return pod("volcano", "").ok(); }));
  constexpr std::string_view kWrong = "must be a positive integer, or a percentage from 1% to 99%";
  for (const std::string_view key : {"volcano.sh/jdb-min-available", "volcano.sh/jdb-max-unavailable"}) {
    const auto with = [&key](std::string_view value) { return fmt::format(R"("{}":"{}")", key, value); };
    EXPECT_TRUE(conformance::Eventually([&] { return says(pod("volcano", with("0")), kWrong); }));
    for (const std::string_view value : {"0", "-1", "", "x", "1.5", "0%", "100%", "-1%", "%"}) {
      const Answer answer = pod("volcano", with(value));
      EXPECT_TRUE(says(answer, fmt::format("{} '{}' {}", key, value, kWrong))) << value << answer;
      EXPECT_TRUE(pod("default-scheduler", with(value)).ok());
    }
    for (const std::string_view value : {"1", "12", "1%", "99%"})
      EXPECT_TRUE(pod("volcano", with(value)).ok()) << value;
  }
  EXPECT_TRUE(says(pod("volcano", R"("volcano.sh/jdb-min-available":"1","volcano.sh/jdb-max-unavailable":"1")"),
                   "metadata.annotations has both"));

  constexpr std::string_view kGate = "scheduling.volcano.sh/queue-allocation-gate";
  const std::string asks = fmt::format(R"("{}":"true")", kGate);
  EXPECT_EQ(pod("volcano", asks).At({"spec", "schedulingGates"}), "");
  server.Apply("/deploy/admission/queue-gate");
  const std::string gated = fmt::format(R"([{{"name":"{}"}}])", kGate);
  EXPECT_TRUE(conformance::Eventually([&] { return pod("volcano", asks).At({"spec", "schedulingGates"}) == gated; }));
  EXPECT_EQ(pod("volcano", asks, ",\"schedulingGates\":" + gated).At({"spec", "schedulingGates"}), gated);
  EXPECT_EQ(pod("volcano", asks, R"(,"schedulingGates":[{"name":"a/b"}])").At({"spec", "schedulingGates"}),
            fmt::format(R"([{{"name":"a/b"}},{{"name":"{}"}}])", kGate));
  EXPECT_EQ(pod("volcano", "").At({"spec", "schedulingGates"}), "");
  EXPECT_EQ(pod("default-scheduler", asks).At({"spec", "schedulingGates"}), "");
}

// A controller's write about a job has nothing to do with its spec. An object that was stored before the policies
// existed stays writable, whatever rule it breaks.
TEST(AdmissionOfJobs, LeavesAloneWhatWasStoredBefore) {
  const std::string definitions =
      std::filesystem::exists(crds::LiveDefinitions()) ? crds::LiveDefinitions() : std::string();
  const std::unique_ptr<AdmissionServer> server = AdmissionServer::Start(definitions);
  ASSERT_NE(server, nullptr);
  std::vector<json::value> stored;
  for (const Case& one : crds::LoadCases()) {
    if (!IsJob(one) || one.update || one.refused.empty()) continue;
    json::value manifest = one.Changed(one.base);
    manifest.at("metadata").get_object()["name"] = fmt::format("r{}", stored.size());
    Answer made = server->Make(manifest);
    if (made.ok()) stored.push_back(std::move(made.json));
  }
  EXPECT_GT(stored.size(), server->ours() ? 15u : 50u);
  ApplyPolicies(*server);
  for (const json::value& job : stored) {
    SCOPED_TRACE(ToText(job));
    for (const auto& [subresource, change] : std::vector<std::pair<std::string_view, std::string_view>>{
             {"/status", R"({"status":{"state":{"phase":"Pending","reason":"InvalidJob"}}})"},
             {"", R"({"metadata":{"labels":{"a":"b"},"finalizers":["a.example/b"]}})"},
             {"", R"({"metadata":{"finalizers":null}})"}}) {
      const Answer answer = server->Patch(job, subresource, change);
      EXPECT_TRUE(answer.ok()) << answer;
    }
  }
}

void ExpectAll(const std::string& definitions) {
  const std::unique_ptr<AdmissionServer> server = AdmissionServer::Start(definitions);
  ASSERT_NE(server, nullptr);
  ApplyPolicies(*server);
  ExpectTheTable(*server);
  ExpectTheDefaults(*server);
  ExpectTheSameManifestAgain(*server);
  ExpectTheRest(*server);
  ExpectGroupsAndPods(*server);
}

TEST(AdmissionOfJobs, WithOurDefinitions) { ExpectAll(""); }

TEST(AdmissionOfJobs, WithLiveDefinitions) {
  if (!std::filesystem::exists(crds::LiveDefinitions())) {
    GTEST_SKIP() << "skipped: the live definitions are absent: " << crds::LiveDefinitions();
  }
  ExpectAll(crds::LiveDefinitions());
}

}  // namespace
}  // namespace basalt::realkube
