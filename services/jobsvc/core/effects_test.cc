#include "services/jobsvc/core/effects.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "services/jobsvc/core/spec/compiled_job.h"
#include "services/jobsvc/core/testing.h"

namespace basalt::jobsvc {
namespace {

constexpr auto kRunning = kube::v1::POD_PHASE_RUNNING;
constexpr auto kSucceeded = kube::v1::POD_PHASE_SUCCEEDED;

// Tasks a and b of two pods each, on which c depends. Task a needs only one of its pods.
struct Tasks {
  explicit Tasks(std::vector<std::string> names, std::string iteration = "") {
    for (const char* name : {"a", "b", "c"}) {
      auto* task = spec.add_tasks();
      task->set_name(name);
      task->set_replicas(2);
    }
    spec.mutable_tasks(0)->set_min_available(1);
    spec.mutable_tasks(1)->set_min_available(2);
    auto* depends = spec.mutable_tasks(2)->mutable_depends_on();
    for (std::string& name : names) depends->add_names(std::move(name));
    depends->set_iteration(std::move(iteration));
    pods = testing::MakePodSet(ShapeOf(spec));
  }
  Tasks& See(const std::string& name, kube::v1::PodPhase phase, bool ready = false) {
    kube::v1::Pod pod = testing::MakePod("j-" + name, name, phase);
    pod.set_all_ready(ready);
    pods.Apply(pod);
    return *this;
  }
  bool Starts() const { return DependencyMet(spec, 2, pods, nullptr); }

  kube::v1::JobSpec spec;
  PodSet pods;
};

TEST(DependencyTest, ATaskIsReadyWhenSoManyPodsAreReadyOrHaveSucceeded) {
  EXPECT_TRUE(Tasks({}).Starts());
  EXPECT_FALSE(Tasks({"a"}).Starts());
  EXPECT_FALSE(Tasks({"a"}).See("a-0", kRunning).Starts()) << "not ready";
  EXPECT_TRUE(Tasks({"a"}).See("a-0", kRunning, true).Starts());
  EXPECT_TRUE(Tasks({"a"}).See("a-1", kSucceeded).Starts()) << "readiness is not asked of what succeeded";
  EXPECT_FALSE(Tasks({"b"}).See("b-0", kSucceeded).Starts());
  EXPECT_TRUE(Tasks({"b"}).See("b-0", kSucceeded).See("b-1", kRunning, true).Starts());
  EXPECT_FALSE(Tasks({"a"}).See("a-0", kube::v1::POD_PHASE_FAILED).Starts());
}

TEST(DependencyTest, AnyMeansOneAndEverythingElseAll) {
  for (const char* iteration : {"", "all", "anyone"}) {
    EXPECT_FALSE(Tasks({"a", "b"}, iteration).See("a-0", kSucceeded).Starts()) << iteration;
  }
  EXPECT_TRUE(Tasks({"a", "b"}, "any").See("a-0", kSucceeded).Starts());
  EXPECT_FALSE(Tasks({"a", "b"}, "any").Starts());
  EXPECT_FALSE(Tasks({"b"}, "any").See("b-0", kSucceeded).Starts()) << "of one name, all of it";
}

TEST(DependencyTest, ATaskThatDoesNotExistIsNeverReady) {
  EXPECT_FALSE(Tasks({"z"}).See("a-0", kSucceeded).Starts());
  EXPECT_FALSE(Tasks({"z", "a"}).See("a-0", kSucceeded).Starts());
  EXPECT_TRUE(Tasks({"z", "a"}, "any").See("a-0", kSucceeded).Starts());
}

// Each sentence has more than 300 bytes.
TEST(DependencyTest, MoreTasksThanFitAreHintedAt) {
  for (const int waiting : {1, 2, 3}) {
    SCOPED_TRACE(waiting);
    kube::v1::JobSpec spec;
    for (int i = 0; i <= waiting; ++i) {
      auto& task = *spec.add_tasks();
      task.set_name(i == 0 ? "a" : std::string(300, static_cast<char>('a' + i)));
      task.set_replicas(1);
      task.set_min_available(1);
      if (i > 0) task.mutable_depends_on()->add_names("a");
    }
    PodSet pods = testing::MakePodSet(ShapeOf(spec));
    pods.Apply(testing::MakePod("j-a-0", "u", kube::v1::POD_PHASE_FAILED));
    const std::string why = WhyNeverStarted(spec, pods);
    EXPECT_EQ(why.ends_with("has failed for good; …"), waiting > 2) << why;
    EXPECT_EQ(why.find(spec.tasks(waiting).name()) != std::string::npos, waiting <= 2);
  }
}

std::vector<std::string> NextCreated(const testing::DecideFacts& facts, const std::set<std::string>& busy) {
  const EffectInput input{.job = facts.job,
                          .spec = facts.spec,
                          .pods = facts.pods,
                          .group = {.present = true, .phase = "Running"},
                          .objects_ready = true,
                          .busy = busy,
                          .limit = 3};
  std::vector<std::string> names;
  for (const PodEffect& effect : NextPodEffects(input)) {
    EXPECT_EQ(effect.kind, PodEffect::Kind::kCreate);
    EXPECT_EQ(facts.pods.shape().PlaceOf(effect.name), effect.place);
    names.push_back(effect.name);
  }
  return names;
}

TEST(NextPodEffectsTest, MissingPodsAreMadeInOrderOneTaskAfterTheOther) {
  using Names = std::vector<std::string>;
  testing::DecideFacts facts({{"a", 200'000}, {"b", 4}});
  EXPECT_EQ(NextCreated(facts, {}), (Names{"j-a-0", "j-a-1", "j-a-2"}));
  for (const char* name : {"j-a-0", "j-a-2", "j-b-1"}) facts.pods.Apply(testing::MakePod(name, name, kRunning));
  EXPECT_EQ(NextCreated(facts, {}), (Names{"j-a-1", "j-a-3", "j-a-4"}));
  EXPECT_EQ(NextCreated(facts, {"j-a-3"}), (Names{"j-a-1", "j-a-4", "j-a-5"}));
  facts.pods.SetTasks({{"a", 2}, {"b", 4}});
  facts.pods.Remove("j-a-2", "j-a-2");
  EXPECT_EQ(NextCreated(facts, {}), (Names{"j-a-1", "j-b-0", "j-b-2"}));
}

}  // namespace
}  // namespace basalt::jobsvc
