// Discovery, versions, health and OpenAPI, as far as kubectl and our gateway need them.
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "tests/conformance/harness.h"

namespace basalt::conformance {
namespace {

class DiscoveryConformance : public Conformance {};

// Returns the item of the list whose member `key` has that text, or null if there is none.
json::value ItemWith(const json::value& object, std::string_view list, std::string_view key, std::string_view text) {
  const json::value* items = Find(object, list);
  if (items == nullptr || !items->is_array()) return nullptr;
  for (const json::value& item : items->get_array()) {
    if (FindString(item, key) == text) return item;
  }
  return nullptr;
}

std::string Words(const json::value& object, std::string_view list) {
  std::set<std::string> words;
  const json::value* items = Find(object, list);
  if (items == nullptr || !items->is_array()) return "";
  for (const json::value& item : items->get_array()) words.insert(std::string(item.get_string()));
  return fmt::format("{}", fmt::join(words, " "));
}

constexpr char kAllVerbs[] = "create delete deletecollection get list patch update watch";
constexpr char kOurJobs[] = "/apis/batch.volcano.sh/v1alpha1";

TEST_F(DiscoveryConformance, TheCoreGroupHasVersionOne) {
  const Answer versions = Get("/api");
  EXPECT_EQ(versions.At({"kind"}), "APIVersions");
  EXPECT_EQ(versions.At({"versions"}), R"(["v1"])");
}

TEST_F(DiscoveryConformance, OurGroupsAreListedWithTheirVersions) {
  const Answer groups = Get("/apis");
  EXPECT_EQ(groups.At({"kind"}), "APIGroupList");
  for (const auto& [name, version] : {std::pair<std::string, std::string>{"batch.volcano.sh", "v1alpha1"},
                                      {"bus.volcano.sh", "v1alpha1"},
                                      {"scheduling.volcano.sh", "v1beta1"},
                                      {"apps", "v1"},
                                      {"batch", "v1"},
                                      {"scheduling.k8s.io", "v1"}}) {
    const json::value group = ItemWith(groups.json, "groups", "name", name);
    EXPECT_EQ(At(group, {"preferredVersion", "version"}), version) << name;
    EXPECT_EQ(At(group, {"preferredVersion", "groupVersion"}), name + "/" + version);
    EXPECT_EQ(At(ItemWith(group, "versions", "version", version), {"groupVersion"}), name + "/" + version);
  }
}

TEST_F(DiscoveryConformance, KubernetesOwnGroupsComeBeforeOursWhereTheyShareAName) {
  std::vector<std::string> order;
  const Answer groups = Get("/apis");
  for (const json::value& group : Find(groups.json, "groups")->get_array()) {
    order.push_back(At(group, {"name"}));
  }
  const auto place = [&](std::string_view name) { return std::find(order.begin(), order.end(), name) - order.begin(); };
  EXPECT_LT(place("apps"), place("batch"));
  EXPECT_LT(place("batch"), place("batch.volcano.sh"));
  EXPECT_LT(place("scheduling.k8s.io"), place("batch.volcano.sh"));
  EXPECT_LT(place("batch.volcano.sh"), place("scheduling.volcano.sh"));
}

TEST_F(DiscoveryConformance, AGroupTellsItsVersions) {
  const Answer group = Get("/apis/batch.volcano.sh");
  EXPECT_EQ(group.At({"kind"}), "APIGroup");
  EXPECT_EQ(group.At({"apiVersion"}), "v1");
  EXPECT_EQ(group.At({"name"}), "batch.volcano.sh");
  EXPECT_EQ(group.At({"preferredVersion", "groupVersion"}), "batch.volcano.sh/v1alpha1");
}

struct Served {
  const char* path;
  const char* resource;
  const char* kind;
  const char* singular;
  bool namespaced;
  const char* short_names;
  const char* categories;
  const char* verbs;
};

class ServedResources : public Conformance, public ::testing::WithParamInterface<Served> {};

TEST_P(ServedResources, AreListedWithEverythingThatClientsResolveNamesBy) {
  const Served& row = GetParam();
  const Answer list = Get(row.path);
  EXPECT_EQ(list.At({"kind"}), "APIResourceList");
  const json::value resource = ItemWith(list.json, "resources", "name", row.resource);
  EXPECT_EQ(At(resource, {"kind"}), row.kind);
  EXPECT_EQ(At(resource, {"singularName"}), row.singular);
  EXPECT_EQ(At(resource, {"namespaced"}), row.namespaced ? "true" : "false");
  EXPECT_EQ(Words(resource, "shortNames"), row.short_names);
  EXPECT_EQ(Words(resource, "categories"), row.categories);
  EXPECT_EQ(Words(resource, "verbs"), row.verbs);
}

INSTANTIATE_TEST_SUITE_P(
    DiscoveryConformance, ServedResources,
    ::testing::Values(Served{"/api/v1", "pods", "Pod", "pod", true, "po", "all", kAllVerbs},
                      Served{"/api/v1", "pods/status", "Pod", "", true, "", "", "get patch update"},
                      Served{"/api/v1", "pods/binding", "Binding", "", true, "", "", "create"},
                      Served{"/api/v1", "pods/eviction", "Eviction", "", true, "", "", "create"},
                      Served{"/api/v1", "pods/log", "Pod", "", true, "", "", "get"},
                      Served{"/api/v1", "namespaces", "Namespace", "namespace", false, "ns", "",
                             "create delete get list patch update watch"},
                      Served{"/api/v1", "nodes", "Node", "node", false, "no", "", kAllVerbs},
                      Served{"/api/v1", "configmaps", "ConfigMap", "configmap", true, "cm", "", kAllVerbs},
                      Served{"/api/v1", "services", "Service", "service", true, "svc", "all", kAllVerbs},
                      Served{"/api/v1", "events", "Event", "event", true, "ev", "", kAllVerbs},
                      Served{"/apis/apps/v1", "deployments", "Deployment", "deployment", true, "deploy", "all",
                             kAllVerbs},
                      Served{"/apis/apps/v1", "deployments/scale", "Scale", "", true, "", "", "get patch update"},
                      Served{"/apis/batch/v1", "jobs", "Job", "job", true, "", "all", kAllVerbs},
                      Served{"/apis/scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", "priorityclass", false,
                             "pc", "", kAllVerbs},
                      Served{kOurJobs, "jobs", "Job", "job", true, "vcjob vj", "", kAllVerbs},
                      Served{kOurJobs, "jobs/status", "Job", "", true, "", "", "get patch update"},
                      Served{"/apis/scheduling.volcano.sh/v1beta1", "podgroups", "PodGroup", "podgroup", true,
                             "pg podgroup-v1beta1", "", kAllVerbs},
                      Served{"/apis/scheduling.volcano.sh/v1beta1", "queues", "Queue", "queue", false,
                             "q queue-v1beta1", "", kAllVerbs}));

TEST_F(DiscoveryConformance, WhoTakesAllOfItInOneAnswerOrPlainJsonGetsOneOfThem) {
  for (const char* root : {"/api", "/apis"}) {
    const Answer all = Get(root, {{"Accept",
                                   "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
                                   "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
                                   "application/json"}});
    EXPECT_EQ(all.status, 200) << root;
    const std::string plain = std::string(root) == "/api" ? "APIVersions" : "APIGroupList";
    EXPECT_EQ(all.At({"kind"}), ByServer<std::string>(plain, "APIGroupDiscoveryList")) << root;
  }
}

TEST_F(DiscoveryConformance, WhoAsksForPlainJsonGetsPlainDiscovery) {
  EXPECT_EQ(Get("/apis", {{"Accept", "application/json"}}).At({"kind"}), "APIGroupList");
  EXPECT_EQ(Get("/apis", {{"Accept", "*/*"}}).At({"kind"}), "APIGroupList");
}

// ---- version and health ----

TEST_F(DiscoveryConformance, TheVersionIsToldInParts) {
  const Answer version = Get("/version");
  EXPECT_EQ(version.status, 200);
  EXPECT_EQ(version.At({"major"}), "1");
  EXPECT_EQ(version.At({"minor"}), "36");
  EXPECT_TRUE(version.At({"gitVersion"}).starts_with("v1.36.")) << version;
  EXPECT_EQ(version.At({"platform"}), "linux/amd64");
}

class HealthPaths : public Conformance, public ::testing::WithParamInterface<const char*> {};

TEST_P(HealthPaths, AnswerOkAsText) {
  const Answer answer = Get(GetParam());
  EXPECT_EQ(answer.status, 200) << answer;
  EXPECT_EQ(answer.body, "ok");
  EXPECT_EQ(answer.Header("Content-Type"), "text/plain; charset=utf-8");
}

INSTANTIATE_TEST_SUITE_P(DiscoveryConformance, HealthPaths,
                         ::testing::Values("/healthz", "/readyz", "/livez", "/healthz/ping", "/readyz/ping",
                                           "/livez/ping", "/healthz/etcd"));

TEST_F(DiscoveryConformance, HealthTellsItsPartsToWhoAsks) {
  const Answer answer = Get("/readyz?verbose");
  EXPECT_EQ(answer.status, 200);
  EXPECT_NE(answer.body.find("[+]ping ok\n"), std::string::npos) << answer;
  EXPECT_TRUE(answer.body.ends_with("readyz check passed\n")) << answer;
}

TEST_F(DiscoveryConformance, APartOfHealthThatIsNotThereIsNoPage) {
  const Answer answer = Get("/healthz/nosuch");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "404 page not found\n");
}

// ---- OpenAPI ----

TEST_F(DiscoveryConformance, OpenApiTwoComesAsProtobufForOlderClients) {
  const Answer document =
      Get("/openapi/v2", {{"Accept", "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"}});
  EXPECT_EQ(document.status, 200);
  EXPECT_EQ(document.Header("Content-Type"), "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
  EXPECT_EQ(document.body.substr(0, 5),
            "\n\x03"
            "2.0");
}

TEST_F(DiscoveryConformance, WhereOpenApiThreeIsNotThereItIs404AndClientsTakeTwo) {
  EXPECT_EQ(Get("/openapi/v3").status, ByServer(404, 200));
  EXPECT_EQ(Get("/openapi/v3/apis/batch.volcano.sh/v1alpha1").status, ByServer(404, 200));
}

TEST_F(DiscoveryConformance, OpenApiOfAGroupThatIsNotThereIs404) {
  EXPECT_EQ(Get("/openapi/v3/apis/nosuch.io/v1").status, 404);
  EXPECT_EQ(Get("/openapi/v2/nosuch").status, 404);
}

}  // namespace
}  // namespace basalt::conformance
