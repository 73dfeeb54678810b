#pragma once

// The table of manifests in cases/: what our definitions must accept and refuse. Pure reading of files, any thread.
#include <gtest/gtest.h>

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

  bool by_rule = false;  // A rule of x-kubernetes-validations decides, not the types and bounds ("by_schema").
  std::string refused;   // The field that the refusal names; empty: accepted.
  std::string says;      // Within the refusal's words for that field, and within memory's.
  std::string memory;    // The rule of jobsvc's table that says the same; "decoder": it cannot be read; empty: no rule.
  std::string warned;    // The field that memory warns of, in the words of `says`; `memory` is then the status' reason.
  std::string words;     // What the API and memory say of it where that is not what the server says.
  std::string submitted;  // The same of the API alone.
  std::string first;      // What a stored job's status begins with, where memory finds something else before it.
  // Doors that let it in, with the reason: the definition (then the others refuse it), or the API and memory.
  std::string beyond;
  std::string open;
  std::string ours;  // Why live definitions refuse what ours accepts.
  Changes stored;    // What an accepted object has after defaulting; null: nothing there.
  // What it has where the policies of deploy/admission are in force, with which it is accepted in any case.
  Changes given;

  // The object as the case sends it, made of the base or of what was stored.
  json::value Changed(json::value from) const;
  bool IsRefusedByServer() const { return !refused.empty() && beyond.empty(); }
  const std::string& Words() const { return words.empty() ? says : words; }
};
std::ostream& operator<<(std::ostream& out, const Case& one);
// Of a parameterised test.
std::string NameOf(const ::testing::TestParamInfo<Case>& info);

// Every case of cases/*.yaml, in the order of the files. A file that cannot be read is a failed test.
std::vector<Case> LoadCases();
// The manifests of our kinds in a folder, as cases that are accepted; none where there is no such folder.
std::vector<Case> LoadExamples(const std::string& folder);
// Both, our examples and those of users.
std::vector<Case> LoadCasesAndExamples();
std::string ExamplesFolder();      // Ours.
std::string LiveExamplesFolder();  // Those that users run, beside the checkout.
std::string LiveDefinitions();     // Definitions of live clusters, beside the checkout.

// Whether one of the two fields is, or lies in, the other: spec.tasks[0] and spec.tasks[0].name; a[b] is a.b.
bool AreRelated(std::string_view a, std::string_view b);

// Null where there is nothing.
const json::value* At(const json::value& value, std::string_view pointer);
// Where a manifest of one of the four kinds is created.
std::string CollectionOf(const json::value& manifest, std::string_view ns);

}  // namespace basalt::crds
