#include <gtest/gtest.h>

#include "common/http/target.h"
#include "kubesim/server/test_server.h"

namespace basalt::kubesim {
namespace {

const std::string kConfigs = "/api/v1/namespaces/default/configmaps";

std::string Names(const Reply& list) {
  std::string names;
  const json::value* items = Find(list.json, "items");
  if (items == nullptr) return list.body;
  for (const json::value& item : items->get_array()) {
    names += FindPath(item, {"metadata", "name"})->get_string().c_str();
  }
  return names;
}

TEST(ListTest, ItemsAreOrderedByNamespaceAndNameAndCoreItemsHaveNoKind) {
  TestServer server;
  server.MakeConfig("b");
  server.MakeConfig("a");
  server.Post("/api/v1/namespaces/kube-system/configmaps", R"({"metadata":{"name":"c"}})");
  const Reply list = server.Get(kConfigs);
  EXPECT_EQ(list.At({"kind"}), "ConfigMapList");
  EXPECT_EQ(Names(list), "ab");
  EXPECT_EQ(Find(Find(list.json, "items")->at(0), "kind"), nullptr);
  EXPECT_EQ(list.version(), std::to_string(server.server().store().version()));
  EXPECT_EQ(Names(server.Get("/api/v1/configmaps")), "abc");
}

TEST(ListTest, PagesBelongToOneState) {
  TestServer server;
  for (const char* name : {"a", "b", "c", "d", "e"}) server.MakeConfig(name);
  const Reply first = server.Get(kConfigs + "?limit=2");
  EXPECT_EQ(Names(first), "ab");
  EXPECT_EQ(first.At({"metadata", "remainingItemCount"}), "3");
  const std::string token = first.At({"metadata", "continue"});
  ASSERT_FALSE(token.empty());
  // Changes between two pages are not visible.
  server.Delete(kConfigs + "/c");
  server.MakeConfig("bb");
  server.Merge(kConfigs + "/d", R"({"data":{"k":"new"}})");
  const Reply second = server.Get(kConfigs + "?limit=2&continue=" + http::Escape(token));
  EXPECT_EQ(Names(second), "cd");
  EXPECT_EQ(second.version(), first.version());
  EXPECT_EQ(second.body.find("new"), std::string::npos);
  const Reply third = server.Get(kConfigs + "?limit=2&continue=" + http::Escape(second.At({"metadata", "continue"})));
  EXPECT_EQ(Names(third), "e");
  EXPECT_EQ(third.At({"metadata", "continue"}), "");
}

TEST(ListTest, APageOfAForgottenStateIs410WithATokenForTheRest) {
  TestServer server;
  for (const char* name : {"a", "b", "c"}) server.MakeConfig(name);
  const Reply first = server.Get(kConfigs + "?limit=1");
  server.MakeConfig("d");
  server.server().ForgetHistory();
  const Reply second = server.Get(kConfigs + "?limit=1&continue=" + http::Escape(first.At({"metadata", "continue"})));
  EXPECT_EQ(second.status, 410);
  EXPECT_EQ(second.reason(), "Expired");
  const std::string token = second.At({"metadata", "continue"});
  ASSERT_FALSE(token.empty());
  EXPECT_EQ(Names(server.Get(kConfigs + "?continue=" + http::Escape(token))), "bcd");
}

TEST(ListTest, VersionsOfTheStateAskedFor) {
  TestServer server;
  const Reply a = server.MakeConfig("a");
  server.MakeConfig("b");
  EXPECT_EQ(Names(server.Get(kConfigs + "?resourceVersionMatch=Exact&resourceVersion=" + a.version())), "a");
  EXPECT_EQ(Names(server.Get(kConfigs + "?resourceVersionMatch=NotOlderThan&resourceVersion=" + a.version())), "ab");
  EXPECT_EQ(Names(server.Get(kConfigs + "?resourceVersion=0&limit=1")), "ab");
  const Reply future = server.Get(kConfigs + "?resourceVersion=99999");
  EXPECT_EQ(future.status, 504);
  EXPECT_EQ(future.reason(), "Timeout");
  EXPECT_EQ(http::FindHeader(future.headers, "Retry-After"), "1");
  EXPECT_EQ(server.Get(kConfigs + "?resourceVersionMatch=Exact").status, 422);
  EXPECT_EQ(server.Get(kConfigs + "?continue=nonsense").status, 400);
  server.server().ForgetHistory();
  EXPECT_EQ(server.Get(kConfigs + "?resourceVersionMatch=Exact&resourceVersion=" + a.version()).status, 410);
}

TEST(ListTest, SelectorsAndLimits) {
  TestServer server;
  for (const char* name : {"a", "b", "c", "d"}) {
    server.MakePod(name, fmt::format(R"({{"n":"{}","even":"{}"}})", name, name[0] % 2 == 0 ? "yes" : "no"));
  }
  const std::string pods = "/api/v1/namespaces/default/pods";
  const std::pair<const char*, const char*> cases[] = {
      {"labelSelector=even%3Dyes", "bd"},
      {"labelSelector=even!%3Dyes", "ac"},
      {"labelSelector=n%20in%20(a,d)", "ad"},
      {"labelSelector=n%20notin%20(a,d),even", "bc"},
      {"labelSelector=!even", ""},
      {"labelSelector=even%3Dyes,n%3Dd", "d"},
      {"fieldSelector=metadata.name%3Dc", "c"},
      {"fieldSelector=status.phase%3DPending", "abcd"},
      {"fieldSelector=spec.nodeName%3Dx", ""},
      {"fieldSelector=metadata.name!%3Da,metadata.name!%3Db", "cd"},
  };
  for (const auto& [query, names] : cases) EXPECT_EQ(Names(server.Get(pods + "?" + query)), names) << query;
  const Reply page = server.Get(pods + "?labelSelector=even%3Dyes&limit=1");
  EXPECT_EQ(Names(page), "b");
  EXPECT_EQ(page.At({"metadata", "remainingItemCount"}), "");
  EXPECT_FALSE(page.At({"metadata", "continue"}).empty());
}

TEST(ListTest, MetadataOnly) {
  TestServer server;
  server.MakeConfig("a", "", R"({"k":"secret"})");
  const Reply list = server.Get(kConfigs, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io");
  EXPECT_EQ(list.At({"kind"}), "PartialObjectMetadataList");
  EXPECT_EQ(Names(list), "a");
  EXPECT_EQ(list.body.find("secret\""), std::string::npos);
  const Reply one = server.Get(kConfigs + "/a", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io");
  EXPECT_EQ(one.At({"kind"}), "PartialObjectMetadata");
}

TEST(ListTest, TheViewsOfOneAndOfManyDiffer) {
  TestServer server;
  EXPECT_EQ(server.Get(kConfigs, "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io").status, 406);
  EXPECT_EQ(server.Get(kConfigs + "?includeObject=x", "application/json;as=Table;v=v1;g=meta.k8s.io").status, 400);
}

TEST(ListTest, PathsOfNoOneAreAPageAndThoseOfCoreGroupsAStatus) {
  TestServer server;
  for (const char* path : {"/api/v1/podz", "/apis/apps/v9/deployments", "/api/v1/pods/a"}) {
    EXPECT_EQ(server.Get(path).reason(), "NotFound") << path;
  }
  for (const char* path : {"/nothing", "/apis/nobody.io/v1/things", "/healthz/nothing"}) {
    EXPECT_EQ(server.Get(path).status, 404) << path;
    EXPECT_EQ(server.Get(path).body, "404 page not found\n") << path;
  }
}

TEST(ListTest, OptionsThatMakeNoSenseAreRefused) {
  TestServer server;
  const std::pair<const char*, int> cases[] = {{"sendInitialEvents=true", 422}, {"timeoutSeconds=x", 400},
                                               {"resourceVersion=-1", 400},     {"limit=x", 400},
                                               {"continue=e30", 400},           {"fieldSelector=data%3Dx", 400}};
  for (const auto& [query, status] : cases) EXPECT_EQ(server.Get(kConfigs + "?" + query).status, status) << query;
  EXPECT_EQ(server.Post(kConfigs + "?fieldValidation=x", R"({"metadata":{"name":"a"}})").status, 422);
  EXPECT_EQ(server.Do("POST", kConfigs, R"({"metadata":{"name":"a"}})", {{"Content-Type", "text/plain"}}).status, 415);
  EXPECT_EQ(server.Do("HEAD", kConfigs).status, 405);
}

TEST(ListTest, ABodyInProtobufIs415AndNamesTheCure) {
  TestServer server;
  const Reply answer = server.Do("POST", kConfigs, "k8s", {{"Content-Type", "application/vnd.kubernetes.protobuf"}});
  EXPECT_EQ(answer.status, 415);
  EXPECT_NE(answer.body.find("kubectl create -f"), std::string::npos) << answer.body;
}

TEST(ListTest, AnAcceptHeaderThatCannotBeServedIs406) {
  TestServer server;
  EXPECT_EQ(server.Get(kConfigs, "application/vnd.kubernetes.protobuf").status, 406);
  EXPECT_EQ(server.Get(kConfigs, "application/vnd.kubernetes.protobuf,application/json").status, 200);
}

}  // namespace
}  // namespace basalt::kubesim
