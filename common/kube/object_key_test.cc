#include "common/kube/object_key.h"

#include <gtest/gtest.h>

namespace basalt::kube {
namespace {

TEST(ObjectKeyTest, AKeyIsNamespaceAndNameAndComesApartAgain) {
  struct Row {
    std::string_view key, ns, name;
  };
  for (const Row& row : {Row{"default/train", "default", "train"}, Row{"root", "", "root"}, Row{"", "", ""}}) {
    EXPECT_EQ(ObjectKey(row.ns, row.name), row.key);
    EXPECT_EQ(SplitKey(row.key).ns, row.ns) << row.key;
    EXPECT_EQ(SplitKey(row.key).name, row.name) << row.key;
  }
}

}  // namespace
}  // namespace basalt::kube
