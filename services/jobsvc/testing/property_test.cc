// Random jobs and random histories of their pods, undisturbed and projected: states merged and doubled, the process
// dead at any point, its disk lost. What comes of a job is what the reference model admits, and where every end of a
// pod is seen it is the same in every run.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "services/jobsvc/testing/job_rig.h"
#include "services/jobsvc/testing/reference_model.h"

namespace basalt::jobsvc::testing {
namespace {

constexpr uint64_t kSeeds = 400;
constexpr int kMostPods = 7;
constexpr int kMostSteps = 60;
constexpr char kKey[] = "default/j";

std::string Pick(Random& random, std::initializer_list<std::string_view> of) {
  return std::string(*(of.begin() + random.Uniform(of.size())));
}

template <typename Policies>
void AddPolicies(Random& random, Policies& policies) {
  std::vector<std::string> events = {"PodFailed", "PodEvicted", "TaskCompleted", "1", "2"};
  for (uint64_t count = random.Uniform(3); count > 0; --count) {
    kube::v1::LifecyclePolicy* policy = policies.Add();
    const size_t at = random.Uniform(events.size());
    if (events[at].size() == 1) {
      policy->set_exit_code(events[at][0] - '0');
    } else {
      policy->add_events(events[at]);
    }
    events.erase(events.begin() + static_cast<std::ptrdiff_t>(at));
    policy->set_action(Pick(random, {"RestartJob", "RestartTask", "RestartPod", "RestartJob", "RestartTask",
                                     "RestartPod", "AbortJob", "CompleteJob", "TerminateJob"}));
  }
}

kube::v1::Job RandomJob(Random& random) {
  kube::v1::Job job = MakeJob("j", 1 + static_cast<int>(random.Uniform(3)), 0);
  kube::v1::JobSpec& spec = *job.mutable_spec();
  int total = 0;
  for (kube::v1::TaskSpec& task : *spec.mutable_tasks()) {
    task.set_replicas(static_cast<int>(random.Uniform(6)));
    if (total + task.replicas() > kMostPods) task.set_replicas(kMostPods - total);
    total += task.replicas();
    task.set_min_available(random.OneIn(3)
                               ? static_cast<int>(random.Uniform(static_cast<uint64_t>(task.replicas()) + 1))
                               : task.replicas());
    AddPolicies(random, *task.mutable_policies());
  }
  AddPolicies(random, *spec.mutable_policies());
  if (total == 0) {
    spec.mutable_tasks(0)->set_replicas(1);
    spec.mutable_tasks(0)->set_min_available(1);
    total = 1;
  }
  const auto up_to_total = [&] { return 1 + static_cast<int>(random.Uniform(static_cast<uint64_t>(total))); };
  spec.set_min_available(random.OneIn(2) ? total : up_to_total());
  if (random.OneIn(4)) spec.set_min_success(up_to_total());
  spec.set_max_retry(1 + static_cast<int>(random.Uniform(3)));
  return job;
}

std::string NameOf(const Fact& fact) { return fmt::format("default/j-t{}-{}", fact.task, fact.index); }

class Life {
 public:
  // `disturbed`: null for a quiet life.
  Life(const kube::v1::Job& job, Random* disturbed) : random_(disturbed) {
    rig_.Start();
    rig_.kube().PutJob(job);
    Settle();
  }

  bool IsOver() const {
    const kube::v1::JobPhase phase = rig_.PhaseOf(kKey);
    return phase != kube::v1::JOB_PHASE_PENDING && phase != kRunning && phase != kRestarting;
  }

  std::vector<Fact> Alive() {
    std::vector<Fact> alive;
    for (const auto& [name, pod] : rig_.kube().pods()) {
      if (pod.phase() != kPodRunning) continue;
      Fact fact;
      fact.task = pod.task()[1] - '0';
      fact.index = pod.index();
      alive.push_back(fact);
    }
    return alive;
  }

