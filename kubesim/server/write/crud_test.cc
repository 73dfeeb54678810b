#include <gtest/gtest.h>

#include "kubesim/server/test_server.h"

namespace basalt::kubesim {
namespace {

constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kPodA[] = "/api/v1/namespaces/default/pods/a";

TEST(CrudTest, ACreatedPodHasWhatTheServerFillsIn) {
  TestServer server;
  const Reply made = server.MakePod("a");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.At({"metadata", "namespace"}), "default");
  EXPECT_EQ(made.uid().size(), 36U);
  EXPECT_FALSE(made.version().empty());
  EXPECT_EQ(made.At({"metadata", "creationTimestamp"}), "2025-06-15T15:06:40Z");
  EXPECT_EQ(made.At({"status", "phase"}), "Pending");
  EXPECT_EQ(made.At({"spec", "restartPolicy"}), "Always");
  EXPECT_EQ(made.At({"spec", "terminationGracePeriodSeconds"}), "30");
  EXPECT_EQ(http::FindHeader(made.headers, "Date"), "Sun, 15 Jun 2025 15:06:40 GMT");
  const Reply got = server.Get(kPodA);
  EXPECT_EQ(got.status, 200);
  EXPECT_EQ(got.json, made.json);
}

TEST(CrudTest, RefusalsOfCreate) {
  TestServer server;
  ASSERT_EQ(server.MakePod("a").status, 201);
  struct Case {
    const char* what;
    std::string target;
    std::string body;
    int status;
    const char* reason;
    const char* message;
  };
  const Case cases[] = {
      {"a name that is taken", kPods, TestServer::PodBody("a"), 409, "AlreadyExists", "pods \"a\" already exists"},
      {"no such namespace", "/api/v1/namespaces/nowhere/pods", TestServer::PodBody("b"), 404, "NotFound",
       "namespaces \"nowhere\" not found"},
      {"another namespace in the body", kPods, TestServer::PodBody("b", "{}", "", R"(,"namespace":"other")"), 400,
       "BadRequest", "the namespace of the provided object does not match the namespace sent on the request"},
      {"another version", kPods, R"({"apiVersion":"v2","kind":"Pod","metadata":{"name":"b"}})", 400, "BadRequest",
       "the API version in the data (v2) does not match the expected API version (v1)"},
      {"no JSON", kPods, "{", 400, "BadRequest", ""},
      {"an array", kPods, "[]", 400, "BadRequest", ""},
      {"a name that is none", kPods, TestServer::PodBody("A_b"), 422, "Invalid", ""},
      {"no name", kPods, R"({"apiVersion":"v1","kind":"ConfigMap"})", 400, "BadRequest", ""},
      {"an unknown resource", "/api/v1/namespaces/default/podz", TestServer::PodBody("b"), 404, "NotFound",
       "the server could not find the requested resource"},
      {"a resourceVersion", kPods, TestServer::PodBody("b", "{}", "", R"(,"resourceVersion":"5")"), 500, "",
       "resourceVersion should not be set on objects to be created"},
      {"a name in the path", kPodA, TestServer::PodBody("a"), 405, "MethodNotAllowed", ""},
  };
  for (const Case& one : cases) {
    const Reply reply = server.Post(one.target, one.body);
    EXPECT_EQ(reply.status, one.status) << one.what << ": " << reply.body;
    EXPECT_EQ(reply.reason(), one.reason) << one.what;
    if (*one.message != 0) {
      EXPECT_EQ(reply.message(), one.message) << one.what;
    }
    EXPECT_EQ(reply.At({"kind"}), "Status") << one.what;
    EXPECT_EQ(reply.At({"code"}), std::to_string(one.status)) << one.what;
  }
}

TEST(CrudTest, GenerateNameAppendsFiveLetters) {
  TestServer server;
  const Reply made = server.Post("/api/v1/namespaces/default/configmaps",
                                 R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"generateName":"x-"}})");
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.At({"metadata", "name"}).size(), 7U);
  EXPECT_TRUE(made.At({"metadata", "name"}).starts_with("x-"));
}

TEST(CrudTest, AnUpdateWithAStaleVersionIsAConflict) {
  TestServer server;
  Reply made = server.MakeConfig("c");
  json::value object = made.json;
  object.as_object()["data"] = json::object{{"k", "1"}};
  const Reply first = server.Put("/api/v1/namespaces/default/configmaps/c", ToText(object));
  EXPECT_EQ(first.status, 200) << first.body;
  EXPECT_NE(first.version(), made.version());
  object.as_object()["data"] = json::object{{"k", "2"}};
  const Reply second = server.Put("/api/v1/namespaces/default/configmaps/c", ToText(object));
  EXPECT_EQ(second.status, 409);
  EXPECT_EQ(second.reason(), "Conflict");
  EXPECT_EQ(second.message(),
            "Operation cannot be fulfilled on configmaps \"c\": the object has been modified; please apply your "
            "changes to the latest version and try again");
}

TEST(CrudTest, AWriteThatChangesNothingMakesNoRevision) {
  TestServer server;
  const Reply made = server.MakeConfig("c", "", R"({"k":"1"})");
  const Reply same = server.Merge("/api/v1/namespaces/default/configmaps/c", R"({"data":{"k":"1"}})");
  EXPECT_EQ(same.status, 200);
  EXPECT_EQ(same.version(), made.version());
}

