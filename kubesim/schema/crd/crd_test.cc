#include "kubesim/schema/crd/crd.h"

#include <gtest/gtest.h>

#include "kubesim/schema/core/testing.h"
#include "kubesim/schema/crd/schema_node.h"

namespace basalt::kubesim {
namespace {

std::shared_ptr<const Schema> Compile(std::string_view text) {
  auto schema = Schema::Compile(Y(text));
  EXPECT_TRUE(schema.ok()) << schema.status();
  return schema.ok() ? *schema : nullptr;
}

std::string Errors(const Schema& schema, std::string_view object) {
  json::value value = Y(object);
  std::vector<FieldError> errors;
  ValidateAndDefault(schema, value, &errors).IgnoreError();
  std::string out;
  for (const FieldError& error : errors) out += error.reason + " " + error.field + ": " + error.message + "\n";
  return out;
}

constexpr std::string_view kSchema = R"(
type: object
required: [spec]
properties:
  spec:
    type: object
    required: [name]
    properties:
      name: {type: string, minLength: 1, maxLength: 5, pattern: '^[a-z]+$'}
      replicas: {type: integer, format: int32, minimum: 0, maximum: 10, default: 3}
      mode: {type: string, enum: [hard, soft], default: hard}
      size: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: '^[0-9]+$'}
      maybe: {type: string, nullable: true}
      ports:
        type: array
        minItems: 1
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, properties: {name: {type: string}, protocol: {type: string, default: TCP}}}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object}}}
      embedded: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
)";

// tests/conformance/writes/custom_test.cc has the rules that a schema has one by one.
TEST(SchemaTest, ErrorsReadLikeTheApiServers) {
  const auto schema = Compile(kSchema);
  const struct {
    std::string_view object, want;
  } rows[] = {
      {"{}", "FieldValueRequired spec: Required value\n"},
      {"spec: {}", "FieldValueRequired spec.name: Required value\n"},
      {"spec: {name: ''}",
       "FieldValueInvalid spec.name: Invalid value: \"\": spec.name in body should be at least 1 chars long\n"
       "FieldValueInvalid spec.name: Invalid value: \"\": spec.name in body should match '^[a-z]+$'\n"},
      {"spec: {name: a, size: x}",
       "FieldValueInvalid spec.size: Invalid value: \"x\": spec.size in body should match '^[0-9]+$'\n"},
      {"spec: {name: a, size: 5, maybe: null}", ""},
      {"spec: {name: a, embedded: {kind: K}}", "FieldValueRequired spec.embedded.apiVersion: Required value\n"},
  };
  for (const auto& row : rows) EXPECT_EQ(Errors(*schema, row.object), row.want) << row.object;
}

TEST(SchemaTest, UnknownFieldsArePrunedAndDefaultsSet) {
  const auto schema = Compile(kSchema);
  json::value object = Y(R"(
apiVersion: g/v1
kind: K
metadata: {name: a, anything: 1}
other: 1
spec: {name: a, mode: null, maybe: null, bogus: 1, ports: [{name: p, x: 1}], open: {any: {deep: 1}, known: {gone: 1}},
       embedded: {apiVersion: v1, kind: P, metadata: {labels: {a: b}}, spec: {gone: 1}, gone: 1}}
)");
  std::vector<FieldError> errors;
  std::vector<std::string> pruned;
  EXPECT_TRUE(ValidateAndDefault(*schema, object, &errors, &pruned).ok());
  EXPECT_EQ(object, Y(R"(
apiVersion: g/v1
kind: K
metadata: {name: a, anything: 1}
spec: {name: a, mode: hard, maybe: null, ports: [{name: p, protocol: TCP}], open: {any: {deep: 1}, known: {}},
       replicas: 3, embedded: {apiVersion: v1, kind: P, metadata: {labels: {a: b}}, spec: {}}}
)"));
  EXPECT_EQ(pruned, (std::vector<std::string>{"other", "spec.bogus", "spec.ports[0].x", "spec.open.known.gone",
                                              "spec.embedded.spec.gone", "spec.embedded.gone"}));
}

TEST(CrdTest, ADefinitionGetsItsDefaultNames) {
  const json::value good = Y(R"(
metadata: {name: ks.g}
spec:
  group: g
  scope: Cluster
  names: {plural: ks, kind: K}
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
)");
  auto loaded = LoadCrd(good);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->versions[0]->singular, "k");
  EXPECT_EQ(loaded->versions[0]->list_kind, "KList");
  EXPECT_FALSE(loaded->versions[0]->has_status);
  EXPECT_FALSE(loaded->versions[0]->namespaced);
  EXPECT_EQ(FindPath(MakeCrdStatus(good, "2026-01-01T00:00:00Z"), {"acceptedNames"})->at("singular"), "k");

  EXPECT_EQ(LoadCrd(json::object()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace basalt::kubesim
