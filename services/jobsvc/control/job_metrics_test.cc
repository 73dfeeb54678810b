#include "services/jobsvc/control/job_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(JobMetricsTest, EndsAreCountedByQueueUnlessEachJobIsToHaveItsSeries) {
  const auto metrics = obs::MakeMetrics();
  JobMetrics jobs(*metrics, /*series_per_job=*/false);
  jobs.Reached(kube::v1::JOB_PHASE_COMPLETED, "ns/a", "q");
  jobs.Reached(kube::v1::JOB_PHASE_COMPLETED, "ns/b", "q");
  jobs.Reached(kube::v1::JOB_PHASE_FAILED, "ns/c", "r");
  jobs.Reached(kube::v1::JOB_PHASE_TERMINATED, "ns/d", "q");
  jobs.Forget("ns/a", "q");
  EXPECT_THAT(metrics->Text(),
              AllOf(HasSubstr("volcano_job_completed_phase_count{queue_name=\"q\"} 2"),
                    HasSubstr("volcano_job_failed_phase_count{queue_name=\"r\"} 1"), Not(HasSubstr("job_name"))));
}

TEST(JobMetricsTest, TheSeriesOfAJobEndsWithIt) {
  const auto metrics = obs::MakeMetrics();
  JobMetrics jobs(*metrics, /*series_per_job=*/true);
  jobs.Reached(kube::v1::JOB_PHASE_FAILED, "ns/a", "q");
  jobs.Reached(kube::v1::JOB_PHASE_FAILED, "ns/b", "q");
  EXPECT_THAT(metrics->Text(), HasSubstr("volcano_job_failed_phase_count{job_name=\"ns/a\",queue_name=\"q\"} 1"));
  jobs.Forget("ns/a", "q");
  EXPECT_THAT(metrics->Text(), AllOf(Not(HasSubstr("ns/a")), HasSubstr("ns/b")));
}

TEST(JobMetricsTest, CallsAboutGroupsAreCountedByTheirCode) {
  const auto metrics = obs::MakeMetrics();
  JobMetrics jobs(*metrics, false);
  jobs.GroupCall(absl::StatusCode::kOk);
  jobs.GroupCall(absl::StatusCode::kOk);
  jobs.GroupCall(absl::StatusCode::kUnavailable);
  EXPECT_THAT(metrics->Text(), AllOf(HasSubstr("basalt_job_group_calls_total{code=\"OK\"} 2"),
                                     HasSubstr("basalt_job_group_calls_total{code=\"UNAVAILABLE\"} 1")));
}

TEST(JobMetricsTest, ThirtyBucketsFromFiftyMillisecondsToAMinute) {
  const auto metrics = obs::MakeMetrics();
  JobMetrics jobs(*metrics, false);
  jobs.PodCreated(0);
  jobs.PodCreated(60);
  jobs.PodCreated(90'000);
  const std::string text = metrics->Text();
  const std::string name = "volcano_controller_job_to_pod_creation_latency_milliseconds";
  EXPECT_THAT(text, AllOf(HasSubstr(name + "_bucket{le=\"50\"} 1"), HasSubstr(name + "_bucket{le=\"+Inf\"} 3"),
                          HasSubstr(name + "_count 3")));
  int buckets = 0;
  for (size_t at = text.find(name + "_bucket"); at != std::string::npos; at = text.find(name + "_bucket", at + 1)) {
    ++buckets;
  }
  EXPECT_EQ(buckets, 31);
}

}  // namespace
}  // namespace basalt::jobsvc
