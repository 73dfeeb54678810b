#pragma once

// Helpers for the tests of the schemas: values from YAML, and errors as text.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/yaml.h"
#include "kubesim/schema/core/type_info.h"

namespace basalt::kubesim {

// Returns the first document of the text.
inline json::value Y(std::string_view text) {
  auto documents = ParseYamlDocuments(text);
  EXPECT_TRUE(documents.ok()) << documents.status();
  return documents.ok() && !documents->empty() ? documents->front() : json::value();
}

// Returns a line "field: message" for each error.
inline std::string Words(const std::vector<FieldError>& errors) {
  std::string out;
  for (const FieldError& error : errors) out += error.field + ": " + error.message + "\n";
  return out;
}

}  // namespace basalt::kubesim
