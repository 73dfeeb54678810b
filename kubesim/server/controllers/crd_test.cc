#include <gtest/gtest.h>

#include "kubesim/server/test_server.h"

namespace basalt::kubesim {
namespace {

constexpr char kCrd[] = R"({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.example.com"},
  "spec": {
    "group": "example.com", "scope": "Namespaced",
    "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList", "shortNames": ["wd"]},
    "versions": [{
      "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "required": ["size"], "properties": {
          "size": {"type": "integer", "minimum": 1}, "color": {"type": "string", "default": "red"}}},
        "status": {"type": "object", "properties": {"done": {"type": "integer"}}}}}}
    }, {
      "name": "v1beta1", "served": true, "storage": false, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
    }]
  }})";
const std::string kWidgets = "/apis/example.com/v1/namespaces/default/widgets";
const std::string kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

std::string Widget(std::string_view name, std::string_view spec = R"({"size":3})", std::string_view version = "v1") {
  return fmt::format(R"({{"apiVersion":"example.com/{}","kind":"Widget","metadata":{{"name":"{}"}},"spec":{}}})",
                     version, name, spec);
}

class CrdTest : public ::testing::Test {
 protected:
  CrdTest() { EXPECT_EQ(server_.Post(kCrds, kCrd).status, 201); }
  TestServer server_;
};

TEST_F(CrdTest, ADefinitionIsServedAtOnce) {
  const Reply crd = server_.Get(kCrds + "/widgets.example.com");
  EXPECT_NE(crd.body.find("Established"), std::string::npos) << crd.body;
  const Reply made = server_.Post(kWidgets, Widget("a"));
  ASSERT_EQ(made.status, 201) << made.body;
  EXPECT_EQ(made.At({"spec", "color"}), "red");
  EXPECT_EQ(made.At({"metadata", "generation"}), "1");
  const Reply list = server_.Get("/apis/example.com/v1/widgets");
  EXPECT_EQ(list.At({"kind"}), "WidgetList");
  EXPECT_EQ(FindString(Find(list.json, "items")->at(0), "kind"), "Widget");
}

TEST(CrdOwnerTest, WhoseOwnerIsGoneGoesOnceTheOwnersKindIsServed) {
  TestServer server;
  const auto owned_by = [](std::string_view kind) {
    return fmt::format(
        R"(,"ownerReferences":[{{"apiVersion":"example.com/v1","kind":"{}","name":"x","uid":"{}-uid"}}])", kind, kind);
  };
  const std::string configs = "/api/v1/namespaces/default/configmaps";
  EXPECT_EQ(server.MakeConfig("of-widget", owned_by("Widget")).status, 201);
  EXPECT_EQ(server.MakeConfig("of-thing", owned_by("Thing")).status, 201);
  EXPECT_EQ(server.Get(configs + "/of-widget").status, 200);
  EXPECT_EQ(server.Post(kCrds, kCrd).status, 201);
  EXPECT_EQ(server.Get(configs + "/of-widget").status, 404);
  EXPECT_EQ(server.Get(configs + "/of-thing").status, 200);
}

TEST_F(CrdTest, ObjectsArePrunedAndValidated) {
  const Reply pruned = server_.Post(kWidgets, Widget("a", R"({"size":1,"other":2})"));
  EXPECT_EQ(pruned.status, 201);
  EXPECT_EQ(pruned.At({"spec", "other"}), "");
  const Reply low = server_.Post(kWidgets, Widget("b", R"({"size":0})"));
  EXPECT_EQ(low.status, 422);
  EXPECT_EQ(
      low.message(),
      "Widget.example.com \"b\" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than "
      "or equal to 1");
  EXPECT_EQ(server_.Post(kWidgets, Widget("c", "{}")).reason(), "Invalid");
  EXPECT_EQ(server_.PatchAs("strategic-merge-patch+json", kWidgets + "/a", "{}").status, 415);
}

TEST_F(CrdTest, StrictFieldValidationRefusesUnknownFields) {
  const Reply reply = server_.Post(kWidgets + "?fieldValidation=Strict", Widget("a", R"({"size":1,"other":2})"));
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(reply.message(),
            "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field "
            "\"spec.other\"");
  EXPECT_EQ(server_.Post(kWidgets + "?fieldValidation=Strict", Widget("a")).status, 201);
  EXPECT_EQ(server_
                .Do("PATCH", kWidgets + "/a?fieldValidation=Strict", R"({"spec":{"colour":"x"}})",
                    {{"Content-Type", "application/merge-patch+json"}})
                .status,
            400);
}

TEST_F(CrdTest, GenerationGrowsWithTheSpecOnly) {
  server_.Post(kWidgets, Widget("a"));
  EXPECT_EQ(server_.Merge(kWidgets + "/a", R"({"metadata":{"labels":{"x":"1"}}})").At({"metadata", "generation"}), "1");
  EXPECT_EQ(server_.Merge(kWidgets + "/a", R"({"spec":{"size":4}})").At({"metadata", "generation"}), "2");
  const Reply status = server_.Merge(kWidgets + "/a/status",
                                     R"({"status":{"done":1},"spec":{"size":9},"metadata":{"labels":{"x":"2"}}})");
  EXPECT_EQ(status.At({"metadata", "generation"}), "2");
  EXPECT_EQ(status.At({"spec", "size"}), "4");
  EXPECT_EQ(status.At({"metadata", "labels", "x"}), "1");
  EXPECT_EQ(status.At({"status", "done"}), "1");
}

