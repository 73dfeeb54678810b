#include "kubesim/schema/crd/crd.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

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
      ratio: {type: number, minimum: 0, exclusiveMinimum: true}
      mode: {type: string, enum: [hard, soft], default: hard}
      size: {x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}], pattern: '^[0-9]+$'}
      maybe: {type: string, nullable: true}
      tags: {type: array, items: {type: string}, maxItems: 2, x-kubernetes-list-type: set}
      ports:
        type: array
        minItems: 1
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items: {type: object, properties: {name: {type: string}, protocol: {type: string, default: TCP}}}
      labels: {type: object, maxProperties: 1, additionalProperties: {type: string}}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: object}}}
      at: {type: string, format: date-time}
      one: {type: object, properties: {a: {type: string}, b: {type: string}}, oneOf: [{required: [a]}, {required: [b]}]}
      embedded: {type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}
)";

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
      {"spec: {name: abcdef}", "FieldValueTooLong spec.name: Too long: may not be more than 5 bytes\n"},
      {"spec: {name: a, replicas: -1}",
       "FieldValueInvalid spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to "
       "0\n"},
      {"spec: {name: a, replicas: 11}",
       "FieldValueInvalid spec.replicas: Invalid value: 11: spec.replicas in body should be less than or equal to "
       "10\n"},
      {"spec: {name: a, replicas: x}",
       "FieldValueTypeInvalid spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: "
       "\"string\"\n"},
      {"spec: {name: a, ratio: 0}",
       "FieldValueInvalid spec.ratio: Invalid value: 0: spec.ratio in body should be greater than 0\n"},
      {"spec: {name: a, mode: x}",
       "FieldValueNotSupported spec.mode: Unsupported value: \"x\": supported values: \"hard\", \"soft\"\n"},
      {"spec: {name: a, size: x}",
       "FieldValueInvalid spec.size: Invalid value: \"x\": spec.size in body should match '^[0-9]+$'\n"},
      {"spec: {name: a, size: 5, maybe: null}", ""},
      {"spec: {name: a, size: 1.5}",
       "FieldValueTypeInvalid spec.size: Invalid value: \"number\": spec.size in body must be of type integer,string: "
       "\"number\"\n"},
      {"spec: {name: a, tags: [x, x]}", "FieldValueDuplicate spec.tags[1]: Duplicate value: \"x\"\n"},
      {"spec: {name: a, tags: [x, z, w]}", "FieldValueTooMany spec.tags: Too many: 3: must have at most 2 items\n"},
      {"spec: {name: a, ports: []}",
       "FieldValueInvalid spec.ports: Invalid value: 0: spec.ports in body should have at least 1 items\n"},
      {"spec: {name: a, ports: [{name: p}, {name: p}]}",
       "FieldValueDuplicate spec.ports[1]: Duplicate value: {\"name\":\"p\"}\n"},
      {"spec: {name: a, labels: {a: b, c: d}}",
       "FieldValueTooMany spec.labels: Too many: 2: must have at most 1 items\n"},
      {"spec: {name: a, labels: {a: 1}}",
       "FieldValueTypeInvalid spec.labels.a: Invalid value: \"integer\": spec.labels.a in body must be of type string: "
       "\"integer\"\n"},
      {"spec: {name: a, at: now}",
       "FieldValueTypeInvalid spec.at: Invalid value: \"now\": spec.at in body must be of type date-time: \"now\"\n"},
      {"spec: {name: a, at: '2026-01-02T03:04:05Z', one: {a: x}}", ""},
      {"spec: {name: a, one: {a: x, b: x}}",
       "FieldValueInvalid <nil>: Invalid value: \"\": \"spec.one\" must validate one and only one schema (oneOf). "
       "Found "
       "2 valid alternatives\n"},
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

TEST(SchemaTest, DefaultsComeOnlyWhereTheirParentIs) {
  const auto schema =
      Compile("{type: object, properties: {spec: {type: object, properties: {a: {type: integer, default: 1}}}}}");
  json::value without = json::object();
  schema->PruneAndDefault(without);
  EXPECT_EQ(without, json::object());
}

TEST(SchemaTest, WhatIsNotStructuralIsRefused) {
  for (const std::string_view text :
       {"{type: object, properties: {a: {}}}", "{type: object, properties: {a: {type: array}}}",
        "{type: object, properties: {a: {type: string, pattern: '('}}}", "{type: strange}", "{type: string}",
        "{type: object, properties: {a: {$ref: x}}}"}) {
    EXPECT_EQ(Schema::Compile(Y(text)).status().code(), absl::StatusCode::kInvalidArgument) << text;
  }
}

TEST(CrdTest, DefinitionsThatCannotBeServedAreRefused) {
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

  json::value bad = good;
  bad.at("metadata").at("name") = "x.g";
  EXPECT_EQ(LoadCrd(bad).status().code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.at("spec").at("scope") = "Galaxy";
  EXPECT_EQ(LoadCrd(bad).status().code(), absl::StatusCode::kInvalidArgument);
  bad = good;
  bad.at("spec").at("versions").at(0).at("storage") = false;
  EXPECT_EQ(LoadCrd(bad).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LoadCrd(json::object()).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace basalt::kubesim
