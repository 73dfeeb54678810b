#include "services/queuesvc/control/queue_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace basalt::queuesvc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

void SetAmount(google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& amounts, const std::string& resource,
               const std::string& amount) {
  kube::v1::KeyValue& pair = *amounts.Add();
  pair.set_key(resource);
  pair.set_value(amount);
}

TEST(QueueMetricsTest, AQueueShowsItsStateAndTheShareOfItsCapabilityThatIsInUse) {
  const auto metrics = obs::MakeMetrics();
  kube::v1::Queue queue;
  queue.mutable_meta()->set_resource_version(1);
  queue.set_state("Closing");
  SetAmount(*queue.mutable_capability(), "cpu", "8");
  SetAmount(*queue.mutable_capability(), "example.com/bytes", "16Pi");
  SetAmount(*queue.mutable_capability(), "memory", "1Gi");
  SetAmount(*queue.mutable_capability(), "nvidia.com/gpu", "0");
  SetAmount(*queue.mutable_allocated(), "cpu", "2");
  SetAmount(*queue.mutable_allocated(), "example.com/bytes", "4Pi");
  SetAmount(*queue.mutable_allocated(), "pods", "3");
  queue::v1::PodGroupCounts counts;
  counts.set_pending(4);
  {
    QueueSeries series(*metrics, "research");
    series.Show(queue, counts);
    const std::string text = metrics->Text();
    EXPECT_THAT(text, HasSubstr(R"(volcano_queue_pod_group_pending_count{queue_name="research"} 4)"));
    EXPECT_THAT(text, HasSubstr(R"(basalt_queue_state{queue_name="research",state="Closing"} 1)"));
    EXPECT_THAT(text, HasSubstr(R"(basalt_queue_state{queue_name="research",state="Open"} 0)"));
    EXPECT_THAT(text, HasSubstr(R"(in_use_ratio{queue_name="research",resource="cpu"} 0.25)"));
    EXPECT_THAT(text, HasSubstr(R"(in_use_ratio{queue_name="research",resource="memory"} 0)"));
    EXPECT_THAT(text, HasSubstr(R"(in_use_ratio{queue_name="research",resource="example.com/bytes"} 0.25)"));
    EXPECT_THAT(text, Not(HasSubstr(R"(resource="nvidia.com/gpu")"))) << "there is no share of nothing";
    EXPECT_THAT(text, Not(HasSubstr(R"(resource="pods")"))) << "unlimited";

    queue.mutable_capability()->RemoveLast();
    queue.mutable_capability()->RemoveLast();
    queue.mutable_meta()->set_resource_version(2);
    queue.set_state("Open");
    series.Show(queue, counts);
    EXPECT_THAT(metrics->Text(), HasSubstr(R"(basalt_queue_state{queue_name="research",state="Closing"} 0)"));
    EXPECT_THAT(metrics->Text(), Not(HasSubstr(R"(resource="memory")"))) << "the limit is gone";
  }
  EXPECT_THAT(metrics->Text(), Not(HasSubstr("research")));
}

TEST(QueueMetricsTest, AQueueOfKaisShowsHowManyGroupsNameIt) {
  const auto metrics = obs::MakeMetrics();
  {
    KaiQueueSeries series(*metrics, "team");
    series.Show(2);
    EXPECT_THAT(metrics->Text(), HasSubstr(R"(basalt_kai_queue_pod_groups{queue_name="team"} 2)"));
  }
  EXPECT_THAT(metrics->Text(), Not(HasSubstr("team")));
}

}  // namespace
}  // namespace basalt::queuesvc