TEST_F(CrdTest, AStatusPatchChecksTheVersionButNotTheUid) {
  const Reply made = server_.Post(kWidgets, Widget("a"));
  const auto patch = [&](const std::string& uid, const std::string& version) {
    return server_.Merge(
        kWidgets + "/a/status",
        fmt::format(R"({{"metadata":{{"uid":"{}","resourceVersion":"{}"}},"status":{{"done":1}}}})", uid, version));
  };
  EXPECT_EQ(patch(made.uid(), "1").status, 409);
  const Reply patched = patch("00000000-0000-4000-8000-000000000000", made.version());
  EXPECT_EQ(patched.status, 200);
  EXPECT_EQ(patched.uid(), made.uid());
}

TEST_F(CrdTest, APutNeedsAVersion) {
  server_.Post(kWidgets, Widget("a"));
  const Reply put = server_.Put(kWidgets + "/a", Widget("a", R"({"size":5})"));
  EXPECT_EQ(put.status, 422);
  EXPECT_NE(put.message().find("must be specified for an update"), std::string::npos);
}

TEST_F(CrdTest, AnotherServedVersionShowsTheSameObject) {
  server_.Post(kWidgets, Widget("a"));
  const std::string beta = "/apis/example.com/v1beta1/namespaces/default/widgets";
  EXPECT_EQ(server_.Get(beta + "/a").At({"apiVersion"}), "example.com/v1beta1");
  EXPECT_EQ(server_.Merge(beta + "/a", R"({"spec":{"size":7}})").status, 200);
  const Reply got = server_.Get(kWidgets + "/a");
  EXPECT_EQ(got.At({"apiVersion"}), "example.com/v1");
  EXPECT_EQ(got.At({"spec", "size"}), "7");
}

TEST_F(CrdTest, ServerSideApplyCreatesMergesAndConflicts) {
  const auto apply = [&](const std::string& manager, const std::string& spec, const std::string& more = "") {
    return server_.PatchAs(
        "apply-patch+yaml", kWidgets + "/a?fieldManager=" + manager + more,
        fmt::format("apiVersion: example.com/v1\nkind: Widget\nmetadata:\n  name: a\nspec:\n{}", spec));
  };
  EXPECT_EQ(apply("one", "  size: 1\n  color: blue\n").status, 201);
  const Reply conflict = apply("two", "  size: 2\n");
  EXPECT_EQ(conflict.status, 409) << conflict.body;
  EXPECT_NE(conflict.body.find("FieldManagerConflict"), std::string::npos);
  EXPECT_EQ(apply("two", "  size: 2\n", "&force=true").At({"spec", "size"}), "2");
  const Reply again = apply("two", "  size: 2\n");
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(again.version(), server_.Get(kWidgets + "/a").version()) << "an apply that changes nothing writes nothing";
  EXPECT_EQ(apply("", "  size: 2\n").status, 422);
}

TEST_F(CrdTest, DeletingADefinitionTakesItsObjects) {
  server_.Post(kWidgets, Widget("a"));
  EXPECT_EQ(server_.Delete(kCrds + "/widgets.example.com").status, 200);
  EXPECT_EQ(server_.Get(kCrds + "/widgets.example.com").status, 404);
  EXPECT_EQ(server_.Get(kWidgets).status, 404);
}

TEST_F(CrdTest, Discovery) {
  const Reply groups = server_.Get("/apis");
  EXPECT_NE(groups.body.find("\"example.com/v1\""), std::string::npos);
  const Reply resources = server_.Get("/apis/example.com/v1");
  EXPECT_NE(resources.body.find("\"widgets/status\""), std::string::npos);
  EXPECT_EQ(server_.Get("/apis/example.com/v9").status, 404);
  EXPECT_EQ(server_.Get("/version").At({"minor"}), "36");
  EXPECT_EQ(server_.Get("/readyz").body, "ok");
  EXPECT_EQ(server_.Get("/nothing").status, 404);
}

TEST_F(CrdTest, RulesOfADefinitionAreKeptAndNotEvaluated) {
  json::value crd = *ParseJson(kCrd);
  crd.at("metadata").at("name") = "ruleds.example.com";
  crd.at("spec").at("names") = *ParseJson(R"({"plural":"ruleds","kind":"Ruled"})");
  json::value& spec =
      crd.at("spec").at("versions").at(0).at("schema").at("openAPIV3Schema").at("properties").at("spec");
  const json::value rules = *ParseJson(R"([{"rule":"self.size < 5","message":"too large"},{"rule":"no ( rule"}])");
  spec.as_object()["x-kubernetes-validations"] = rules;
  const Reply made = server_.Post(kCrds, ToText(crd));
  ASSERT_EQ(made.status, 201) << made.body;
  const Reply kept = server_.Get(kCrds + "/ruleds.example.com");
  EXPECT_NE(kept.body.find("\"x-kubernetes-validations\":" + ToText(rules)), std::string::npos) << kept.body;

  const std::string path = "/apis/example.com/v1/namespaces/default/ruleds";
  const auto body = [](std::string_view its) {
    return fmt::format(R"({{"apiVersion":"example.com/v1","kind":"Ruled","metadata":{{"name":"a"}},"spec":{}}})", its);
  };
  EXPECT_EQ(server_.Post(path, body(R"({"size":0})")).status, 422) << "the schema holds";
  const Reply broken = server_.Post(path, body(R"({"size":9})"));
  EXPECT_EQ(broken.status, 201) << broken.body;
  EXPECT_EQ(broken.At({"spec", "color"}), "red") << "defaults are set";
  EXPECT_EQ(server_.Merge(path + "/a", R"({"spec":{"size":10}})").At({"spec", "size"}), "10");
}

TEST_F(CrdTest, ABrokenDefinitionIsRefused) {
  const Reply reply = server_.Post(kCrds, R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition",
    "metadata":{"name":"x.example.com"},"spec":{"group":"example.com"}})");
  EXPECT_EQ(reply.status, 422) << reply.body;
}

}  // namespace
}  // namespace basalt::kubesim
