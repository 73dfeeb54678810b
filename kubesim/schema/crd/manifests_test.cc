// Our own definitions against the schemas of live clusters, and against manifests that users run.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include "common/base/yaml.h"
#include "kubesim/schema/core/testing.h"
#include "kubesim/schema/crd/crd.h"
#include "kubesim/schema/crd/schema_node.h"

#ifndef BASALT_SOURCE_DIR
#error "the folder of the sources is needed to find the manifests"
#endif

namespace basalt::kubesim {
namespace {

namespace fs = std::filesystem;

const fs::path kOurs = fs::path(BASALT_SOURCE_DIR) / "deploy" / "crds";
const fs::path kLive = fs::path(BASALT_SOURCE_DIR) / ".." / "shared" / "data" / "crds";
const fs::path kExamples = fs::path(BASALT_SOURCE_DIR) / ".." / "shared" / "data" / "examples" / "volcano";

std::vector<json::value> Read(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  auto documents = ParseYamlDocuments(text.str());
  EXPECT_TRUE(documents.ok()) << path << ": " << documents.status();
  return documents.ok() ? *std::move(documents) : std::vector<json::value>();
}

std::vector<fs::path> Files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::map<std::string, CustomResource> Load(const fs::path& folder) {
  std::map<std::string, CustomResource> loaded;
  for (const fs::path& file : Files(folder)) {
    for (const json::value& document : Read(file)) {
      auto resource = LoadCrd(document);
      EXPECT_TRUE(resource.ok()) << file << ": " << resource.status();
      if (!resource.ok()) continue;
      const std::string name = resource->name;
      loaded[name] = *std::move(resource);
    }
  }
  return loaded;
}

// Returns values of every shape that a schema accepts at one place: one of the type, and each enumerated value.
std::vector<json::value> Samples(const SchemaNode& node);

// Values that live schemas accept and the webhooks of live clusters refuse: internal events, and any text as a restart
// policy.
const std::vector<json::value> kInternalEvents = {"PodRunning", "OutOfSync", "CommandIssued"};
constexpr std::string_view kRestartPolicy = "restartPolicy";

json::value Full(const SchemaNode& node) {
  json::object object;
  for (const auto& [name, child] : node.properties) {
    object[name] = name == kRestartPolicy ? json::value("Never") : Samples(*child).front();
  }
  if (node.additional != nullptr) object["anykey"] = Samples(*node.additional).front();
  return object;
}

std::string TextFor(const SchemaNode& node) {
  if (node.format == "date-time") return "2026-01-02T03:04:05Z";
  // The candidates include a duration and a name. The schema may not state which of them is meant.
  for (const char* candidate : {"1h", "a1", "1", "a"}) {
    if (node.pattern == nullptr || RE2::PartialMatch(candidate, *node.pattern)) return candidate;
  }
  ADD_FAILURE() << "no sample for the pattern " << node.pattern_text;
  return "";
}

std::vector<json::value> Samples(const SchemaNode& node) {
  if (!node.enumeration.empty()) {
    std::vector<json::value> accepted = node.enumeration;
    std::erase_if(accepted, [](const json::value& value) {
      return std::find(kInternalEvents.begin(), kInternalEvents.end(), value) != kInternalEvents.end();
    });
    return accepted;
  }
  if (node.int_or_string) return {json::value(1), json::value("500m"), json::value("1.5Gi")};
  using Type = SchemaNode::Type;
  switch (node.type) {
    case Type::kAny:
      return {json::object{{"free", 1}}};
    case Type::kObject:
      return {Full(node)};
    case Type::kArray: {
      json::array items;
      for (json::value& item : Samples(*node.items)) items.push_back(std::move(item));
      if (node.list_type != ListType::kAtomic) items.resize(1);
      return {items};
    }
    case Type::kString: {
      std::vector<json::value> out = {json::value(TextFor(node))};
      if (node.max_length && node.pattern == nullptr) out.emplace_back(std::string(*node.max_length, 'x'));
      return out;
    }
    case Type::kInteger: {
      std::vector<json::value> out = {
          json::value(std::max<int64_t>(1, static_cast<int64_t>(node.minimum.value_or(0))))};
      if (node.minimum) out.emplace_back(static_cast<int64_t>(*node.minimum));
      if (node.maximum) out.emplace_back(static_cast<int64_t>(*node.maximum));
      if (!node.minimum) out.emplace_back(-1);
      return out;
    }
    case Type::kNumber:
      return {json::value(1.5)};
    case Type::kBoolean:
      return {json::value(true), json::value(false)};
  }
  return {};
}

void ExpectKept(const Schema& schema, const json::value& object, const std::string& what) {
  json::value kept = object;
  std::vector<FieldError> errors;
  std::vector<std::string> pruned;
  EXPECT_TRUE(ValidateAndDefault(schema, kept, &errors, &pruned).ok()) << what << "\n" << Words(errors);
  EXPECT_TRUE(pruned.empty()) << what << " loses " << (pruned.empty() ? "" : pruned.front());
}

// Walks the live schema. For every leaf, calls `emit` with full objects that vary in this place alone. Where our schema
// keeps any content (pod templates), one full object is enough.
void VisitLeaves(const SchemaNode& node, const SchemaNode* ours, const std::function<void(const json::value&)>& emit) {
  if (ours != nullptr && ours->preserve_unknown) return emit(Samples(node).front());
  if (node.type == SchemaNode::Type::kObject && !node.properties.empty()) {
    const json::value full = Full(node);
    emit(full);
    for (const auto& [name, child] : node.properties) {
      const SchemaNode* own = nullptr;
      if (ours != nullptr && ours->properties.contains(name)) own = ours->properties.find(name)->second.get();
      VisitLeaves(*child, own, [&, key = name](const json::value& varied) {
        json::value object = full;
        object.get_object()[key] = varied;
        emit(object);
      });
    }
    return;
  }
  if (node.type == SchemaNode::Type::kArray) {
    VisitLeaves(*node.items, ours == nullptr ? nullptr : ours->items.get(),
                [&](const json::value& varied) { emit(json::array{varied}); });
    return;
  }
  if (node.additional != nullptr) {
    VisitLeaves(*node.additional, ours == nullptr ? nullptr : ours->additional.get(), [&](const json::value& varied) {
      emit(json::object{{"some.key/x", varied}});
    });
    return;
  }
  for (const json::value& sample : Samples(node)) emit(sample);
}

TEST(OurDefinitionsTest, LoadWithTheNamesOfTheSpecifications) {
  const auto ours = Load(kOurs);
  ASSERT_EQ(ours.size(), 4u);
  const TypeInfo& job = *ours.at("jobs.batch.volcano.sh").versions.at(0);
  EXPECT_EQ(job.ApiVersion(), "batch.volcano.sh/v1alpha1");
  EXPECT_EQ(job.short_names, (std::vector<std::string>{"vcjob", "vj"}));
  EXPECT_TRUE(job.has_status);
  EXPECT_EQ(job.columns.size(), 5u);
  const TypeInfo& group = *ours.at("podgroups.scheduling.volcano.sh").versions.at(0);
  EXPECT_FALSE(group.has_status);
  EXPECT_EQ(group.short_names, (std::vector<std::string>{"pg", "podgroup-v1beta1"}));
  const TypeInfo& queue = *ours.at("queues.scheduling.volcano.sh").versions.at(0);
  EXPECT_TRUE(queue.has_status);
  EXPECT_FALSE(queue.namespaced);
  EXPECT_EQ(queue.columns.size(), 7u);
  EXPECT_FALSE(ours.at("commands.bus.volcano.sh").versions.at(0)->has_status);
}

TEST(OurDefinitionsTest, DefaultsAndBoundsOfTheSpecificationsHold) {
  const auto ours = Load(kOurs);
  const json::value containers = json::array{json::object{{"name", "c"}, {"image", "i"}}};
  json::value job = {
      {"spec",
       {{"tasks", json::array{json::object{{"replicas", 2},
                                           {"template", {{"spec", {{"x", 1}, {"containers", containers}}}}}}}}}}};
  std::vector<FieldError> errors;
  const Schema& schema = *ours.at("jobs.batch.volcano.sh").versions.at(0)->schema;
  EXPECT_TRUE(ValidateAndDefault(schema, job, &errors).ok()) << Words(errors);
  EXPECT_EQ(job.at("spec").at("queue"), "default");
  EXPECT_EQ(job.at("spec").at("maxRetry"), 3);
  EXPECT_EQ(*FindPath(job.at("spec").at("tasks").at(0), {"template", "spec", "x"}), 1);
  job.at("spec").at("tasks").at(0).at("replicas") = -1;
  EXPECT_FALSE(ValidateAndDefault(schema, job, &errors).ok());
  EXPECT_EQ(Words(errors),
            "spec.tasks[0].replicas: Invalid value: -1: spec.tasks[0].replicas in body should be greater than or equal "
            "to 0\n");
}

TEST(LiveDefinitionsTest, AllLoad) {
  if (!fs::exists(kLive)) GTEST_SKIP() << "skipped: the live schemas are absent: " << kLive;
  EXPECT_EQ(Load(kLive).size(), 6u);
}

TEST(LiveDefinitionsTest, OursAcceptAndKeepEveryField) {
  if (!fs::exists(kLive)) GTEST_SKIP() << "skipped: the live schemas are absent: " << kLive;
  const auto live = Load(kLive);
  for (const auto& [name, ours] : Load(kOurs)) {
    ASSERT_TRUE(live.contains(name)) << name;
    const TypeInfo& theirs = *live.at(name).versions.at(0);
    const TypeInfo& own = *ours.versions.at(0);
    EXPECT_EQ(own.version, theirs.version);
    EXPECT_EQ(own.short_names, theirs.short_names);
    EXPECT_EQ(own.singular, theirs.singular);
    EXPECT_EQ(own.namespaced, theirs.namespaced);
    EXPECT_EQ(own.has_status, theirs.has_status);
    ASSERT_GE(own.columns.size(), theirs.columns.size()) << name << ": columns of ours stand behind theirs";
    for (size_t i = 0; i < theirs.columns.size(); ++i) {
      EXPECT_EQ(own.columns[i].name, theirs.columns[i].name);
      EXPECT_EQ(own.columns[i].type, theirs.columns[i].type);
      EXPECT_EQ(own.columns[i].json_path, theirs.columns[i].json_path);
      EXPECT_EQ(own.columns[i].priority, theirs.columns[i].priority);
    }
    size_t objects = 0;
    VisitLeaves(theirs.schema->root(), &own.schema->root(), [&, &name = name](const json::value& object) {
      ++objects;
      ExpectKept(*own.schema, object, name + " " + ToText(object).substr(0, 300));
    });
    EXPECT_GT(objects, 10u) << name;
  }
}

// Checks that our schema has the defaults of the live schema.
void CompareDefaults(const SchemaNode& theirs, const SchemaNode& ours, const std::string& path) {
  if (ours.preserve_unknown) return;
  // Fields that have a default in our schema only: one that their webhook sets, and counts that they leave out if 0.
  const std::set<std::string> ours_alone = {
      "queues.scheduling.volcano.sh.spec.reclaimable", "queues.scheduling.volcano.sh.status.completed",
      "queues.scheduling.volcano.sh.status.inqueue",   "queues.scheduling.volcano.sh.status.pending",
      "queues.scheduling.volcano.sh.status.running",   "queues.scheduling.volcano.sh.status.unknown"};
  EXPECT_EQ(theirs.default_value.has_value() || ours_alone.contains(path), ours.default_value.has_value()) << path;
  if (theirs.default_value && ours.default_value) {
    EXPECT_EQ(*theirs.default_value, *ours.default_value) << path;
  }
  EXPECT_EQ(theirs.list_type, ours.list_type) << path;
  for (const auto& [name, child] : theirs.properties) {
    const auto found = ours.properties.find(name);
    ASSERT_NE(found, ours.properties.end()) << path << "." << name;
    CompareDefaults(*child, *found->second, path + "." + name);
  }
  if (theirs.items != nullptr) CompareDefaults(*theirs.items, *ours.items, path + "[]");
}

TEST(LiveDefinitionsTest, OursSetTheSameDefaults) {
  if (!fs::exists(kLive)) GTEST_SKIP() << "skipped: the live schemas are absent: " << kLive;
  const auto live = Load(kLive);
  for (const auto& [name, ours] : Load(kOurs)) {
    CompareDefaults(live.at(name).versions.at(0)->schema->root(), ours.versions.at(0)->schema->root(), name);
  }
}

TEST(ExamplesTest, AreAcceptedByBothSetsOfDefinitions) {
  if (!fs::exists(kExamples)) GTEST_SKIP() << "skipped: the examples are absent: " << kExamples;
  size_t objects = 0;
  for (const fs::path& folder : {kOurs, kLive}) {
    std::map<std::string, TypeInfoPtr> types;
    for (const auto& [name, resource] : Load(folder)) {
      for (const TypeInfoPtr& type : resource.versions) types[type->ApiVersion() + "/" + type->kind] = type;
    }
    for (const fs::path& file : Files(kExamples)) {
      for (const json::value& document : Read(file)) {
        const auto found = types.find(std::string(FindString(document, "apiVersion")) + "/" +
                                      std::string(FindString(document, "kind")));
        if (found == types.end()) continue;
        ++objects;
        json::value object = document;
        std::vector<FieldError> errors;
        EXPECT_TRUE(ValidateAndDefault(*found->second->schema, object, &errors).ok()) << file << "\n" << Words(errors);
        if (folder == kOurs) ExpectKept(*found->second->schema, document, file.string());
      }
    }
  }
  EXPECT_GT(objects, 10u);
}

}  // namespace
}  // namespace basalt::kubesim
