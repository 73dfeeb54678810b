#pragma once

// The table of manifests in cases/: what our definitions must accept and refuse. Pure reading of files, any thread.
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json.h"

namespace basalt::crds {

// Pointers into a manifest (/spec/tasks/0/name) with the values that belong there; null as a value stays null.
using Changes = std::vector<std::pair<std::string, json::value>>;

struct Case {
  std::string name;  // "file/name"
  json::value base;  // What is created; for an update, what is there before.
  bool update = false;
  Changes set;
  std::vector<std::string> remove;

  bool by_rule = false;  // A rule of x-kubernetes-validations decides, not the types and bounds.
  std::string refused;   // The field that the refusal names; empty: accepted.
  std::string says;      // Within the refusal's words for that field, and within memory's.
  std::string memory;    // The rule of jobsvc's table that says the same; empty: memory cannot see it, or has no words.
  Changes stored;        // What an accepted object has after defaulting; null: nothing there.

  // The object as the case sends it, made of the base or of what was stored.
  json::value Changed(json::value from) const;
};
std::ostream& operator<<(std::ostream& out, const Case& one);

// Every case of cases/*.yaml, in the order of the files. A file that cannot be read is a failed test.
std::vector<Case> LoadCases();
// The manifests of our kinds in a folder, as cases that are accepted; none where there is no such folder.
std::vector<Case> LoadExamples(const std::string& folder);
std::string ExamplesFolder();      // Ours.
std::string LiveExamplesFolder();  // Those that users run, beside the checkout.
std::string LiveDefinitions();     // Definitions of live clusters, beside the checkout.

// Null where there is nothing.
const json::value* At(const json::value& value, std::string_view pointer);
// Where a manifest of one of the four kinds is created.
std::string CollectionOf(const json::value& manifest, std::string_view ns);

}  // namespace basalt::crds
