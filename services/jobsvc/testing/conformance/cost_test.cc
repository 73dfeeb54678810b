// The cost of a pass, in allocations and in recorded bytes: code that copies, builds or looks up something for each pod
// of a job allocates for each of them. Names are long here, so that no text fits into its own object.
#include <algorithm>
#include <cstdint>
#include <limits>

#include "common/kube/names.h"
#include "services/jobsvc/testing/conformance/allocations.h"
#include "services/jobsvc/testing/conformance/conformance.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr char kJobName[] = "a-job-whose-name-is-long-enough";
constexpr char kKey[] = "default/a-job-whose-name-is-long-enough";

class CostTest : public ::testing::Test {
 protected:
  struct Cost {
    int64_t allocations = std::numeric_limits<int64_t>::max();
    size_t bytes = std::numeric_limits<size_t>::max();  // Recorded bytes.
    void TakeLess(const Cost& other) {
      allocations = std::min(allocations, other.allocations);
      bytes = std::min(bytes, other.bytes);
    }
  };

  // Begins a job of this many tasks with this many pods each, which run.
  void BeginRunning(int tasks, int pods) {
    BeginRunning(WithPolicy(MakeJob(kJobName, tasks, pods), "PodEvicted", "AbortJob"));
  }
  void BeginRunning(kube::v1::Job job) {
    rig_ = std::make_unique<JobRig>();
    job.mutable_spec()->set_min_available(1);
    rig_->Start();
    rig_->kube().PutJob(std::move(job));
    rig_->Run(absl::Seconds(10));
    rig_->kube().SetAllPods(kPodRunning);
    rig_->Run(absl::Seconds(20));
    ASSERT_EQ(rig_->PhaseOf(kKey), kRunning);
  }
  static std::string PodName(int index) { return std::string(kKey) + "-t0-" + std::to_string(index); }
  // Returns the cost of a pass that handles a newer state of the pod.
  Cost Pass(kube::v1::Object object) {
    kv::WriteBatch batch;
    rig_->controller().OnState(kKey, std::string(kube::kWatchJobPods), std::move(object));
    const int64_t before = Allocations();
    rig_->controller().Decide(kKey, batch);
    rig_->controller().Act(kKey);
    Cost cost{.allocations = Allocations() - before, .bytes = 0};
    for (size_t i = 0; i < batch.size(); ++i) cost.bytes += batch[i].key.size() + batch[i].value.size();
    return cost;
  }
  int64_t PassOverOnePod() {
    kube::v1::Object object;
    kube::v1::Pod& pod = *object.mutable_pod();
    pod = rig_->kube().pods().at(PodName(0));
    Cost least;
    for (int i = 0; i < 5; ++i) {
      pod.set_resource_version(pod.resource_version() + 1);
      pod.set_restarts(pod.restarts() == 0 ? 1 : 0);
      least.TakeLess(Pass(object));
    }
    return least.allocations;
  }

  std::unique_ptr<JobRig> rig_;
};

TEST_F(CostTest, APassOverOnePodCostsTheSameInASmallJobAndInALargeOne) {
  struct Size {
    int tasks, pods;  // `pods` is per task.
  };
  struct Case {
    Size small, large;
    int64_t more;  // Allocations that the large job may make beyond those of the small one.
  };
  for (const auto& [small, large, more] : {Case{{1, 20}, {1, 2000}, 20}, Case{{1, 1}, {1000, 1}, 2}}) {
    BeginRunning(small.tasks, small.pods);
    const int64_t in_small = PassOverOnePod();
    BeginRunning(large.tasks, large.pods);
    EXPECT_LE(PassOverOnePod(), in_small + more) << large.tasks << " tasks of " << large.pods;
  }
}

TEST_F(CostTest, ADeadlineCostsTheSameHoweverManyWaitAlready) {
  constexpr int kMeasured = 5;
  const auto measure = [&](int waiting) {
    BeginRunning(WithPolicy(MakeJob(kJobName, 1, kMeasured + 1 + waiting), "PodFailed", "AbortJob", absl::Hours(1)));
    for (int i = 0; i < waiting; ++i) rig_->kube().SetPodPhase(PodName(kMeasured + 1 + i), kPodFailed, 1);
    rig_->Run(absl::Seconds(20));
    Cost least;
    for (int i = 0; i < kMeasured; ++i) {
      kube::v1::Object object;
      kube::v1::Pod& pod = *object.mutable_pod();
      pod = rig_->kube().pods().at(PodName(i));
      pod.set_resource_version(pod.resource_version() + 1);
      pod.set_phase(kPodFailed);
      least.TakeLess(Pass(std::move(object)));
    }
    EXPECT_EQ(rig_->controller().Find(kKey)->deadlines.size(), static_cast<size_t>(waiting + kMeasured));
    return least;
  };
  const Cost few = measure(20);
  const Cost many = measure(2000);
  EXPECT_LE(many.allocations, few.allocations + 20);
  EXPECT_LE(many.bytes, few.bytes + 20);
}

TEST_F(CostTest, NothingIsParsedOrBuiltThatIsNotMade) {
  rig_ = std::make_unique<JobRig>();
  kube::v1::Job job = MakeJob(kJobName, 2, 500);
  job.mutable_spec()->set_min_available(1);
  job.mutable_spec()->mutable_tasks(1)->mutable_depends_on()->add_names("t0");
  for (const char* name : {"env", "svc"}) job.mutable_spec()->add_plugins()->set_name(name);
  rig_->Start();
  rig_->kube().PutJob(std::move(job));
  rig_->Run(absl::Seconds(10));
  for (int i = 0; i < 400; ++i) {
    rig_->kube().SetPodPhase(std::string(kKey) + "-t0-" + std::to_string(i), kPodRunning);
  }
  rig_->Run(absl::Seconds(20));
  ASSERT_EQ(rig_->kube().pods().size(), 500u) << "the second task waits";
  EXPECT_LE(PassOverOnePod(), 100);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
