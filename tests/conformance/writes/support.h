#pragma once

// Helpers of the cases of writes: bodies in YAML, shapes that an answer must have, and the custom kinds that the cases
// write. For one thread.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/conformance/harness.h"

namespace basalt::conformance {

// Converts YAML, as "metadata: {name: a}", to JSON text.
std::string J(std::string_view yaml);
json::value Parse(std::string_view yaml);

// Succeeds if every member of the shape (YAML) is in the object with that value, and a list has as many items, each of
// its shape. A null in the shape requires that the member is absent; "*" requires a value that is not empty.
::testing::AssertionResult Has(const json::value& object, std::string_view shape);

// Sets the value at the pointer ("/spec/versions/0/storage"). Makes missing maps on the way.
void SetAt(json::value& object, std::string_view pointer, json::value value);

// Names the cases of a table after their rows.
inline constexpr auto kTitle = [](const auto& row) { return std::string(row.param.title); };

// Formats a Status as "409 Conflict: message".
std::string StatusText(const Answer& answer);
// Returns the causes in one text, a line each.
std::string Why(const Answer& answer);

// The cases' custom kinds, all of group conformance.example.com/v1. Each is made on its first use, once per run.
// "widgets" are namespaced and have a status and a schema with one field for every rule. "gadgets" have no status
// subresource. "crates" are cluster-scoped.
constexpr char kGroup[] = "conformance.example.com";
constexpr char kVersion[] = "conformance.example.com/v1";
constexpr char kDefinitions[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
// Returns a definition with one version v1 as JSON text. `more` is added to the version: "subresources: {status: {}}".
std::string Definition(std::string_view plural, std::string_view kind, std::string_view schema,
                       std::string_view more = "", std::string_view scope = "Namespaced");
// Creates the definition and expects that it is established and served.
void Establish(const std::string& definition);

class WriteConformance : public Conformance {
 protected:
  std::string Widgets(std::string_view name = "");
  std::string Gadgets(std::string_view name = "");
  static std::string Crates(std::string_view name = "");

  // Makes a widget and expects success. `rest` is YAML for the members beside apiVersion, kind and metadata. `meta` is
  // added within the braces of metadata: "labels: {a: b}".
  Answer MakeWidget(std::string_view name, std::string_view rest = "", std::string_view meta = "");
  static std::string Body(std::string_view kind, std::string_view name, std::string_view rest = "",
                          std::string_view meta = "");
  std::string WidgetBody(std::string_view name, std::string_view rest = "", std::string_view meta = "") {
    return Body("Widget", name, rest, meta);
  }
  // Applies `yaml` in the name of a field manager.
  Answer Apply(const std::string& target, std::string_view manager, std::string_view yaml, std::string_view more = "");
};

}  // namespace basalt::conformance
