#include <gtest/gtest.h>

#include "kubesim/server/test_server.h"

namespace basalt::kubesim {
namespace {

// The rules of the schema. The second does not compile.
constexpr char kRules[] = R"([{"rule":"self.size < 5","message":"too large"},{"rule":"no ( rule"}])";
constexpr char kCrd[] = R"({{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {{"name": "widgets.example.com"}},
  "spec": {{
    "group": "example.com", "scope": "Namespaced",
    "names": {{"plural": "widgets", "kind": "Widget"}},
    "versions": [{{
      "name": "v1", "served": true, "storage": true,
      "schema": {{"openAPIV3Schema": {{"type": "object", "properties": {{
        "spec": {{"type": "object", "x-kubernetes-validations": {}, "properties": {{
          "size": {{"type": "integer", "minimum": 1}}, "color": {{"type": "string", "default": "red"}}}}}}}}}}}}
    }}]
  }}}})";
const std::string kCrds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const std::string kWidgets = "/apis/example.com/v1/namespaces/default/widgets";

class CrdTest : public ::testing::Test {
 protected:
  void Define() {
    const Reply made = server_.Post(kCrds, fmt::format(kCrd, kRules));
    EXPECT_EQ(made.status, 201) << made.body;
  }
  Reply MakeWidget(int size) {
    return server_.Post(
        kWidgets,
        fmt::format(
            R"({{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"a"}},"spec":{{"size":{}}}}})",
            size));
  }
  TestServer server_;
};

TEST_F(CrdTest, AnObjectOfAGoneOwnerGoesOnceTheKindIsServed) {
  const auto owned_by = [](std::string_view kind) {
    return fmt::format(
        R"(,"ownerReferences":[{{"apiVersion":"example.com/v1","kind":"{}","name":"x","uid":"{}-uid"}}])", kind, kind);
  };
  const std::string configs = "/api/v1/namespaces/default/configmaps";
  EXPECT_EQ(server_.MakeConfig("of-widget", owned_by("Widget")).status, 201);
  EXPECT_EQ(server_.MakeConfig("of-thing", owned_by("Thing")).status, 201);
  EXPECT_EQ(server_.Get(configs + "/of-widget").status, 200);
  Define();
  EXPECT_EQ(server_.Get(configs + "/of-widget").status, 404);
  EXPECT_EQ(server_.Get(configs + "/of-thing").status, 200);
}

TEST_F(CrdTest, AStrictPatchWithAnUnknownFieldIsRefused) {
  Define();
  EXPECT_EQ(MakeWidget(1).status, 201);
  EXPECT_EQ(server_.Merge(kWidgets + "/a?fieldValidation=Strict", R"({"spec":{"colour":"x"}})").status, 400);
}

TEST_F(CrdTest, RulesOfADefinitionAreKeptAndNotEvaluated) {
  Define();
  const Reply kept = server_.Get(kCrds + "/widgets.example.com");
  EXPECT_NE(kept.body.find(fmt::format(R"("x-kubernetes-validations":{})", kRules)), std::string::npos) << kept.body;
  EXPECT_EQ(MakeWidget(0).status, 422) << "the schema holds";
  const Reply broken = MakeWidget(9);
  EXPECT_EQ(broken.status, 201) << broken.body;
  EXPECT_EQ(broken.At({"spec", "color"}), "red") << "defaults are set";
  EXPECT_EQ(server_.Merge(kWidgets + "/a", R"({"spec":{"size":10}})").At({"spec", "size"}), "10");
}

}  // namespace
}  // namespace basalt::kubesim