  void Happen(const std::vector<Fact>& facts) {
    if (random_ != nullptr) Disturb();
    for (const Fact& fact : facts) {
      // An action on one may be quicker than the other.
      const auto pod = rig_.kube().pods().find(NameOf(fact));
      if (pod == rig_.kube().pods().end() || pod->second.phase() != kPodRunning) continue;
      switch (fact.what) {
        case Fact::What::kSuccess:
          rig_.kube().SetPodPhase(NameOf(fact), kPodSucceeded);
          break;
        case Fact::What::kFailure:
          rig_.kube().SetPodPhase(NameOf(fact), kPodFailed, fact.exit_code);
          break;
        case Fact::What::kEviction:
          rig_.kube().RemovePod(NameOf(fact));
          break;
      }
    }
    Settle();
  }

  kube::v1::JobPhase phase() const { return rig_.PhaseOf(kKey); }

  // Phase, counts and the set of objects.
  std::string End() {
    const kube::v1::JobStatus& status = rig_.kube().job(kKey).status();
    std::string text = fmt::format("phase {}, version {}, {} retries, {}", static_cast<int>(status.phase()),
                                   status.version(), status.retry_count(), status.counts().ShortDebugString());
    for (const auto& [name, pod] : rig_.kube().pods())
      text += fmt::format(" {}={}", name, static_cast<int>(pod.phase()));
    for (const auto& [name, object] : rig_.kube().others()) {
      if (!name.starts_with("events/")) text += " " + name;
    }
    return text + fmt::format(" {} groups", rig_.kube().groups().size());
  }

  // Beside the phase: what the controller counts is what is there.
  std::string Problem() {
    const auto [counts, tasks] = rig_.controller().Find(kKey)->pods.Recount();
    const kube::v1::JobStatus& status = rig_.kube().job(kKey).status();
    if (counts.SerializeAsString() == status.counts().SerializeAsString()) return "";
    return fmt::format("counted {}, told {}", counts.ShortDebugString(), status.counts().ShortDebugString());
  }

 private:
  // What comes next meets a process that is dead, about to die, or hears everything twice.
  void Disturb() {
    switch (random_->Uniform(4)) {
      case 0:
        return rig_.Kill();
      case 1:
      case 2:
        rig_.ClearPoints();
        return rig_.KillAt(1 + static_cast<int>(random_->Uniform(16)));
      default:
        twice_ = true;
    }
  }

  void RunToQuiet() {
    for (int i = 0; random_ != nullptr && i < 6; ++i) {
      rig_.Run(absl::Milliseconds(1 + random_->Uniform(20)));
      if (twice_ && random_->OneIn(2)) {
        for (const auto& [name, pod] : std::map(rig_.kube().pods())) rig_.kube().EditPod(name, [](auto&) {});
      }
      if (rig_.alive()) continue;
      if (random_->OneIn(3)) rig_.LoseDisk();
      rig_.Start();
      if (random_->OneIn(2)) {
        rig_.ClearPoints();
        rig_.KillAt(1 + static_cast<int>(random_->Uniform(16)));
      }
    }
    rig_.KillAt(0);
    if (!rig_.alive()) rig_.Start();
    twice_ = false;
    rig_.Run(absl::Seconds(20));
  }

  // Until every pod that is to be there runs, or has ended.
  void Settle() {
    RunToQuiet();
    bool waits = true;
    for (int i = 0; waits && i < 10; ++i) {
      waits = false;
      for (const auto& [name, pod] : std::map(rig_.kube().pods())) {
        if (pod.phase() != kube::v1::POD_PHASE_PENDING) continue;
        rig_.kube().SetPodPhase(name, kPodRunning);
        waits = true;
      }
      if (waits) rig_.Run(absl::Seconds(20));
    }
  }

