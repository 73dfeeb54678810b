#include "services/jobsvc/testing/model/random_life.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string_view>

namespace basalt::jobsvc::testing {

namespace {

constexpr char kKey[] = "default/j";
constexpr int kMostPods = 7;

std::string Pick(Random& random, std::initializer_list<std::string_view> of) {
  return std::string(*(of.begin() + random.Uniform(of.size())));
}

int UpTo(Random& random, int most) { return static_cast<int>(random.Uniform(static_cast<uint64_t>(most) + 1)); }

// Returns whether every event of the policy leaves no trace. A ResumeJob does nothing to a running job. If the event
// left a trace, a process on an empty disk could observe it anew, and several ends would be possible.
bool LeavesNoTrace(const kube::v1::LifecyclePolicy& policy) {
  return !policy.has_exit_code() && std::all_of(policy.events().begin(), policy.events().end(), [](const auto& event) {
    return event == "PodEvicted" || event == "Unknown";
  });
}

void PickAction(Random& random, bool has_partitions, kube::v1::LifecyclePolicy& policy) {
  policy.set_action(Pick(random, {"RestartJob", "RestartTask", "RestartPod", "RestartJob", "RestartTask", "RestartPod",
                                  "RestartPartition", "AbortJob", "CompleteJob", "TerminateJob"}));
  if (LeavesNoTrace(policy) && random.OneIn(4)) policy.set_action("ResumeJob");
  if (policy.action() == "RestartPartition" && !has_partitions) policy.set_action("RestartTask");
  if (random.OneIn(3)) policy.set_timeout_ms(TimeoutOf(1 + UpTo(random, 2)));
}

// An event is in one policy of a list at most, and "*" stands alone.
template <typename Policies>
void AddPolicies(Random& random, bool has_partitions, Policies& policies) {
  std::vector<std::string> events = {"PodFailed", "PodEvicted", "PodPending", "TaskCompleted", "TaskFailed", "Unknown"};
  if (random.OneIn(6)) events = {"*"};
  std::vector<int> codes = {1, 2};
  for (uint64_t count = random.Uniform(3); count > 0; --count) {
    kube::v1::LifecyclePolicy& policy = *policies.Add();
    if (events.empty() || (!codes.empty() && random.OneIn(4))) {
      if (codes.empty()) return policies.RemoveLast();
      policy.set_exit_code(codes.back());
      codes.pop_back();
    }
    for (uint64_t names = 1 + random.Uniform(2); names > 0 && !events.empty() && !policy.has_exit_code(); --names) {
      const auto at = static_cast<std::ptrdiff_t>(random.Uniform(events.size()));
      policy.add_events(events[static_cast<size_t>(at)]);
      events.erase(events.begin() + at);
    }
    PickAction(random, has_partitions, policy);
  }
}

void AddTask(Random& random, int room, int number, kube::v1::TaskSpec& task) {
  task.set_replicas(std::min(room, UpTo(random, 5)));
  if (random.OneIn(3) && room > 0) {
    kube::v1::PartitionPolicy& partitions = *task.mutable_partition_policy();
    partitions.set_partition_size(1 + UpTo(random, std::min(room, 3) - 1));
    partitions.set_total_partitions(1 + UpTo(random, room / partitions.partition_size() - 1));
    partitions.set_min_partitions(UpTo(random, partitions.total_partitions()));
    task.set_replicas(partitions.total_partitions() * partitions.partition_size());
  }
  task.set_min_available(random.OneIn(3) ? UpTo(random, task.replicas()) : task.replicas());
  if (const int least = task.partition_policy().min_partitions(); least > 0) {
    task.set_min_available(least * task.partition_policy().partition_size());
  }
  if (random.OneIn(2)) task.set_max_retry(1 + UpTo(random, 3));
  const bool depends = random.OneIn(3);
  for (int before = 0; depends && before < number; ++before) {
    if (!random.OneIn(4)) task.mutable_depends_on()->add_names(fmt::format("t{}", before));
  }
  if (task.depends_on().names_size() > 0)
    task.mutable_depends_on()->set_iteration(Pick(random, {"", "any", "any", "all"}));
  AddPolicies(random, task.has_partition_policy(), *task.mutable_policies());
}

void AddObjects(Random& random, kube::v1::JobSpec& spec) {
  for (const std::string_view plugin : {"env", "ssh", "svc"}) {
    if (random.OneIn(4)) spec.add_plugins()->set_name(std::string(plugin));
  }
  if (random.OneIn(6)) {
    kube::v1::VolumeSpec& made = *spec.add_volumes();
    made.set_mount_path("/made");
    made.set_volume_claim_json(kClaimSpec);
  }
  if (random.OneIn(8)) {
    kube::v1::VolumeSpec& named = *spec.add_volumes();
    named.set_mount_path("/named");
    named.set_volume_claim_name(kLateClaim);
  }
}

char StateOf(kube::v1::PodPhase phase) {
  if (phase == kPodRunning) return Cell::kAlive;
  if (phase == kPodSucceeded) return Cell::kSucceeded;
  return phase == kPodFailed ? Cell::kBroken : Cell::kMade;
}

}  // namespace

kube::v1::Job RandomJob(Random& random) {
  kube::v1::Job job = MakeJob("j", 1 + UpTo(random, 2), 0);
  kube::v1::JobSpec& spec = *job.mutable_spec();
  int total = 0;
  bool has_partitions = false;
  for (int t = 0; t < spec.tasks_size(); ++t) {
    AddTask(random, kMostPods - total, t, *spec.mutable_tasks(t));
    total += spec.tasks(t).replicas();
    has_partitions = has_partitions || spec.tasks(t).has_partition_policy();
  }
  if (total == 0) {
    spec.mutable_tasks(0)->set_replicas(1);
    spec.mutable_tasks(0)->set_min_available(1);
    total = 1;
  }
  AddPolicies(random, has_partitions, *spec.mutable_policies());
  AddObjects(random, spec);
  spec.set_min_available(random.OneIn(2) ? total : 1 + UpTo(random, total - 1));
  if (random.OneIn(4)) spec.set_min_success(1 + UpTo(random, total - 1));
  spec.set_max_retry(1 + UpTo(random, 3));
  return job;
}

bool WaitsForClaim(const kube::v1::JobSpec& spec) {
  return std::any_of(spec.volumes().begin(), spec.volumes().end(),
                     [](const auto& volume) { return volume.volume_claim_name() == kLateClaim; });
}

Life::Life(const kube::v1::Job& job, Random* disturbed) : random_(disturbed) {
  rig_.Start();
  window_ = rig_.time().Now();
  rig_.kube().PutJob(job);
  Happen({});
}

bool Life::IsOver() const { return phase() != kPending && phase() != kRunning && phase() != kRestarting; }

std::string Life::NameOf(const Fact& fact) const { return fmt::format("default/j-t{}-{}", fact.task, fact.index); }

int Life::RestartsOf(int task) {
  int restarts = 0;
  for (const auto& [name, pod] : rig_.kube().pods()) {
    const bool is_alive = pod.phase() == kPodRunning || pod.phase() == kube::v1::POD_PHASE_PENDING;
    if (is_alive && pod.task() == fmt::format("t{}", task)) restarts += pod.restarts();
  }
  return restarts;
}

std::vector<Fact> Life::Draw(Random& random, bool starts, bool well) {
  std::vector<Fact> facts;
  std::vector<std::pair<Fact, kube::v1::PodPhase>> there;
  for (const auto& [name, pod] : rig_.kube().pods()) {
    Fact fact;
    fact.task = pod.task()[1] - '0';
    fact.index = pod.index();
    there.emplace_back(fact, pod.phase());
  }
  if (starts) {
    for (auto& [fact, phase] : there) {
      fact.what = Fact::What::kStart;
      if (phase == kube::v1::POD_PHASE_PENDING && (well || !random.OneIn(4))) facts.push_back(fact);
    }
    return facts;
  }
  const auto& groups = rig_.kube().groups();
  if (!well && !groups.empty() && random.OneIn(10)) facts.push_back({.what = Fact::What::kUnknown});
  bool restarts = false;
  for (uint64_t most = 1 + random.Uniform(3); facts.size() < most && !there.empty();) {
    const auto at = static_cast<std::ptrdiff_t>(random.Uniform(there.size()));
    auto [fact, phase] = there[static_cast<size_t>(at)];
    there.erase(there.begin() + at);
    const bool runs = phase == kPodRunning;
    const bool is_alive = runs || phase == kube::v1::POD_PHASE_PENDING;
    const uint64_t what = well ? 0 : random.Uniform(is_alive ? 10 : 6);
    if (well && !runs) continue;
    if (!runs && what > 2) continue;  // Most things happen to running pods.
    if (what == 0 && !well) {
      fact.what = Fact::What::kRemoval;
    } else if (is_alive && what == 1) {
      // A task at its limit is restarted, or never raises TaskFailed again.
      const int given = rig_.kube().job(kKey).spec().tasks(fact.task).max_retry();
      if (restarts || RestartsOf(fact.task) >= (given == 0 ? 3 : given)) continue;
      restarts = true;
      fact.what = Fact::What::kRestarts;
      fact.number = 1 + UpTo(random, 2);
    } else if (is_alive && (what == 2 || what >= 7)) {
      fact.what = Fact::What::kFailure;
      fact.number = 1 + UpTo(random, 2);
    } else if (!is_alive) {
      continue;
    }
    facts.push_back(fact);
  }
  return facts;
}

bool Life::Happen(const std::vector<Fact>& facts) {
  lost_ = false;
  if (random_ != nullptr) Disturb();
  for (const Fact& fact : facts) Carry(fact);
  RunToQuiet();
  for (const auto& [key, group] : std::map(rig_.kube().groups())) {
    if (group.phase() == "Unknown") rig_.kube().SetGroupPhase(key, "Running");
  }
  window_ += absl::Milliseconds(kWindowMs);
  rig_.Run(window_ - rig_.time().Now());
  return lost_;
}

void Life::Carry(const Fact& fact) {
  switch (fact.what) {
    case Fact::What::kStart:
      return rig_.kube().SetPodPhase(NameOf(fact), kPodRunning);
    case Fact::What::kSuccess:
      return rig_.kube().SetPodPhase(NameOf(fact), kPodSucceeded);
    case Fact::What::kFailure:
      return rig_.kube().SetPodPhase(NameOf(fact), kPodFailed, fact.number);
    case Fact::What::kRemoval:
      return rig_.kube().RemovePod(NameOf(fact));
    case Fact::What::kRestarts:
      return rig_.kube().EditPod(NameOf(fact),
                                 [&](kube::v1::Pod& pod) { pod.set_restarts(pod.restarts() + fact.number); });
    case Fact::What::kUnknown:
      return rig_.kube().SetGroupPhase(rig_.kube().groups().begin()->first, "Unknown");
    case Fact::What::kClaim:
      gateway::v1::WriteRequest request;
      request.mutable_resource()->set_plural("persistentvolumeclaims");
      request.set_namespace_("default");
      request.set_name(kLateClaim);
      request.mutable_create()->set_body(R"({"metadata":{}})");
      rig_.kube().Write(request);
      return;
  }
}

// The next facts meet a process that is dead, that is about to die, or that gets everything twice.
void Life::Disturb() {
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

absl::Duration Life::SomeTime() {
  return absl::Milliseconds(1 + static_cast<int64_t>(random_->Uniform(random_->OneIn(3) ? 4'000 : 20)));
}

void Life::RunToQuiet() {
  for (int i = 0; random_ != nullptr && i < 6; ++i) {
    rig_.Run(SomeTime());
    if (twice_ && random_->OneIn(2)) {
      for (const auto& [name, pod] : std::map(rig_.kube().pods())) rig_.kube().EditPod(name, [](auto&) {});
    }
    if (rig_.alive()) continue;
    if (random_->OneIn(3)) {
      rig_.LoseDisk();
      lost_ = true;
    }
    rig_.Start();
    if (random_->OneIn(2)) {
      rig_.ClearPoints();
      rig_.KillAt(1 + static_cast<int>(random_->Uniform(16)));
    }
  }
  rig_.KillAt(0);
  if (!rig_.alive()) rig_.Start();
  twice_ = false;
  rig_.Run(absl::Minutes(1));  // Longer than any pause before another try.
}

std::string Life::Sight() {
  const kube::v1::Job& job = rig_.kube().job(kKey);
  Cells cells;
  for (const kube::v1::TaskSpec& task : job.spec().tasks()) cells.emplace_back(task.replicas());
  for (const auto& [name, pod] : rig_.kube().pods()) {
    Cell& cell = cells[static_cast<size_t>(pod.task()[1] - '0')][static_cast<size_t>(pod.index())];
    cell.state = static_cast<Cell::State>(StateOf(pod.phase()));
  }
  return SightOf(job.status().phase(), job.status().retry_count(), job.status().version(), job.status().counts(),
                 cells);
}

std::string Life::End() {
  std::string text = Sight();
  for (const auto& [name, object] : rig_.kube().others()) {
    if (!name.starts_with("events/")) text += " " + name;
  }
  return text + fmt::format(" {} groups", rig_.kube().groups().size());
}

std::string Life::Problem() {
  const auto [counts, tasks] = rig_.controller().Find(kKey)->pods.Recount();
  const kube::v1::JobStatus& status = rig_.kube().job(kKey).status();
  if (counts.SerializeAsString() == status.counts().SerializeAsString()) return "";
  return fmt::format("counted {}, told {}", counts.ShortDebugString(), status.counts().ShortDebugString());
}

}  // namespace basalt::jobsvc::testing
