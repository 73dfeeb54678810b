#include "tests/crds/case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/base/yaml.h"

namespace basalt::crds {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> Steps(std::string_view pointer) {
  std::vector<std::string> steps;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    steps.emplace_back(pointer.substr(0, end));
    pointer.remove_prefix(end);
  }
  return steps;
}

size_t Index(std::string_view step) {
  size_t index = 0;
  std::from_chars(step.data(), step.data() + step.size(), index);
  return index;
}

json::value* Child(json::value& value, std::string_view step) {
  if (value.is_object()) return value.get_object().if_contains(step);
  if (value.is_array() && Index(step) < value.get_array().size()) return &value.get_array()[Index(step)];
  return nullptr;
}

// Returns the object or array that holds the pointer's last step, or null if the path to it does not exist.
json::value* Holder(json::value& value, const std::vector<std::string>& steps) {
  json::value* at = &value;
  for (size_t i = 0; i + 1 < steps.size() && at != nullptr; ++i) at = Child(*at, steps[i]);
  return at;
}

void Set(json::value& value, const std::string& pointer, const json::value& wanted) {
  const std::vector<std::string> steps = Steps(pointer);
  json::value* holder = Holder(value, steps);
  ASSERT_NE(holder, nullptr) << pointer;
  if (holder->is_array() && Index(steps.back()) == holder->get_array().size()) {
    holder->get_array().push_back(wanted);
  } else if (holder->is_array()) {
    holder->get_array()[Index(steps.back())] = wanted;
  } else {
    ASSERT_TRUE(holder->is_object()) << pointer;
    holder->get_object()[steps.back()] = wanted;
  }
}

void Remove(json::value& value, const std::string& pointer) {
  const std::vector<std::string> steps = Steps(pointer);
  json::value* holder = Holder(value, steps);
  ASSERT_NE(holder, nullptr) << pointer;
  if (holder->is_array()) {
    json::array& items = holder->get_array();
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(Index(steps.back())));
  } else {
    holder->get_object().erase(steps.back());
  }
}

std::vector<json::value> Documents(const fs::path& file) {
  std::ifstream in(file);
  auto documents = ParseYamlDocuments(std::string(std::istreambuf_iterator<char>(in), {}));
  EXPECT_TRUE(documents.ok()) << file << ": " << documents.status();
  return documents.ok() ? *std::move(documents) : std::vector<json::value>();
}

std::vector<fs::path> YamlFiles(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

Changes ChangesOf(const json::value& row, std::string_view member) {
  Changes changes;
  const json::value* found = Find(row, member);
  if (found == nullptr || !found->is_object()) return changes;
  for (const json::key_value_pair& change : found->get_object()) changes.emplace_back(change.key(), change.value());
  return changes;
}

Case CaseOf(const json::value& row, const json::value& bases, const std::string& file) {
  Case one;
  one.name = fmt::format("{}/{}", file, FindString(row, "name"));
  const json::value* base = Find(bases, FindString(row, "of"));
  EXPECT_NE(base, nullptr) << one.name;
  if (base == nullptr) return one;
  one.base = *base;
  for (const auto& [pointer, value] : ChangesOf(row, "before")) Set(one.base, pointer, value);
  one.update = Find(row, "update") != nullptr;
  one.set = ChangesOf(row, "set");
  if (const json::value* remove = Find(row, "remove")) {
    for (const json::value& pointer : remove->as_array()) one.remove.emplace_back(pointer.as_string());
  }
  one.by_rule = (file.ends_with("_rules") || file.ends_with("_updates")) && Find(row, "by_schema") == nullptr;
  one.refused = FindString(row, "refused");
  one.says = FindString(row, "says");
  one.memory = FindString(row, "memory");
  one.words = FindString(row, "words");
  one.submitted = FindString(row, "submitted");
  one.first = FindString(row, "first");
  one.warned = FindString(row, "warned");
  one.beyond = FindString(row, "beyond");
  one.open = FindString(row, "open");
  one.ours = FindString(row, "ours");
  one.stored = ChangesOf(row, "stored");
  one.given = ChangesOf(row, "given");
  return one;
}

struct Kind {
  std::string_view kind, collection;
  bool namespaced;
};
constexpr Kind kKinds[] = {
    {"Job", "/apis/batch.volcano.sh/v1alpha1{}/jobs", true},
    {"Command", "/apis/bus.volcano.sh/v1alpha1{}/commands", true},
    {"PodGroup", "/apis/scheduling.volcano.sh/v1beta1{}/podgroups", true},
    {"Queue", "/apis/scheduling.volcano.sh/v1beta1{}/queues", false},
};

bool IsOurs(const json::value& manifest) {
  return FindString(manifest, "apiVersion").find(".volcano.sh/") != std::string_view::npos;
}

}  // namespace

