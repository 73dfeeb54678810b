#include "tests/conformance/writes/support.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <set>

#include "common/base/yaml.h"

namespace basalt::conformance {
namespace {

constexpr std::string_view kWidgets = R"(
type: object
properties:
  spec:
    type: object
    properties:
      replicas: {type: integer, format: int32, minimum: 0, maximum: 10}
      ratio: {type: number, minimum: 0, exclusiveMinimum: true, maximum: 1, exclusiveMaximum: true}
      fives: {type: integer, multipleOf: 5}
      name: {type: string, minLength: 2, maxLength: 5, pattern: '^[a-z]*$'}
      mode: {type: string, enum: [hard, soft]}
      level: {type: integer, enum: [1, 2]}
      size: {x-kubernetes-int-or-string: true}
      maybe: {type: string, nullable: true}
      flag: {type: boolean}
      at: {type: string, format: date-time}
      lasts: {type: string, format: duration}
      ip: {type: string, format: ipv4}
      id: {type: string, format: uuid}
      blob: {type: string, format: byte}
      steps: {type: array, items: {type: string}, minItems: 1}
      tags: {type: array, items: {type: string}, maxItems: 3, x-kubernetes-list-type: set}
      ports:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [name]
        items:
          type: object
          required: [name]
          properties:
            name: {type: string}
            number: {type: integer}
            protocol: {type: string, default: TCP}
      labels: {type: object, maxProperties: 2, minProperties: 1, additionalProperties: {type: string}}
      whole: {type: object, x-kubernetes-map-type: atomic, additionalProperties: {type: string}}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true}
      mixed:
        type: object
        x-kubernetes-preserve-unknown-fields: true
        properties: {known: {type: object, properties: {a: {type: string}}}}
      pod: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
      strict: {type: object, required: [must], properties: {must: {type: string}, may: {type: string}}}
      either:
        type: object
        properties: {a: {type: string}, b: {type: string}}
        oneOf: [{required: [a]}, {required: [b]}]
      any:
        type: object
        properties: {a: {type: string}, b: {type: string}}
        anyOf: [{required: [a]}, {required: [b]}]
      not: {type: string, not: {enum: [bad]}}
      both: {type: string, allOf: [{minLength: 2}, {maxLength: 3}]}
      policy: {type: string, default: Always}
      cleared: {type: string, nullable: true, default: set}
      nested: {type: object, default: {}, properties: {a: {type: string, default: x}, b: {type: integer}}}
      parent: {type: object, properties: {child: {type: integer, default: 7}}}
  status:
    type: object
    properties:
      phase: {type: string}
      count: {type: integer}
      seen: {type: string, default: never}
      conditions:
        type: array
        x-kubernetes-list-type: map
        x-kubernetes-list-map-keys: [type]
        items: {type: object, required: [type], properties: {type: {type: string}, status: {type: string}}}
)";

constexpr std::string_view kOpen = R"(
type: object
properties:
  spec: {type: object, x-kubernetes-preserve-unknown-fields: true}
  status: {type: object, x-kubernetes-preserve-unknown-fields: true}
)";

std::string FirstUse(std::string_view plural, std::string_view kind, std::string_view schema, std::string_view more,
                     std::string_view scope = "Namespaced") {
  static std::set<std::string>& made = *new std::set<std::string>();
  if (made.insert(std::string(plural)).second) Establish(Definition(plural, kind, schema, more, scope));
  return std::string(plural);
}

::testing::AssertionResult HasAt(const json::value& object, const json::value& shape, const std::string& path) {
  if (shape.is_object()) {
    for (const auto& member : shape.get_object()) {
      const std::string_view name(member.key().data(), member.key().size());
      const std::string below = fmt::format("{}.{}", path, name);
      const json::value* found = Find(object, name);
      if (member.value().is_null()) {
        if (found != nullptr) return ::testing::AssertionFailure() << below << " is there: " << ToText(*found);
        continue;
      }
      if (found == nullptr) return ::testing::AssertionFailure() << below << " is not in " << ToText(object);
      if (::testing::AssertionResult result = HasAt(*found, member.value(), below); !result) return result;
    }
    if (!object.is_object()) return ::testing::AssertionFailure() << path << " is " << ToText(object);
    return ::testing::AssertionSuccess();
  }
  if (shape.is_array() && object.is_array()) {
    if (shape.get_array().size() != object.get_array().size()) {
      return ::testing::AssertionFailure() << path << " is " << ToText(object) << ", not " << ToText(shape);
    }
    for (size_t i = 0; i < shape.get_array().size(); ++i) {
      const std::string below = fmt::format("{}[{}]", path, i);
      if (::testing::AssertionResult result = HasAt(object.get_array()[i], shape.get_array()[i], below); !result) {
        return result;
      }
    }
    return ::testing::AssertionSuccess();
  }
  const bool there = shape == json::value("*") && !object.is_null() && object != json::value("");
  if (there || object == shape) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << path << " is " << ToText(object) << ", not " << ToText(shape);
}

