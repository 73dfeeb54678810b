// Checks that every field of live clusters' definitions is in ours, or below a field where ours keep unknown fields.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "common/base/yaml.h"
#include "tests/crds/case.h"

namespace basalt::crds {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFiles[] = {"batch.volcano.sh_jobs.yaml", "bus.volcano.sh_commands.yaml",
                                       "scheduling.volcano.sh_podgroups.yaml", "scheduling.volcano.sh_queues.yaml"};
// The limit for all annotations of an object, which include the one in which kubectl apply stores the object.
constexpr size_t kAnnotations = 256 * 1024;

std::string OursFolder() { return BASALT_SOURCE_DIR "/deploy/crds"; }

json::value Definition(const fs::path& file) {
  std::ifstream in(file);
  auto documents = ParseYamlDocuments(std::string(std::istreambuf_iterator<char>(in), {}));
  EXPECT_TRUE(documents.ok() && documents->size() == 1) << file << ": " << documents.status();
  return documents.ok() && !documents->empty() ? documents->front() : json::value();
}

const json::value& SchemaOf(const json::value& definition) {
  return *At(definition, "/spec/versions/0/schema/openAPIV3Schema");
}

bool Keeps(const json::value& node) {
  const json::value* preserve = Find(node, "x-kubernetes-preserve-unknown-fields");
  return preserve != nullptr && *preserve == json::value(true);
}

// Walks both schemas and adds to `missing` the paths of theirs that ours drop or give another type.
void Compare(const json::value& theirs, const json::value* ours, const std::string& path, size_t& leaves,
             std::set<std::string>& missing) {
  if (ours == nullptr) {
    missing.insert(path);
    return;
  }
  if (FindString(theirs, "type") != FindString(*ours, "type")) missing.insert(path + " (another type)");
  const json::value* fields = Find(theirs, "properties");
  const json::value* items = Find(theirs, "items");
  const json::value* values = Find(theirs, "additionalProperties");
  if (fields == nullptr && items == nullptr && values == nullptr) ++leaves;
  if (fields != nullptr) {
    for (const json::key_value_pair& field : fields->get_object()) {
      const json::value* own = Find(*ours, "properties");
      const json::value* same = own == nullptr ? nullptr : Find(*own, field.key());
      if (same == nullptr && Keeps(*ours)) {
        ++leaves;
        continue;
      }
      Compare(field.value(), same, fmt::format("{}.{}", path, std::string_view(field.key())), leaves, missing);
    }
  }
  if (items != nullptr) Compare(*items, Find(*ours, "items"), path + "[]", leaves, missing);
  if (values == nullptr || !values->is_object() || (Keeps(*ours) && Find(*ours, "additionalProperties") == nullptr)) {
    return;
  }
  Compare(*values, Find(*ours, "additionalProperties"), path + "{}", leaves, missing);
}

class DefinitionFields : public testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    if (!fs::exists(LiveDefinitions()))
      GTEST_SKIP() << "skipped: the live definitions are absent: " << LiveDefinitions();
    theirs_ = Definition(fs::path(LiveDefinitions()) / GetParam());
    ours_ = Definition(fs::path(OursFolder()) / GetParam());
  }

  json::value theirs_, ours_;
};

TEST_P(DefinitionFields, FieldsOfLiveDefinitionsAreInOurs) {
  size_t leaves = 0;
  std::set<std::string> missing;
  Compare(SchemaOf(theirs_), &SchemaOf(ours_), "", leaves, missing);
  EXPECT_EQ(missing, std::set<std::string>());
  EXPECT_GT(leaves, 8u);
}

TEST_P(DefinitionFields, TheRestIsTheSame) {
  for (const char* pointer : {"/metadata/name", "/spec/group", "/spec/scope", "/spec/names"}) {
    EXPECT_EQ(*At(theirs_, pointer), *At(ours_, pointer)) << pointer;
  }
  const json::array& versions = At(ours_, "/spec/versions")->as_array();
  ASSERT_EQ(At(theirs_, "/spec/versions")->as_array().size(), versions.size());
  // Our columns follow theirs.
  const json::value* const columns = Find(versions.front(), "additionalPrinterColumns");
  const json::value* const their_columns = At(theirs_, "/spec/versions/0/additionalPrinterColumns");
  for (size_t i = 0; their_columns != nullptr && i < their_columns->as_array().size(); ++i) {
    ASSERT_NE(columns, nullptr);
    ASSERT_LT(i, columns->as_array().size());
    EXPECT_EQ(columns->as_array()[i], their_columns->as_array()[i]);
  }
  for (const char* member : {"name", "served", "storage"}) {
    const json::value* theirs = At(theirs_, fmt::format("/spec/versions/0/{}", member));
    const json::value* ours = Find(versions.front(), member);
    ASSERT_EQ(theirs == nullptr, ours == nullptr) << member;
    if (ours == nullptr) continue;
    EXPECT_EQ(*theirs, *ours) << member;
  }
  for (const char* subresource : {"status", "scale"}) {
    const std::string pointer = fmt::format("/spec/versions/0/subresources/{}", subresource);
    EXPECT_EQ(At(theirs_, pointer) == nullptr, At(ours_, pointer) == nullptr) << subresource;
  }
}

std::string NameOfFile(const testing::TestParamInfo<std::string_view>& row) {
  const size_t dot = row.param.rfind('_') + 1;
  return std::string(row.param.substr(dot, row.param.rfind('.') - dot));
}

INSTANTIATE_TEST_SUITE_P(Each, DefinitionFields, testing::ValuesIn(kFiles), NameOfFile);

TEST(OurDefinitions, FitIntoTheAnnotationOfApply) {
  for (const std::string_view file : kFiles) {
    EXPECT_LT(ToText(Definition(fs::path(OursFolder()) / file)).size(), kAnnotations / 2) << file;
  }
}

TEST(OurDefinitions, SayWhatEveryFieldOfASpecIs) {
  for (const std::string_view file : kFiles) {
    const json::value definition = Definition(fs::path(OursFolder()) / file);
    const json::value* spec = At(SchemaOf(definition), "/properties/spec/properties");
    if (spec == nullptr) continue;
    for (const json::key_value_pair& field : spec->get_object()) {
      EXPECT_NE(FindString(field.value(), "description"), "") << file << " " << field.key();
    }
  }
}

}  // namespace
}  // namespace basalt::crds
