#pragma once

// Validation rules in the expression language (CEL): definitions with rules, and what is said of who breaks them.
#include <fmt/format.h>

#include <regex>
#include <string>
#include <string_view>

#include "tests/conformance/harness.h"

namespace basalt::conformance {

constexpr char kDefinitions[] = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
constexpr char kGroup[] = "rules.conformance.test";

inline std::string Definition(std::string_view plural, std::string_view schema) {
  return fmt::format(
      R"~({{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{{"name":"{0}.{1}"}},)~"
      R"~("spec":{{"group":"{1}","scope":"Namespaced","names":{{"plural":"{0}","kind":"K{0}"}},"versions":[{{)~"
      R"~("name":"v1","served":true,"storage":true,"schema":{{"openAPIV3Schema":{2}}}}}]}}}})~",
      plural, kGroup, schema);
}

inline std::string Causes(const Answer& answer) {
  std::string all;
  for (const std::string& cause : answer.Causes()) all += (all.empty() ? "" : "\n") + cause;
  // The server makes up a name for the type of self.
  return std::regex_replace(all, std::regex("selfType[0-9]+"), "selfType");
}

class CelConformance : public Conformance {
 protected:
  static void Make(std::string_view plural, std::string_view schema) {
    const Answer made = Post(kDefinitions, Definition(plural, schema));
    ASSERT_EQ(made.status, 201) << made;
    const std::string served = fmt::format("/apis/{}/v1/namespaces/default/{}", kGroup, plural);
    ASSERT_TRUE(Eventually([&] { return Get(served).status == 200; }));
  }
};

}  // namespace basalt::conformance
