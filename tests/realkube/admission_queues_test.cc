// Tests the rules of deploy/admission about a single queue on a real API server, without the suite. The server refuses
// the cases that the tables of tests/crds refuse, with the same messages, and accepts the cases that they accept: both
// with our definitions and with those of live clusters, which have no rules. The server's answer has every default.
// admission_test.cc tests the rules about two queues.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/conformance/client.h"
#include "tests/crds/case.h"
#include "tests/realkube/admission_server.h"

namespace basalt::realkube {
namespace {

using conformance::Answer;
using crds::Case;

json::value Queue(std::string_view name, std::string_view spec = "{}", std::string_view annotations = "{}") {
  return *ParseJson(fmt::format(
      R"({{"apiVersion":"scheduling.volcano.sh/v1beta1","kind":"Queue","metadata":{{"name":"{}","annotations":{}}},"spec":{}}})",
      name, annotations, spec));
}

bool IsQueue(const Case& one) { return FindString(one.base, "kind") == "Queue"; }

// Applies the policies of queues, and waits until all of them are in force.
void ApplyPolicies(AdmissionServer& server) {
  server.Apply("/deploy/admission");
  ExpectSoon([&] { return server.Create(Queue("p", R"({"weight":0})")).ok(); });
  ExpectSoon([&] { return !server.Create(Queue("p", R"({"capability":{"cpu":-1}})")).ok(); });
  ExpectSoon([&] { return !server.Create(Queue("p", "{}", R"({"volcano.sh/hierarchy":"a/b"})")).ok(); });
  const json::value bent = Queue("p", "{}", R"({"volcano.sh/hierarchy":"a","volcano.sh/hierarchy-weights":"1"})");
  ExpectSoon([&] { return server.Create(bent).At({"metadata", "annotations", "volcano.sh/hierarchy"}) == "root/a"; });
  ASSERT_TRUE(server.Make(Queue("closing")).ok());
  const Answer closing = server.Patch(Queue("closing"), "/status", R"({"status":{"state":"Closing"}})");
  ASSERT_TRUE(closing.ok()) << closing;
  ExpectSoon([&] { return !server.Patch(closing.json, "?dryRun=All", R"({"spec":{"weight":3}})").ok(); });
  EXPECT_TRUE(server.Delete(closing.json).ok());
  ASSERT_TRUE(server.Make(Queue("default")).ok());
  ExpectSoon([&] { return !server.Delete(Queue("default"), "?dryRun=All").ok(); });
}

void ExpectStored(const json::value& stored, const crds::Changes& wanted) {
  for (const auto& [pointer, value] : wanted) {
    const json::value* got = crds::At(stored, pointer);
    EXPECT_TRUE(got == nullptr ? value.is_null() : *got == value)
        << pointer << " is " << (got == nullptr ? "not there" : ToText(*got)) << ", wanted " << ToText(value);
  }
}

void ExpectTheTable(AdmissionServer& server) {
  size_t refused = 0, completed = 0;
  for (const Case& one : crds::LoadCasesAndExamples()) {
    if (!IsQueue(one)) continue;
    SCOPED_TRACE(one.name);
    const Answer answer = server.AnswerTo(one);
    if (one.refused.empty() || !one.given.empty()) {
      EXPECT_TRUE(answer.ok()) << answer;
      ExpectStored(answer.json, one.given.empty() ? one.stored : one.given);
      completed += one.given.empty() ? 0 : 1;
    } else {
      ++refused;
      EXPECT_FALSE(answer.ok());
      ExpectNamed(one, answer.message());
    }
  }
  EXPECT_GE(refused, 30u);
  EXPECT_GE(completed, 4u);
}

// Applies a weight of 0, and then the same manifest again.
void ExpectTheSameManifestAgain(AdmissionServer& server) {
  const std::string file = server.WriteFile(ToText(Queue("again", R"({"weight":0})")));
  for (int i = 0; i < 2; ++i) {
    const auto applied = server.cluster().Kubectl({"apply", "-f", file});
    EXPECT_TRUE(applied.ok()) << applied.status() << ", applied " << i + 1 << " times";
  }
  const Answer again = server.Patch(Queue("again"), "?dryRun=All", "{}");
  EXPECT_EQ(again.json.at("spec").at("weight"), 1) << again;
  EXPECT_TRUE(server.Delete(Queue("again")).ok());
}

void ExpectRootAndDefaultStay(AdmissionServer& server) {
  for (const std::string_view name : {"root", "default"}) {
    server.Make(Queue(name));  // The call is refused if the queue exists.
    const Answer answer = server.Delete(Queue(name));
    EXPECT_NE(answer.message().find(fmt::format("queue {} cannot be deleted", name)), std::string::npos) << answer;
  }
}

// The queue has as many resources as our definition accepts, because every rule looks at each resource.
void ExpectALargeQueueIsTaken(AdmissionServer& server) {
  json::object amounts;
  for (int i = 0; i < 256; ++i) amounts[fmt::format("example.com/a-resource-with-quite-a-long-name-{}", i)] = "1000";
  json::value large = Queue("large");
  large.at("spec") =
      json::object{{"capability", amounts}, {"deserved", amounts}, {"guarantee", json::object{{"resource", amounts}}}};
  const Answer answer = server.Create(large);
  EXPECT_TRUE(answer.ok()) << answer;
}

void ExpectAll(const std::string& definitions) {
  const std::unique_ptr<AdmissionServer> server = AdmissionServer::Start(definitions);
  ASSERT_NE(server, nullptr);
  ASSERT_NO_FATAL_FAILURE(ApplyPolicies(*server));
  ExpectTheTable(*server);
  ExpectTheSameManifestAgain(*server);
  ExpectRootAndDefaultStay(*server);
  ExpectALargeQueueIsTaken(*server);
}

TEST(AdmissionOfQueues, WithOurDefinitions) { ExpectAll(""); }

TEST(AdmissionOfQueues, WithLiveDefinitions) {
  if (!std::filesystem::exists(crds::LiveDefinitions())) {
    GTEST_SKIP() << "skipped: the live definitions are absent: " << crds::LiveDefinitions();
  }
  ExpectAll(crds::LiveDefinitions());
}

// An object that was stored before the policies existed stays writable, whatever rule it breaks. The fields that a
// write changes must follow the rules.
TEST(AdmissionOfQueues, LeavesAloneWhatWasStoredBefore) {
  if (!std::filesystem::exists(crds::LiveDefinitions())) {
    GTEST_SKIP() << "skipped: the live definitions are absent: " << crds::LiveDefinitions();
  }
  const std::unique_ptr<AdmissionServer> server = AdmissionServer::Start(crds::LiveDefinitions());
  ASSERT_NE(server, nullptr);
  std::vector<json::value> stored;
  for (const Case& one : crds::LoadCases()) {
    if (!IsQueue(one) || one.update || one.refused.empty()) continue;
    json::value manifest = one.Changed(one.base);
    const std::string name = fmt::format("r{}", stored.size());
    if (FindString(manifest.at("spec"), "parent") == FindString(manifest.at("metadata"), "name")) {
      manifest.at("spec").at("parent") = json::string(name);
    }
    manifest.at("metadata").at("name") = json::string(name);
    Answer made = server->Make(manifest);
    if (made.ok()) stored.push_back(std::move(made.json));
  }
  EXPECT_GE(stored.size(), 13u);
  // A queue without a spec has no parent either. A client may set root as the parent of such a queue in any state of
  // the queue.
  json::value bare = Queue("bare");
  bare.get_object().erase("spec");
  ASSERT_TRUE(server->Make(bare).ok());
  ASSERT_TRUE(server->Patch(bare, "/status", R"({"status":{"state":"Closing"}})").ok());

  ApplyPolicies(*server);
  for (const json::value& queue : stored) {
    SCOPED_TRACE(ToText(queue));
    for (const auto& [subresource, change] : std::vector<std::pair<std::string_view, std::string_view>>{
             {"/status", R"({"status":{"state":"Open"}})"},
             {"", R"({"metadata":{"labels":{"a":"b"},"finalizers":["a.example/b"]}})"},
             {"", R"({"metadata":{"finalizers":null}})"},
             {"", R"({"spec":{"weight":2}})"},
             {"", R"({"metadata":{"annotations":{"volcano.sh/closed-by-parent":"true"}}})"},
             {"", R"({"spec":{"parent":"root"}})"}}) {
      const Answer answer = server->Patch(queue, subresource, change);
      EXPECT_TRUE(answer.ok()) << change << answer;
    }
    for (const std::string_view change : {R"({"spec":{"capability":{"cpu":-7}}})", R"({"spec":{"weight":0}})",
                                          R"({"metadata":{"annotations":{"volcano.sh/hierarchy":"a/b/c/d"}}})"}) {
      EXPECT_FALSE(server->Patch(queue, "", change).ok()) << change;
    }
  }
  EXPECT_FALSE(server->Patch(bare, "?dryRun=All", R"({"spec":{"parent":"root","priority":1}})").ok());
  EXPECT_FALSE(server->Patch(bare, "?dryRun=All", R"({"spec":{"parent":"root","weight":2}})").ok());
  const Answer parent = server->Patch(bare, "", R"({"spec":{"parent":"root"}})");
  EXPECT_TRUE(parent.ok()) << parent;
}

}  // namespace
}  // namespace basalt::realkube
