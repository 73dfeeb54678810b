#include "cli/view/queue_tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "cli/view/queue_view.h"

namespace basalt::cli {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

queue::v1::Queue& Add(queue::v1::ListQueuesResponse& queues, const std::string& name, const std::string& parent,
                      const std::string& state, const std::string& mark = "") {
  queue::v1::Queue& queue = *queues.add_queues();
  queue.mutable_object()->mutable_meta()->set_name(name);
  queue.mutable_object()->mutable_meta()->set_uid("u-" + name);
  queue.mutable_object()->set_parent(parent);
  queue.mutable_object()->set_state(state);
  queue.mutable_object()->set_weight(1);
  if (mark.empty()) return queue;
  kube::v1::KeyValue& annotation = *queue.mutable_object()->mutable_meta()->add_annotations();
  annotation.set_key("volcano.sh/closed-by-parent");
  annotation.set_value(mark);
  return queue;
}

void SetAmount(google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& amounts, const std::string& resource,
               const std::string& amount) {
  kube::v1::KeyValue& pair = *amounts.Add();
  pair.set_key(resource);
  pair.set_value(amount);
}

TEST(QueueTreeTest, QueuesStandBelowTheirParents) {
  queue::v1::ListQueuesResponse queues;
  queue::v1::Queue& standard = Add(queues, "default", "root", "Open");
  standard.mutable_pod_groups()->set_running(12);
  SetAmount(*standard.mutable_object()->mutable_capability(), "cpu", "8");
  SetAmount(*standard.mutable_object()->mutable_allocated(), "cpu", "6500m");
  SetAmount(*standard.mutable_object()->mutable_allocated(), "memory", "3Gi");
  Add(queues, "nlp", "team", "Closing", "true").mutable_pod_groups()->set_completed(1);
  Add(queues, "root", "", "Open");
  Add(queues, "small", "nlp", "Closed", "true");
  Add(queues, "team", "root", "Closed");
  Add(queues, "vision", "team", "Closed", "false");
  EXPECT_EQ(
      FormatQueueTree(queues, ""),
      "NAME             STATE               WEIGHT   PENDING   INQUEUE   RUNNING   UNKNOWN   COMPLETED   RESOURCES\n"
      "root             Open                1        0         0         0         0         0\n"
      "├─ default       Open                1        0         0         12        0         0           cpu 6500m/8, "
      "memory 3Gi\n"
      "└─ team          Closed              1        0         0         0         0         0\n"
      "   ├─ nlp        Closing by parent   1        0         0         0         0         1\n"
      "   │  └─ small   Closed by parent    1        0         0         0         0         0\n"
      "   └─ vision     Closed              1        0         0         0         0         0\n");
  const std::string part = FormatQueueTree(queues, "nlp");
  EXPECT_EQ(part.substr(part.find('\n') + 1),
            "nlp        Closing by parent   1        0         0         0         0         1\n"
            "└─ small   Closed by parent    1        0         0         0         0         0\n");
}

TEST(QueueTreeTest, QueuesThatHaveNobodyAboveThemAreDrawnToo) {
  queue::v1::ListQueuesResponse queues;
  Add(queues, "a", "b", "Open");
  Add(queues, "b", "a", "Open");
  Add(queues, "orphan", "gone", "");
  Add(queues, "self", "self", "Open");
  EXPECT_EQ(FormatQueueTree(queues, ""),
            "NAME     STATE   WEIGHT   PENDING   INQUEUE   RUNNING   UNKNOWN   COMPLETED   RESOURCES\n"
            "orphan   -       1        0         0         0         0         0                       parent gone "
            "does not exist\n"
            "a        Open    1        0         0         0         0         0                       below itself\n"
            "└─ b     Open    1        0         0         0         0         0\n"
            "self     Open    1        0         0         0         0         0                       below itself\n");
}

TEST(QueueTreeTest, ACircleStandsAboveWhatIsBelowIt) {
  queue::v1::ListQueuesResponse queues;
  Add(queues, "a", "y", "Open");
  Add(queues, "y", "z", "Open");
  Add(queues, "z", "y", "Open");
  const std::string tree = FormatQueueTree(queues, "");
  EXPECT_THAT(tree, ContainsRegex("\ny .* below itself\n├─ a [^\n]*\n└─ z "));
}

queue::v1::KaiQueue& AddKai(queue::v1::ListQueuesResponse& queues, const std::string& name, const std::string& parent,
                            int64_t pod_groups) {
  queue::v1::KaiQueue& queue = *queues.add_queues()->mutable_kai();
  queue.mutable_object()->mutable_meta()->set_name(name);
  queue.mutable_object()->mutable_meta()->set_uid("u-" + name);
  queue.mutable_object()->set_parent(parent);
  queue.set_pod_groups(pod_groups);
  return queue;
}

TEST(QueueTreeTest, QueuesOfKaisStandInTheSameTree) {
  queue::v1::ListQueuesResponse queues;
  Add(queues, "team", "", "Open");
  SetAmount(*AddKai(queues, "all", "", 1).mutable_object()->mutable_quota(), "gpu", "10");
  queue::v1::KaiQueue& team = AddKai(queues, "team", "all", 2);
  SetAmount(*team.mutable_object()->mutable_quota(), "gpu", "7");
  SetAmount(*team.mutable_object()->mutable_limit(), "gpu", "8");
  SetAmount(*team.mutable_object()->mutable_allocated(), "gpu", "500m");
  SetAmount(*AddKai(queues, "vision", "all", 0).mutable_object()->mutable_quota(), "gpu", "3500m");
  AddKai(queues, "typo", "", 4).mutable_object()->mutable_meta()->clear_uid();
  const std::string tree = FormatQueueTree(queues, "");
  EXPECT_THAT(tree, HasSubstr("team            Open"));
  EXPECT_THAT(tree, ContainsRegex("\nkai/all .* 1 pod groups, 3 with those below; has pod groups of its own "
                                  "beside queues below it; quotas below: gpu 10500m of 10\n"));
  EXPECT_THAT(tree, ContainsRegex("\n├─ kai/team .*gpu 500m/8 +2 pod groups\n"));
  EXPECT_THAT(tree, ContainsRegex("\n└─ kai/vision .* 0 pod groups\n"));
  EXPECT_THAT(tree, ContainsRegex("\nkai/typo .* does not exist; 4 pod groups\n"));
}

TEST(QueueTreeTest, AQueueThatPlacesNothingSaysSoInTheTreeAndInTheList) {
  queue::v1::ListQueuesResponse queues;
  Add(queues, "inner", "root", "Open").mutable_pod_groups()->set_pending(2);
  Add(queues, "leaf", "inner", "Open").mutable_pod_groups()->set_pending(2);
  Add(queues, "orphan", "gone", "Open");
  Add(queues, "root", "", "Open");
  Add(queues, "self", "self", "Open");
  AddKai(queues, "below-typo", "typo", 1);
  AddKai(queues, "typo", "", 4).mutable_object()->mutable_meta()->clear_uid();
  queue::v1::Queue& typo = Add(queues, "typo", "", "");
  typo.mutable_object()->mutable_meta()->clear_uid();
  typo.mutable_pod_groups()->set_pending(3);
  using Remark = std::pair<const std::string, std::string>;
  constexpr char kBeside[] = "has pod groups of its own beside queues below it";
  EXPECT_THAT(
      QueueRemarks(queues),
      ::testing::ElementsAre(Remark("inner", kBeside), Remark("kai/below-typo", "parent kai/typo does not exist"),
                             Remark("kai/typo", std::string("does not exist; ") + kBeside),
                             Remark("orphan", "parent gone does not exist"), Remark("self", "below itself"),
                             Remark("typo", "does not exist")));
  EXPECT_THAT(FormatQueueTree(queues, ""),
              ContainsRegex("inner .* has pod groups of its own beside queues below it\n"));
  const std::string list = FormatQueues(queues, {});
  EXPECT_THAT(list, ContainsRegex("\norphan .* parent gone does not exist\n"));
  EXPECT_THAT(list, ContainsRegex("\nleaf +Open +inner[^a-z]*\n"));
  EXPECT_THAT(list, ContainsRegex("\nkai/typo .* does not exist; "));
  EXPECT_THAT(list, ContainsRegex("\ntypo +- +- +- +3 .* does not exist\n"));
  EXPECT_THAT(FormatQueueTree(queues, ""), ContainsRegex("\ntypo +- +- +3 .* does not exist\n"));
}

TEST(QueueTreeTest, SumsStayAtTheMostThatThereIs) {
  queue::v1::ListQueuesResponse queues;
  AddKai(queues, "all", "", 5);
  AddKai(queues, "a", "all", std::numeric_limits<int64_t>::max());
  AddKai(queues, "b", "all", std::numeric_limits<int64_t>::max());
  EXPECT_THAT(FormatQueueTree(queues, "kai/all"), HasSubstr("5 pod groups, 9223372036854775807 with those below"));
}

TEST(QueueTreeTest, QueuesOfKaisThatAreBelowThemselvesAreDrawnOnce) {
  queue::v1::ListQueuesResponse queues;
  AddKai(queues, "a", "b", 1);
  AddKai(queues, "b", "a", 2);
  const std::string tree = FormatQueueTree(queues, "");
  EXPECT_THAT(tree, ContainsRegex("\nkai/a .* below itself; 1 pod groups, 3 with those below; "));
  EXPECT_THAT(tree, ContainsRegex("\n└─ kai/b .* 2 pod groups, 3 with those below; "));
}

}  // namespace
}  // namespace basalt::cli
