#include "cli/view/queue_tree.h"

#include <gtest/gtest.h>

namespace basalt::cli {
namespace {

queue::v1::Queue& Add(queue::v1::ListQueuesResponse& queues, const std::string& name, const std::string& parent,
                      const std::string& state, const std::string& mark = "") {
  queue::v1::Queue& queue = *queues.add_queues();
  queue.mutable_object()->mutable_meta()->set_name(name);
  queue.mutable_object()->set_parent(parent);
  queue.mutable_object()->set_state(state);
  queue.mutable_object()->set_weight(1);
  if (mark.empty()) return queue;
  kube::v1::KeyValue& annotation = *queue.mutable_object()->mutable_meta()->add_annotations();
  annotation.set_key("volcano.sh/closed-by-parent");
  annotation.set_value(mark);
  return queue;
}

TEST(QueueTreeTest, QueuesStandBelowTheirParents) {
  queue::v1::ListQueuesResponse queues;
  Add(queues, "default", "root", "Open").mutable_pod_groups()->set_running(12);
  Add(queues, "nlp", "team", "Closing", "true").mutable_pod_groups()->set_completed(1);
  Add(queues, "root", "", "Open");
  Add(queues, "small", "nlp", "Closed", "true");
  Add(queues, "team", "root", "Closed");
  Add(queues, "vision", "team", "Closed", "false");
  EXPECT_EQ(FormatQueueTree(queues, ""),
            "NAME             STATE               WEIGHT   PENDING   INQUEUE   RUNNING   UNKNOWN   COMPLETED\n"
            "root             Open                1        0         0         0         0         0\n"
            "├─ default       Open                1        0         0         12        0         0\n"
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
            "NAME     STATE   WEIGHT   PENDING   INQUEUE   RUNNING   UNKNOWN   COMPLETED\n"
            "orphan   -       1        0         0         0         0         0           parent gone does not exist\n"
            "a        Open    1        0         0         0         0         0           below itself\n"
            "└─ b     Open    1        0         0         0         0         0\n"
            "self     Open    1        0         0         0         0         0           below itself\n");
}

}  // namespace
}  // namespace basalt::cli
