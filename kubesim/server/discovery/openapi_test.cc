#include "kubesim/server/discovery/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubesim/schema/builtin/builtin.h"

namespace basalt::kubesim {
namespace {

using ::testing::ElementsAre;

// Returns the texts and messages of this field of a message.
std::vector<std::string> Fields(std::string_view message, uint64_t wanted) {
  std::vector<std::string> found;
  const auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; !message.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(message.front());
      message.remove_prefix(1);
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) break;
    }
    return value;
  };
  while (!message.empty()) {
    const uint64_t number = varint() >> 3;
    const uint64_t size = varint();
    if (number == wanted) found.emplace_back(message.substr(0, size));
    message.remove_prefix(size);
  }
  return found;
}

// Returns the texts and messages at a path of fields.
std::vector<std::string> At(std::string_view message, std::initializer_list<uint64_t> path) {
  std::vector<std::string> at = {std::string(message)};
  for (const uint64_t number : path) {
    std::vector<std::string> next;
    for (const std::string& one : at) {
      for (std::string& field : Fields(one, number)) next.push_back(std::move(field));
    }
    at = std::move(next);
  }
  return at;
}

TEST(OpenApiTest, EveryKindCanBePatchedWithDryRunAndValidation) {
  const std::vector<TypeInfoPtr> types = BuiltinTypes();
  const std::string document = OpenApiDocument(types);
  EXPECT_THAT(At(document, {1}), ElementsAre("2.0"));
  const std::vector<std::string> paths = At(document, {8, 2});
  ASSERT_EQ(paths.size(), types.size());
  for (size_t i = 0; i < paths.size(); ++i) {
    const TypeInfo& type = *types[i];
    SCOPED_TRACE(type.kind);
    EXPECT_TRUE(At(paths[i], {1}).at(0).ends_with("/" + type.plural + "/{name}"));
    EXPECT_THAT(At(paths[i], {2, 8, 8, 1, 2, 3, 4}), ElementsAre("dryRun", "fieldValidation"));
    EXPECT_THAT(At(paths[i], {2, 8, 13, 1}), ElementsAre("x-kubernetes-group-version-kind"));
    EXPECT_THAT(At(paths[i], {2, 8, 13, 2, 2}), ElementsAre("{\"group\":\"" + type.group + "\",\"kind\":\"" +
                                                            type.kind + "\",\"version\":\"" + type.version + "\"}"));
  }
}

}  // namespace
}  // namespace basalt::kubesim