TEST(CrudTest, PatchPreconditions) {
  TestServer server;
  const Reply made = server.MakeConfig("c");
  const std::string target = "/api/v1/namespaces/default/configmaps/c";
  const auto patch = [&](const std::string& meta) {
    return server.Merge(target, fmt::format(R"({{"metadata":{{{}}},"data":{{"n":"{}"}}}})", meta, meta.size()));
  };
  EXPECT_EQ(patch(fmt::format(R"("uid":"{}","resourceVersion":"{}")", made.uid(), made.version())).status, 200);
  const Reply stale = patch(fmt::format(R"("resourceVersion":"{}")", made.version()));
  EXPECT_EQ(stale.status, 409) << stale.body;
  const Reply other = patch(R"("uid":"00000000-0000-4000-8000-000000000000")");
  EXPECT_EQ(other.status, 422) << other.body;
  EXPECT_EQ(other.reason(), "Invalid");
  EXPECT_EQ(FindString((*FindPath(other.json, {"details", "causes"})).at(0), "field"), "metadata.uid");
}

TEST(CrudTest, PutWithAnotherUidIsAConflict) {
  TestServer server;
  Reply made = server.MakeConfig("c");
  made.json.at("metadata").as_object()["uid"] = "00000000-0000-4000-8000-000000000000";
  EXPECT_EQ(server.Put("/api/v1/namespaces/default/configmaps/c", ToText(made.json)).status, 409);
}

TEST(CrudTest, StatusAndTheRestAreWrittenApart) {
  TestServer server;
  ASSERT_EQ(server.MakePod("a").status, 201);
  EXPECT_EQ(server.Merge(kPodA, R"({"status":{"phase":"Running"}})").At({"status", "phase"}), "Pending");
  const Reply status =
      server.Merge(std::string(kPodA) + "/status", R"({"status":{"phase":"Running"},"spec":{"nodeName":"n"}})");
  EXPECT_EQ(status.status, 200) << status.body;
  EXPECT_EQ(status.At({"status", "phase"}), "Running");
  EXPECT_EQ(status.At({"spec", "nodeName"}), "");
  EXPECT_EQ(server.Get(std::string(kPodA) + "/status").At({"status", "phase"}), "Running");
}

TEST(CrudTest, PatchFormats) {
  TestServer server;
  ASSERT_EQ(server.MakePod("a", R"({"x":"1"})").status, 201);
  const Reply json_patch =
      server.PatchAs("json-patch+json", kPodA, R"([{"op":"replace","path":"/metadata/labels/x","value":"2"}])");
  EXPECT_EQ(json_patch.At({"metadata", "labels", "x"}), "2") << json_patch.body;
  const Reply tested = server.PatchAs("json-patch+json", kPodA, R"([{"op":"test","path":"/kind","value":"No"}])");
  EXPECT_EQ(tested.status, 422) << tested.body;
  EXPECT_EQ(server.PatchAs("json-patch+json", kPodA, R"({"op":"x"})").status, 400);
  const Reply strategic =
      server.PatchAs("strategic-merge-patch+json", kPodA, R"({"spec":{"containers":[{"name":"c","image":"other"}]}})");
  EXPECT_EQ(strategic.status, 200) << strategic.body;
  EXPECT_EQ(server.PatchAs("json", kPodA, "{}").status, 415);
  EXPECT_EQ(server.Merge(kPods + std::string("/none"), "{}").status, 404);
}

TEST(CrudTest, DryRunChangesNothing) {
  TestServer server;
  const Reply made = server.Post(std::string(kPods) + "?dryRun=All", TestServer::PodBody("a"));
  EXPECT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.At({"status", "phase"}), "Pending");
  EXPECT_EQ(server.Get(kPodA).status, 404);
  ASSERT_EQ(server.MakePod("a").status, 201);
  EXPECT_EQ(server.Do("DELETE", std::string(kPodA) + "?dryRun=All").status, 200);
  EXPECT_EQ(server.Get(kPodA).status, 200);
  EXPECT_EQ(server.Do("DELETE", std::string(kPodA) + "?dryRun=Some").status, 422);
}

TEST(CrudTest, OversizedRequestsAndObjectsAreRefused) {
  TestServer server;
  const std::string big(2 << 20, 'x');
  EXPECT_EQ(server.MakeConfig("c", "", fmt::format(R"({{"k":"{}"}})", big)).status, 500);
  const std::string huge(4 << 20, 'x');
  EXPECT_EQ(server.MakeConfig("c", "", fmt::format(R"({{"k":"{}"}})", huge)).status, 413);
}

TEST(CrudTest, ManagedFieldsNameTheWriter) {
  TestServer server;
  const Reply made = server.Do("POST", "/api/v1/namespaces/default/configmaps",
                               R"({"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c"},"data":{"k":"1"}})",
                               {{"User-Agent", "tester/1.0 (linux)"}});
  const json::value* fields = FindPath(made.json, {"metadata", "managedFields"});
  ASSERT_NE(fields, nullptr) << made.body;
  EXPECT_EQ(FindString(fields->at(0), "manager"), "tester");
}

}  // namespace
}  // namespace basalt::kubesim