  Random* const random_;
  JobRig rig_;
  bool twice_ = false;
};

// What happens to some of those that run.
std::vector<Fact> RandomFacts(Random& random, std::vector<Fact> alive, size_t most, bool evicts, bool well) {
  std::vector<Fact> facts;
  const size_t count = std::min(alive.size(), 1 + random.Uniform(most));
  while (facts.size() < count) {
    const size_t at = random.Uniform(alive.size());
    Fact fact = alive[at];
    alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
    const uint64_t what = well ? 0 : random.Uniform(6);
    if (what >= 4) {
      fact.what = Fact::What::kFailure;
      fact.exit_code = 1 + static_cast<int>(random.Uniform(3));
    } else if (what == 3 && evicts) {
      fact.what = Fact::What::kEviction;
    }
    facts.push_back(fact);
  }
  return facts;
}

std::string Text(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) {
    text += fmt::format(" {}:{}{}", NameOf(fact).substr(8), "SFE"[static_cast<int>(fact.what)], fact.exit_code);
  }
  return text;
}

std::string Text(const std::set<kube::v1::JobPhase>& phases) {
  std::vector<int> numbers;
  for (const kube::v1::JobPhase phase : phases) numbers.push_back(static_cast<int>(phase));
  return fmt::format("{}", fmt::join(numbers, ","));
}

// Facts that happen together, some of which nobody may see.
TEST(PropertyTest, AProjectedLifeEndsAsTheReferenceModelAdmits) {
  std::map<kube::v1::JobPhase, int> ends;
  int undecided = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRandom random(seed);
    const bool disturbed = !random.OneIn(4);
    const kube::v1::Job job = RandomJob(random);
    ReferenceModel model(job.spec());
    Life life(job, disturbed ? &random : nullptr);
    std::string story;
    for (int step = 0; step < kMostSteps && !life.IsOver(); ++step) {
      const std::vector<Fact> facts = RandomFacts(random, life.Alive(), 3, /*evicts=*/true, /*well=*/step > 25);
      if (facts.empty()) break;
      story += Text(facts) + ";";
      life.Happen(facts);
      model.Happen(facts, disturbed);
    }
    const auto admitted = model.Phases();
    if (admitted.size() > 1) ++undecided;
    ++ends[life.phase()];
    EXPECT_TRUE(life.IsOver()) << "seed " << seed << ": " << life.End() << story;
    EXPECT_TRUE(admitted.contains(life.phase())) << "seed " << seed << ": " << life.End() << ", admitted "
                                                 << Text(admitted) << " " << job.spec().ShortDebugString() << story;
    EXPECT_EQ(life.Problem(), "") << "seed " << seed;
  }
  EXPECT_EQ(ends.size(), 4u) << "Completed, Terminated, Failed and Aborted";
  EXPECT_LT(undecided, static_cast<int>(kSeeds / 4)) << "the model admits too much to tell anything";
}

// One after the other, and every one is seen.
TEST(PropertyTest, AProjectedLifeIsTheUndisturbedOneWhereEveryEndIsSeen) {
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SeededRandom random(seed + 10'000);
    const kube::v1::Job job = RandomJob(random);
    ReferenceModel model(job.spec());
    Life quiet(job, nullptr);
    Life projected(job, &random);
    std::string story;
    for (int step = 0; step < kMostSteps && !quiet.IsOver(); ++step) {
      const std::vector<Fact> facts = RandomFacts(random, quiet.Alive(), 1, /*evicts=*/false, /*well=*/step > 25);
      if (facts.empty()) break;
      story += Text(facts) + ";";
      quiet.Happen(facts);
      projected.Happen(facts);
      model.Happen(facts, false);
      ASSERT_EQ(projected.End(), quiet.End()) << "seed " << seed << story << " " << job.spec().ShortDebugString();
    }
    EXPECT_TRUE(quiet.IsOver()) << "seed " << seed << ": " << quiet.End() << story;
    EXPECT_EQ(model.Phases(), std::set{quiet.phase()})
        << "seed " << seed << ": admitted " << Text(model.Phases()) << " " << job.spec().ShortDebugString() << story;
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
