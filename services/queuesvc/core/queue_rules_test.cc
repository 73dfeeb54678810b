#include "services/queuesvc/core/queue_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"

namespace basalt::queuesvc {
namespace {

TEST(QueueParentTest, AParentIsThereAndNotTooFarBelowRoot) {
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
  put("new", "");  // A new queue, whose parent will be root.
  put("orphan", "gone");
  put("a", "b");
  put("b", "a");
  const auto check = [&queues](std::string_view parent) {
    return CheckParent(
        parent,
        [&queues](std::string_view name) -> const kube::v1::Queue* {
          const auto found = queues.find(name);
          return found == queues.end() ? nullptr : &found->second;
        },
        QueueChildren());
  };
  for (const char* parent : {"", "root", "l1", "l4", "new"}) EXPECT_EQ(check(parent), "") << parent;
  const char* const too_low = "the queue would be more than 5 levels below root; name one that is higher";
  EXPECT_EQ(check("l5"), too_low);
  EXPECT_EQ(check("a"), too_low) << "a queue below itself is endlessly far below";
  EXPECT_EQ(check("missing"), "queue missing does not exist; make it first");
  EXPECT_EQ(check("orphan"), "queue gone does not exist; make it first");
}

class QueueRulesTest : public ::testing::Test {
 protected:
  using Amounts = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;

  kube::v1::Queue& Put(const std::string& name, const std::string& parent) {
    kube::v1::Queue& queue = queues_[name];
    queue.mutable_meta()->set_name(name);
    queue.set_parent(parent);
    children_.Move(name, "", parent);
    return queue;
  }
  static void Set(Amounts& amounts, const std::string& resource, const std::string& amount) {
    kube::v1::KeyValue& pair = *amounts.Add();
    pair.set_key(resource);
    pair.set_value(amount);
  }
  FindQueue find() const {
    return [this](std::string_view name) -> const kube::v1::Queue* {
      const auto found = queues_.find(name);
      return found == queues_.end() ? nullptr : &found->second;
    };
  }
  // Returns the problem of a queue of that name and parent with one amount; `amounts` is empty, or as "capability cpu
  // 8".
  std::string Check(const std::string& name, const std::string& parent, const std::string& amounts) const {
    kube::v1::Queue queue;
    queue.mutable_meta()->set_name(name);
    queue.set_parent(parent);
    const std::vector<std::string> words = absl::StrSplit(amounts, ' ', absl::SkipEmpty());
    if (words.size() == 3) {
      Amounts& of = words[0] == "capability" ? *queue.mutable_capability()
                    : words[0] == "deserved" ? *queue.mutable_deserved()
                                             : *queue.mutable_guarantee();
      Set(of, words[1], words[2]);
    }
    const QueueProblem problem = CheckResources(queue, find(), children_);
    return problem.field.empty() ? "" : problem.field + ": " + problem.rule;
  }

