#pragma once

// What the cases of writes share beside the harness: bodies in YAML, shapes that an answer must have, and the custom
// kinds that they write. One thread.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/harness.h"

namespace basalt::conformance {

// YAML as JSON text: "metadata: {name: a}".
std::string J(std::string_view yaml);
json::value Parse(std::string_view yaml);

// Every member of the shape (YAML) is in the object with that value; a list has as many items, each of its shape. null:
// the member is not there; "*": there and not empty.
::testing::AssertionResult Has(const json::value& object, std::string_view shape);

// Sets what the pointer names ("/spec/versions/0/storage"); maps on the way are made.
void SetAt(json::value& object, std::string_view pointer, json::value value);

// Names the cases of a table after their rows.
inline constexpr auto kTitle = [](const auto& row) { return std::string(row.param.title); };

// Of a Status: "409 Conflict: message".
std::string Told(const Answer& answer);
// The causes in one text, a line each.
std::string Why(const Answer& answer);

// "widgets": namespaced, with status, a schema with one field for every rule. "gadgets": no status subresource.
// "crates": cluster-scoped. All of group conformance.example.com/v1, made on first use, once per run.
constexpr char kGroup[] = "conformance.example.com";
constexpr char kVersion[] = "conformance.example.com/v1";
constexpr char kDefinitions[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
// A definition with one version v1 as JSON text. `more` goes into the version: "subresources: {status: {}}".
std::string Definition(std::string_view plural, std::string_view kind, std::string_view schema,
                       std::string_view more = "", std::string_view scope = "Namespaced");
// Creates it and waits until it is established and served; expectations fail otherwise.
void Establish(const std::string& definition);

class WriteConformance : public Conformance {
 protected:
  std::string Widgets(std::string_view name = "");
  std::string Gadgets(std::string_view name = "");
  static std::string Crates(std::string_view name = "");

  // Expect to be made. `rest` in YAML beside apiVersion, kind and metadata.name; `meta` in the braces of metadata:
  // "labels: {a: b}".
  Answer MakeWidget(std::string_view name, std::string_view rest = "", std::string_view meta = "");
  static std::string Body(std::string_view kind, std::string_view name, std::string_view rest = "",
                          std::string_view meta = "");
  std::string WidgetBody(std::string_view name, std::string_view rest = "", std::string_view meta = "") {
    return Body("Widget", name, rest, meta);
  }
  // In the name of a field manager.
  Answer Apply(const std::string& target, std::string_view manager, std::string_view yaml, std::string_view more = "");
};

}  // namespace basalt::conformance
