// Random faults over whole lives: lost requests and answers, conflicts, deaths, lost disks, evictions, commands. If
// everything was observed in the end, the outcome is the one that the facts require.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "common/base/slots.h"
#include "services/jobsvc/store/history_store.h"
#include "services/jobsvc/store/job_store.h"
#include "services/jobsvc/testing/rig/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

struct Chances {
  uint64_t lose = 8;  // One write in this many is lost, one way or the other.
  uint64_t die = 6;   // In one second of this many, the process dies within the next points.
  bool lose_disks = false;
};

// Returns whether the disk has a record for each kept deadline of the job, and no others.
bool AreDeadlinesOnDisk(JobRig& rig) {
  const JobEntry* const entry = rig.controller().Find("default/j");
  const DeadlineSet none;
  const DeadlineSet& deadlines = entry == nullptr ? none : entry->deadlines;
  size_t kept = 0;
  for (const auto* deadline : deadlines.Earliest(deadlines.size())) kept += IsKept(*deadline) ? 1 : 0;
  bool same = true;
  const absl::Status status = ForEachDeadline(
      rig.store(), SlotOf("default/j"), [&](const std::string&, const storage::v1::PendingAction& stored) {
        const auto* const known = deadlines.Find(stored.pod());
        same = same && kept-- > 0 && known != nullptr && SameDeadline(*known, stored);
      });
  return status.ok() && same && kept == 0;
}

