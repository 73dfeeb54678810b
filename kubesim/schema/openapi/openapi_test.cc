#include "kubesim/schema/openapi/openapi.h"

#include <gtest/gtest.h>

#include "common/base/yaml.h"
#include "kubesim/schema/builtin/builtin.h"
#include "kubesim/schema/crd/crd.h"

namespace basalt::kubesim {
namespace {

std::vector<TypeInfoPtr> Types() {
  std::vector<TypeInfoPtr> types = BuiltinTypes();
  auto documents = ParseYamlDocuments(R"(
metadata: {name: ks.g.io}
spec:
  group: g.io
  scope: Namespaced
  names: {plural: ks, kind: K}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            required: [name]
            properties:
              name: {type: string, description: Who.}
              size: {x-kubernetes-int-or-string: true}
              open: {type: object, x-kubernetes-preserve-unknown-fields: true}
              map: {type: object, additionalProperties: {type: integer}}
              list: {type: array, items: {type: string}}
)");
  auto loaded = LoadCrd(documents->front());
  EXPECT_TRUE(loaded.ok()) << loaded.status();
  types.push_back(loaded->versions.front());
  return types;
}

TEST(OpenApiTest, EveryKindCanBePatchedWithFieldValidation) {
  const json::value document = MakeOpenApi(Types());
  for (const TypeInfoPtr& type : Types()) {
    const std::string path =
        (type->group.empty() ? "/api/" + type->version : "/apis/" + type->group + "/" + type->version) +
        (type->namespaced ? "/namespaces/{namespace}/" : "/") + type->plural + "/{name}";
    const json::value* parameters = FindPath(document, {"paths", path, "patch", "parameters"});
    ASSERT_NE(parameters, nullptr) << path;
    bool found = false;
    for (const json::value& parameter : parameters->as_array())
      found |= FindString(parameter, "name") == "fieldValidation";
    EXPECT_TRUE(found) << path;
  }
}

TEST(OpenApiTest, SaysNothingThatRefusesAValidManifest) {
  const json::value document = MakeOpenApi(Types());
  const json::value& k = document.at("definitions").at("io.g.v1.K");
  EXPECT_EQ(k.at("x-kubernetes-group-version-kind"), *ParseJson(R"([{"group":"g.io","kind":"K","version":"v1"}])"));
  EXPECT_EQ(*FindPath(k, {"properties", "spec", "properties", "name", "description"}), "Who.");
  EXPECT_EQ(Find(k.at("properties").at("spec").at("properties").at("size"), "type"), nullptr);
  EXPECT_EQ(Find(k.at("properties").at("spec").at("properties").at("open"), "properties"), nullptr);
  const json::value& pod = document.at("definitions").at("io.k8s.api.core.v1.Pod");
  EXPECT_EQ(pod.at("type"), "object");
  EXPECT_EQ(Find(pod, "properties"), nullptr);
}

// Reads one field of a message: the bytes of the first occurrence, or of a later one.
std::string Field(std::string_view message, int wanted, size_t nth = 0) {
  size_t at = 0;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < message.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(message[at++]);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  };
  while (at < message.size()) {
    const uint64_t tag = varint();
    const uint64_t size = varint();
    if ((tag & 7) == 0) continue;
    const std::string_view bytes = message.substr(at, size);
    at += size;
    if (static_cast<int>(tag >> 3) == wanted && nth-- == 0) return std::string(bytes);
  }
  return "";
}

TEST(OpenApiTest, IsEncodedAsClientsReadIt) {
  const json::value document = MakeOpenApi({Types().back()});
  const std::string wire = EncodeOpenApi(document);
  EXPECT_EQ(Field(wire, 1), "2.0");
  const std::string definition = Field(Field(wire, 9), 1);
  EXPECT_EQ(Field(definition, 1), "io.g.v1.K");
  const std::string schema = Field(definition, 2);
  EXPECT_EQ(Field(Field(schema, 22), 1), "object");
  const std::string extension = Field(schema, 31);
  EXPECT_EQ(Field(extension, 1), "x-kubernetes-group-version-kind");
  EXPECT_EQ(Field(Field(extension, 2), 2), R"([{"group":"g.io","kind":"K","version":"v1"}])");
  const std::string path = Field(Field(wire, 8), 2, 1);
  EXPECT_EQ(Field(path, 1), "/apis/g.io/v1/namespaces/{namespace}/ks/{name}");
  const std::string parameter = Field(Field(Field(path, 2), 8), 8);
  EXPECT_EQ(Field(Field(Field(Field(parameter, 1), 2), 3), 4), "dryRun");
}

}  // namespace
}  // namespace basalt::kubesim
