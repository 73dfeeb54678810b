#pragma once

// Reads the table of manifests in cases/, which states what our definitions must accept and refuse. Thread-safe: the
// functions only read files.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/json.h"

namespace basalt::crds {

// Pointers into a manifest (/spec/tasks/0/name), each with the value to set there. A null is set as null.
using Changes = std::vector<std::pair<std::string, json::value>>;

struct Case {
  std::string name;  // "file/name"
  json::value base;  // The object before the case's changes. For an update, this object is created first.
  bool update = false;
  Changes set;
  std::vector<std::string> remove;

  // "Memory" below is jobsvc's own check of a stored job.
  bool by_rule = false;  // A rule of x-kubernetes-validations decides, not the types and bounds ("by_schema").
  std::string refused;   // The field that the refusal names. Empty if the object is accepted.
  std::string says;      // A part of the server's message for that field, and of memory's.
  // The rule of jobsvc's table that makes the same check. "decoder" if the object cannot be read. Empty if there is no
  // such rule.
  std::string memory;
  // The field that memory warns of, with the message `says`. `memory` is then the reason in the status.
  std::string warned;
  std::string words;      // The message of the API and of memory if it differs from the server's.
  std::string submitted;  // The message of the API if it differs from memory's.
  std::string first;      // The beginning of a stored job's status if memory reports another problem first.
  // Why the definition accepts an object that the API and memory refuse. Empty if the definition refuses it.
  std::string beyond;
  // Why the API and memory accept an object that the definition refuses. Empty if they refuse it.
  std::string open;
  std::string ours;  // Why live definitions refuse an object that ours accept.
  Changes stored;    // Values of an accepted object after defaulting. A null requires that there is no value.
  // Values under the policies of deploy/admission, which accept the object in any case.
  Changes given;

  // Returns the object as the case sends it. `from` is the base or the stored object.
  json::value Changed(json::value from) const;
  bool IsRefusedByServer() const { return !refused.empty() && beyond.empty(); }
  const std::string& Words() const { return words.empty() ? says : words; }
};
std::ostream& operator<<(std::ostream& out, const Case& one);
// Returns the name of a parameterised test.
std::string NameOf(const ::testing::TestParamInfo<Case>& info);

// Returns every case of cases/*.yaml, in the order of the files. Adds a test failure if a file cannot be read.
std::vector<Case> LoadCases();
// Returns the manifests of our kinds in a folder, as cases that are accepted. Empty if there is no such folder.
std::vector<Case> LoadExamples(const std::string& folder);
// Returns all cases, our examples and the examples of users.
std::vector<Case> LoadCasesAndExamples();
std::string ExamplesFolder();      // The folder of our examples.
std::string LiveExamplesFolder();  // The folder of users' examples, beside the checkout.
std::string LiveDefinitions();     // The folder of live clusters' definitions, beside the checkout.

// Whether the two fields are equal or one lies in the other, as spec.tasks[0].name in spec.tasks[0]. a[b] is a.b.
bool AreRelated(std::string_view a, std::string_view b);

// Returns the value at the pointer, or null if there is none.
const json::value* At(const json::value& value, std::string_view pointer);
// Returns the path at which a manifest of one of the four kinds is created.
std::string CollectionOf(const json::value& manifest, std::string_view ns);

}  // namespace basalt::crds
