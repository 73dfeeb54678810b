#include "services/queuesvc/core/queue_rules.h"

#include <gtest/gtest.h>

#include <map>

namespace basalt::queuesvc {
namespace {

TEST(QueueRulesTest, AParentIsThereAndNotTooFarBelowRoot) {
  std::map<std::string, kube::v1::Queue, std::less<>> queues;
  const auto put = [&queues](const std::string& name, const std::string& parent) {
    queues[name].mutable_meta()->set_name(name);
    queues[name].set_parent(parent);
  };
  put("root", "");
  put("l1", "root");
  put("l2", "l1");
  put("l3", "l2");
  put("l4", "l3");
  put("l5", "l4");
  put("new", "");  // It has no parent yet: root will be.
  put("orphan", "gone");
  put("a", "b");
  put("b", "a");
  const auto check = [&queues](std::string_view parent) {
    return CheckParent(parent, [&queues](std::string_view name) -> const kube::v1::Queue* {
      const auto found = queues.find(name);
      return found == queues.end() ? nullptr : &found->second;
    });
  };
  for (const char* parent : {"", "root", "l1", "l4", "new"}) EXPECT_EQ(check(parent), "") << parent;
  const char* const too_low = "the queue would be more than 5 levels below root; name one that is higher";
  EXPECT_EQ(check("l5"), too_low);
  EXPECT_EQ(check("a"), too_low) << "a queue below itself is endlessly far below";
  EXPECT_EQ(check("missing"), "queue missing does not exist; make it first");
  EXPECT_EQ(check("orphan"), "queue gone does not exist; make it first");
}

TEST(QueueRulesTest, RootDefaultAndParentsStay) {
  QueueChildren children;
  children.Move("a", "", "team");
  children.Move("b", "", "team");
  children.Move("self", "", "self");
  EXPECT_EQ(CheckDeletion("root", children), "queue root cannot be deleted: every cluster has it");
  EXPECT_EQ(CheckDeletion("default", children), "queue default cannot be deleted: every cluster has it");
  EXPECT_EQ(CheckDeletion("team", children),
            "queue team is the parent of 2 queues, as a: delete them first, or move them");
  EXPECT_EQ(CheckDeletion("a", children), "");
  EXPECT_EQ(CheckDeletion("self", children), "");
}

}  // namespace
}  // namespace basalt::queuesvc