  std::map<std::string, kube::v1::Queue, std::less<>> queues_;
  QueueChildren children_;
};

// U27 of the users' cases.
TEST_F(QueueRulesTest, AQueueHasJobsOrQueuesBelowIt) {
  Put("p", "root").set_running(1);  // Ignored, since the queue has a child.
  Put("c1", "p");
  Put("p2", "root").set_running(1);
  Put("p3", "root").set_completed(2);
  Set(*Put("p4", "root").mutable_allocated(), "pods", "3");
  Set(*Put("p5", "root").mutable_allocated(), "pods", "0");
  const auto check = [this](std::string_view parent) { return CheckParent(parent, find(), children_); };
  EXPECT_EQ(check("p"), "");
  EXPECT_EQ(check("p2"), "queue p2 holds pod groups of its own: a queue has jobs, or queues below it");
  EXPECT_EQ(check("p3"), "") << "what is completed holds nothing";
  EXPECT_EQ(check("p4"), "queue p4 holds pod groups of its own: a queue has jobs, or queues below it");
  EXPECT_EQ(check("p5"), "");
}

TEST_F(QueueRulesTest, AQueueFitsThoseAboveAndBesideIt) {
  kube::v1::Queue& top = Put("top", "root");
  Set(*top.mutable_capability(), "cpu", "8");
  Set(*top.mutable_deserved(), "cpu", "4");
  Set(*top.mutable_guarantee(), "cpu", "2");
  kube::v1::Queue& team = Put("team", "top");
  Set(*team.mutable_capability(), "memory", "1Gi");
  Set(*team.mutable_deserved(), "cpu", "3");
  Set(*Put("beside", "team").mutable_deserved(), "cpu", "2");

  EXPECT_EQ(Check("new", "team", ""), "");
  EXPECT_EQ(Check("new", "", "capability cpu 100"), "") << "nothing above root limits";
  EXPECT_EQ(Check("new", "root", "capability cpu 100"), "");
  EXPECT_EQ(Check("new", "team", "capability cpu 8"), "");
  EXPECT_EQ(Check("new", "team", "capability cpu 8001m"),
            "spec.capability: cpu: 8001m is more than queue top above may take, 8");
  EXPECT_EQ(Check("new", "team", "capability memory 2Gi"),
            "spec.capability: memory: 2Gi is more than queue team above may take, 1Gi");
  EXPECT_EQ(Check("new", "team", "capability nvidia.com/gpu 9"), "") << "nobody above limits it";
  EXPECT_EQ(Check("new", "team", "deserved cpu 1"), "");
  EXPECT_EQ(Check("new", "team", "deserved cpu 1500m"),
            "spec.deserved: cpu: the queues below team would have 3500m together, and it has 3");
  EXPECT_EQ(Check("new", "team", "deserved nvidia.com/gpu 1"),
            "spec.deserved: nvidia.com/gpu: the queues below team would have 1 together, and it has 0");
  EXPECT_EQ(Check("new", "team", "guarantee cpu 1"),
            "spec.guarantee.resource: cpu: the queues below team would have 1 together, and it has 0");
  EXPECT_EQ(Check("new", "top", "guarantee cpu 2"), "");
  EXPECT_EQ(Check("beside", "team", "deserved cpu 2"), "")
      << "that there is one of the name already is said by the API server";
}

TEST_F(QueueRulesTest, AQueueFitsThoseThatWereBelowItsNameBefore) {
  kube::v1::Queue& low = Put("low", "mid");
  Set(*low.mutable_capability(), "cpu", "8");
  Set(*Put("mid", "p").mutable_capability(), "memory", "1Gi");
  Set(*queues_["mid"].mutable_deserved(), "cpu", "3");
  Set(*Put("beside", "p").mutable_deserved(), "cpu", "2");
  Set(*queues_["beside"].mutable_guarantee(), "cpu", "1");
  EXPECT_EQ(Check("other", "root", "capability cpu 1"), "");
  EXPECT_EQ(Check("p", "root", "capability cpu 4"), "spec.capability: cpu: 4 is less than queue low below may take, 8")
      << "mid, between them, does not limit it";
  EXPECT_EQ(Check("p", "root", "capability memory 512Mi"),
            "spec.capability: memory: 512Mi is less than queue mid below may take, 1Gi");
  EXPECT_THAT(Check("p", "root", "capability cpu 0"), ::testing::StartsWith("spec.guarantee")) << "0 limits nothing";
  Set(*queues_["mid"].mutable_capability(), "cpu", "2");
  EXPECT_EQ(Check("p", "root", "capability cpu 4"),
            "spec.guarantee.resource: cpu: the queues below p would have 1 together, and it has 0");
  queues_["beside"].clear_guarantee();
  EXPECT_EQ(Check("p", "root", "deserved cpu 4"),
            "spec.deserved: cpu: the queues below p would have 5 together, and it has 4");
  EXPECT_EQ(Check("p", "root", "deserved cpu 5"), "");
  Set(*Put("a", "b").mutable_capability(), "gpu", "1");
  Put("b", "a");
  EXPECT_EQ(Check("b", "a", "capability memory 1"), "") << "a circle has an end";
}

TEST_F(QueueRulesTest, OnlyTheLowestQueuesHaveAHierarchy) {
  const auto with_path = [](kube::v1::Queue& queue, const std::string& path) {
    kube::v1::KeyValue& annotation = *queue.mutable_meta()->add_annotations();
    annotation.set_key("volcano.sh/hierarchy");
    annotation.set_value(path);
  };
  with_path(Put("dev", "root"), "root/eng/dev");
  const auto each = [this](const std::function<void(const kube::v1::Queue&)>& visit) {
    for (const auto& [name, queue] : queues_) visit(queue);
  };
  const auto check = [&](const std::string& name, const std::string& path) {
    kube::v1::Queue queue;
    queue.mutable_meta()->set_name(name);
    with_path(queue, path);
    const QueueProblem problem = CheckAmongOthers(queue, find(), children_, each);
    return problem.field.empty() ? "" : problem.field + ": " + problem.rule;
  };
  EXPECT_EQ(
      check("eng", "root/eng"),
      "metadata.annotations: volcano.sh/hierarchy \"eng\" is above that of queue dev, \"eng/dev\": only the lowest "
      "queues have one");
  EXPECT_NE(check("eng", "eng"), "") << "root is put in front of it when it is made";
  for (const char* path : {"root/en", "root/eng/dev", "root/eng/dev/a", ""}) EXPECT_EQ(check("eng", path), "") << path;
  EXPECT_EQ(check("dev", "root/eng"), "") << "it is the queue itself";
}

// U35 of the users' cases.
TEST_F(QueueRulesTest, SumsThatNoNumberHoldsStayAboveAll) {
  Set(*Put("team", "root").mutable_deserved(), "cpu", "100E");
  Set(*Put("beside", "team").mutable_deserved(), "cpu", "9223372036854775807E");
  EXPECT_NE(Check("new", "team", "deserved cpu 9223372036854775807E"), "") << "it has not become negative";
}

TEST_F(QueueRulesTest, RootDefaultAndParentsStay) {
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