std::string Live(uint64_t seed, const Chances& chances) {
  SeededRandom random(seed);
  JobRig rig;
  rig.kube().SchedulePods(random.OneIn(2));
  bool calm = false;
  rig.fate = [&](const gateway::v1::WriteRequest&) {
    if (calm || !random.OneIn(chances.lose)) return Fate::kNormal;
    return static_cast<Fate>(1 + random.Uniform(3));
  };
  rig.Start();
  const int replicas = 1 + static_cast<int>(random.Uniform(4));
  auto job = MakeJob("j", 1 + static_cast<int>(random.Uniform(2)), replicas);
  const int tasks = job.spec().tasks_size();
  if (random.OneIn(2)) job.mutable_spec()->add_plugins()->set_name("svc");
  const bool restarts = random.OneIn(2);
  if (restarts) {
    auto* policy = job.mutable_spec()->add_policies();
    policy->add_events("PodFailed");
    policy->set_action(random.OneIn(2) ? "RestartJob" : "RestartPod");
    if (random.OneIn(2)) policy->set_timeout_ms(static_cast<int64_t>(500 + random.Uniform(5000)));
    if (random.OneIn(3)) {
      policy = job.mutable_spec()->add_policies();
      policy->add_events(random.OneIn(2) ? "PodPending" : "PodEvicted");
      policy->set_action("RestartPod");
      // The timeout is longer than a pod takes to start once all is quiet.
      policy->set_timeout_ms(static_cast<int64_t>(4000 + random.Uniform(5000)));
    }
    job.mutable_spec()->set_max_retry(100);
  }
  // Jobs with failures have no dependencies: the dependents of a failed pod that a suspension keeps wait for ever, as
  // specified.
  if (tasks == 2 && !restarts && random.OneIn(2)) {
    job.mutable_spec()->mutable_tasks(1)->mutable_depends_on()->add_names("t0");
    job.mutable_spec()->set_min_available(replicas);
  }
  rig.kube().PutJob(job);
  int evictions = 0;
  int failures = 0;
  bool suspended = false;
  for (int second = 0; second < 60; ++second) {
    if (random.OneIn(chances.die)) {
      rig.ClearPoints();
      rig.KillAt(1 + static_cast<int>(random.Uniform(12)));
    }
    rig.Run(absl::Milliseconds(500 + random.Uniform(1000)));
    if (!rig.alive()) {
      if (chances.lose_disks && random.OneIn(2)) rig.LoseDisk();
      rig.Start();
    }
    if (!AreDeadlinesOnDisk(rig)) return fmt::format("deadlines in second {}", second);
    const auto pods = rig.kube().pods();
    for (const auto& [name, pod] : pods) {
      if (pod.deletion_ms() != 0) {
        if (random.OneIn(2)) rig.kube().RemovePod(name);
        continue;
      }
      if (pod.phase() == kube::v1::POD_PHASE_PENDING && random.OneIn(2)) {
        rig.kube().SetPodPhase(name, kube::v1::POD_PHASE_RUNNING);
      } else if (pod.phase() == kube::v1::POD_PHASE_RUNNING && evictions < 3 && random.OneIn(20)) {
        ++evictions;
        rig.kube().RemovePod(name);
      } else if (pod.phase() == kube::v1::POD_PHASE_RUNNING && restarts && failures < 2 && random.OneIn(10)) {
        ++failures;
        rig.kube().SetPodPhase(name, kube::v1::POD_PHASE_FAILED, 1);
      }
    }
    if (!suspended && random.OneIn(40)) {
      suspended = true;
      rig.kube().PutCommand("default", "stop", "AbortJob", "j");
    }
  }
  // From now on everything is delivered, and the work is done.
  calm = true;
  rig.KillAt(0);
  if (!rig.alive()) rig.Start();
  std::string problem;
  for (int second = 0; second < 300; ++second) {
    rig.Run(absl::Seconds(1));
    rig.kube().FinishDeletions();
    const auto phase = rig.PhaseOf("default/j");
    if (phase == kube::v1::JOB_PHASE_ABORTED) {
      if (!rig.kube().commands().empty() && rig.kube().commands().contains("default/stop")) continue;
      if (!rig.kube().commands().contains("default/go") && suspended) {
        suspended = false;
        rig.kube().PutCommand("default", "go", "ResumeJob", "j");
      }
      continue;
    }
    for (const auto& [name, pod] : std::map(rig.kube().pods())) {
      if (pod.deletion_ms() == 0 && pod.phase() == kube::v1::POD_PHASE_PENDING) {
        rig.kube().SetPodPhase(name, kube::v1::POD_PHASE_RUNNING);
      } else if (pod.deletion_ms() == 0 && pod.phase() == kube::v1::POD_PHASE_RUNNING && second > 30) {
        rig.kube().SetPodPhase(name, kube::v1::POD_PHASE_SUCCEEDED);
      }
    }
  }
  const auto& status = rig.kube().job("default/j").status();
  const auto& entry = *rig.controller().Find("default/j");
  if (!entry.deadlines.empty() || !AreDeadlinesOnDisk(rig)) problem += " deadlines";
  if (!IsFinished(status.phase())) problem += fmt::format(" phase {}", static_cast<int>(status.phase()));
  const int ended = status.counts().succeeded() + status.counts().failed();
  if (ended != tasks * replicas) problem += fmt::format(" {} of {} ended", ended, tasks * replicas);
  if (!restarts && status.phase() != kube::v1::JOB_PHASE_COMPLETED) problem += " not completed without a failure";
  if (!rig.kube().groups().empty()) problem += " a group is left";
  if (!rig.kube().commands().empty()) problem += " a command is left";
  for (const auto& [name, object] : rig.kube().others()) {
    if (!name.starts_with("events/")) problem += " left: " + name;
  }
  const auto [counts, per_task] = entry.pods.Recount();
  if (counts.SerializeAsString() != entry.pods.counts().SerializeAsString()) problem += " counters";
  if (counts.SerializeAsString() != status.counts().SerializeAsString()) problem += " status differs from the record";
  int64_t last = 0;
  kube::v1::JobPhase phase = kube::v1::JOB_PHASE_UNSPECIFIED;
  const auto history = HistoryStore(rig.store()).Read(SlotOf("default/j"), entry.record.uid());
  for (const auto& record : *history) {
    if (record.sequence() <= last) problem += " history out of order";
    if (!chances.lose_disks && record.from_phase() != phase)
      problem += fmt::format(" history has a gap at {}", record.sequence());
    if (!record.committed()) problem += fmt::format(" {} is not committed", record.sequence());
    last = record.sequence();
    phase = record.to_phase();
  }
  // One create per index, per eviction, per kill and per restart of a pod; a create whose answer was lost is not
  // repeated.
  const int versions = status.version() + 1;
  const int most = tasks * replicas * versions + evictions + failures + status.retry_count();
  if (rig.kube().Count("create", "pods") > most) {
    problem += fmt::format(" {} creates, at most {} called for", rig.kube().Count("create", "pods"), most);
  }
  return problem;
}

TEST(RandomTest, FaultsAndDeathsDoNotChangeTheOutcome) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string problem = Live(seed, {});
    EXPECT_EQ(problem, "") << "seed " << seed;
  }
}

TEST(RandomTest, LostDisksCostHistoryOnly) {
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const std::string problem = Live(seed, {.lose_disks = true});
    EXPECT_EQ(problem, "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