std::string InGroup(const std::string& collection, std::string_view name) {
  return name.empty() ? collection : fmt::format("{}/{}", collection, name);
}

}  // namespace

json::value Parse(std::string_view yaml) {
  absl::StatusOr<std::vector<json::value>> documents = ParseYamlDocuments(yaml);
  EXPECT_TRUE(documents.ok()) << documents.status() << " in\n" << yaml;
  if (!documents.ok() || documents->empty()) return nullptr;
  return std::move(documents->front());
}

std::string J(std::string_view yaml) { return ToText(Parse(yaml)); }

::testing::AssertionResult Has(const json::value& object, std::string_view shape) {
  return HasAt(object, Parse(shape), "");
}

void SetAt(json::value& object, std::string_view pointer, json::value value) {
  json::value* at = &object;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::string_view part = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(part.size());
    if (at->is_array()) {
      at = &at->get_array()[static_cast<size_t>(NumberOf(part))];
    } else {
      if (!at->is_object()) *at = json::object();
      at = &at->get_object()[json::string_view(part.data(), part.size())];
    }
  }
  *at = std::move(value);
}

std::string StatusText(const Answer& answer) {
  return fmt::format("{} {}: {}", answer.status, answer.reason(), answer.message());
}

std::string Why(const Answer& answer) { return fmt::format("{}", fmt::join(answer.Causes(), "\n")); }

std::string Definition(std::string_view plural, std::string_view kind, std::string_view schema, std::string_view more,
                       std::string_view scope) {
  json::value definition = Parse(fmt::format(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {0}.{1}}}
spec: {{group: {1}, scope: {3}, names: {{plural: {0}, kind: {2}}}, versions: []}}
)",
                                             plural, kGroup, kind, scope));
  json::value version = Parse(fmt::format("name: v1\nserved: true\nstorage: true\n{}\n", more));
  version.as_object()["schema"] = json::object{{"openAPIV3Schema", Parse(schema)}};
  definition.as_object()["spec"].as_object()["versions"].as_array().push_back(std::move(version));
  return ToText(definition);
}

void Establish(const std::string& definition) {
  const Answer made = Post(kDefinitions, definition);
  ASSERT_EQ(made.status, 201) << made;
  const std::string target = fmt::format("{}/{}", kDefinitions, NameOf(made.json));
  EXPECT_TRUE(Eventually([&] {
    const Answer now = Get(target);
    const json::value* conditions = FindPath(now.json, {"status", "conditions"});
    if (conditions == nullptr || !conditions->is_array()) return false;
    for (const json::value& one : conditions->get_array()) {
      if (FindString(one, "type") == "Established" && FindString(one, "status") == "True") return true;
    }
    return false;
  })) << Get(target);
  const std::string served = fmt::format("/apis/{}/{}", kVersion, made.At({"spec", "names", "plural"}));
  EXPECT_TRUE(Eventually([&] { return Get(served).status == 200; })) << Get(served);
}

std::string WriteConformance::Widgets(std::string_view name) {
  return Group(kVersion, FirstUse("widgets", "Widget", kWidgets, "subresources: {status: {}}"), name);
}

std::string WriteConformance::Gadgets(std::string_view name) {
  return Group(kVersion, FirstUse("gadgets", "Gadget", kOpen, ""), name);
}

std::string WriteConformance::Crates(std::string_view name) {
  return InGroup(fmt::format("/apis/{}/{}", kVersion, FirstUse("crates", "Crate", kOpen, "", "Cluster")), name);
}

std::string WriteConformance::Body(std::string_view kind, std::string_view name, std::string_view rest,
                                   std::string_view meta) {
  json::value body = rest.empty() ? json::value(json::object()) : Parse(rest);
  const bool custom = kind == "Widget" || kind == "Gadget" || kind == "Crate";
  body.as_object()["apiVersion"] = custom ? kVersion : "v1";
  body.as_object()["kind"] = kind;
  json::value metadata = meta.empty() ? json::value(json::object()) : Parse(fmt::format("{{{}}}", meta));
  if (!name.empty()) metadata.as_object()["name"] = name;
  body.as_object()["metadata"] = std::move(metadata);
  return ToText(body);
}

Answer WriteConformance::MakeWidget(std::string_view name, std::string_view rest, std::string_view meta) {
  Answer made = Post(Widgets(), WidgetBody(name, rest, meta));
  EXPECT_EQ(made.status, 201) << made;
  return made;
}

Answer WriteConformance::Apply(const std::string& target, std::string_view manager, std::string_view yaml,
                               std::string_view more) {
  return Patch(fmt::format("{}?fieldManager={}{}", target, manager, more), kApply, std::string(yaml));
}

}  // namespace basalt::conformance