json::value Case::Changed(json::value from) const {
  for (const auto& [pointer, value] : set) Set(from, pointer, value);
  for (const std::string& pointer : remove) Remove(from, pointer);
  return from;
}

std::ostream& operator<<(std::ostream& out, const Case& one) { return out << one.name; }

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return c == '-'; });
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

std::vector<Case> LoadCases() {
  const fs::path folder = fs::path(BASALT_SOURCE_DIR) / "tests" / "crds" / "cases";
  const std::vector<json::value> bases = Documents(folder / "bases.yaml");
  std::vector<Case> cases;
  for (const fs::path& file : YamlFiles(folder)) {
    if (bases.size() != 1 || file.stem() == "bases") continue;
    for (const json::value& rows : Documents(file)) {
      for (const json::value& row : rows.as_array()) cases.push_back(CaseOf(row, bases.front(), file.stem().string()));
    }
  }
  return cases;
}

std::vector<Case> LoadExamples(const std::string& folder) {
  std::vector<Case> cases;
  for (const fs::path& file : YamlFiles(folder)) {
    for (const json::value& manifest : Documents(file)) {
      if (!IsOurs(manifest)) continue;
      Case& one = cases.emplace_back();
      one.name = fmt::format("examples/{}{}", file.stem().string(), cases.size());
      one.base = manifest;
    }
  }
  return cases;
}

std::vector<Case> LoadCasesAndExamples() {
  std::vector<Case> cases = LoadCases();
  for (const std::string& folder : {ExamplesFolder(), LiveExamplesFolder()}) {
    for (Case& one : LoadExamples(folder)) cases.push_back(std::move(one));
  }
  return cases;
}

std::string ExamplesFolder() { return BASALT_SOURCE_DIR "/examples"; }
std::string LiveExamplesFolder() { return BASALT_SOURCE_DIR "/../shared/data/examples/volcano"; }
std::string LiveDefinitions() { return BASALT_SOURCE_DIR "/../shared/data/crds"; }

bool AreRelated(std::string_view a, std::string_view b) {
  const auto steps = [](std::string_view field) {
    std::string text(field);
    std::erase(text, ']');
    std::replace(text.begin(), text.end(), '[', '.');
    return text;
  };
  const std::string left = steps(a), right = steps(b);
  return !left.empty() && !right.empty() && (left.starts_with(right) || right.starts_with(left));
}

const json::value* At(const json::value& value, std::string_view pointer) {
  const json::value* at = &value;
  for (const std::string& step : Steps(pointer)) {
    at = Child(const_cast<json::value&>(*at), step);
    if (at == nullptr) return nullptr;
  }
  return at;
}

std::string CollectionOf(const json::value& manifest, std::string_view ns) {
  for (const Kind& kind : kKinds) {
    if (kind.kind != FindString(manifest, "kind")) continue;
    return fmt::format(fmt::runtime(kind.collection), kind.namespaced ? fmt::format("/namespaces/{}", ns) : "");
  }
  return "";
}

}  // namespace basalt::crds
