#include "tests/simulation/faults/fault_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace basalt::simulation {
namespace {

std::string_view Pick(Random& random, std::initializer_list<std::string_view> of) {
  return *(of.begin() + random.Uniform(of.size()));
}

void BreakApiConnections(SimSuite& suite, const std::string& gateway) {
  suite.CutApi(gateway, true);
  suite.CutApi(gateway, false);
}

}  // namespace

void FaultPlan::Begin() {
  Random& random = suite_.random();
  const absl::Time until = suite_.time().Now() + absl::Seconds(40);
  // An object that is created twice is the worst violation. Few of all requests create pods, so that these requests get
  // a fault of their own.
  if (random.OneIn(4)) AddFault("create", "pods", kubesim::FaultAction::kDropAnswer, 0, 2);
  for (const PlannedJob& job : jobs_) {
    const bool fails = job.kind == JobKind::kOnFailure || job.kind == JobKind::kRestarts ||
                       job.kind == JobKind::kRestartsParts || job.kind == JobKind::kOnFailureLater;
    if (fails && random.OneIn(2)) DeleteFailedPodOnceItRuns(job, until);
    if (job.commands.size() >= 2 && !random.OneIn(3)) CatchDisk(job, random.OneIn(2), until);
    BeginWithActions(job, until);
  }
  if (random.OneIn(2)) BreakInCollection(until);
}

void FaultPlan::Step() {
  const uint64_t what = suite_.random().Uniform(37);
  if (what < 11) {
    Break(what);
  } else if (what < 20) {
    Disturb(what - 11);
  } else if (what < 25) {
    MeetUsers();
  } else {
    Move(what - 25);
  }
}

// Faults of processes and disks.
void FaultPlan::Break(uint64_t what) {
  Random& random = suite_.random();
  switch (what) {
    case 0:
    case 1:
      return KillHost(PickHost(Pick(random, {"gateway", "jobsvc", "pgsvc", "queuesvc"})));
    case 2:
    case 3:
    case 4:
      return suite_.KillAtWrite(PickJobHost(), 1 + random.Uniform(6), random.OneIn(2));
    case 5:
      if (random.OneIn(3)) return LoseDiskInKill(suite_.time().Now() + absl::Seconds(15));
      return LoseDiskOf(PickHost(Pick(random, {"jobsvc", "jobsvc", "pgsvc"})));
    case 6:
      return StallAndRestart();
    case 7:
      return LosePowerOf(PickHost(Pick(random, {"jobsvc", "jobsvc", "jobsvc", "pgsvc", "queuesvc"})));
    default:
      return Flap(CountGroups(), suite_.time().Now() + absl::Seconds(12));
  }
}

// Faults of the network and the API server.
void FaultPlan::Disturb(uint64_t what) {
  Random& random = suite_.random();
  switch (what) {
    case 0:
      return suite_.api().DropWatches();
    case 1:
      return BreakApiConnections(suite_, PickHost("gateway"));
    case 2:
      return AddFault("*", "", kubesim::FaultAction::kDropAnswer, 0, 3);
    case 3:
      return AddFault("*", "", kubesim::FaultAction::kDropRequest, 0, 3);
    case 4:
      return AddFault("*", "", kubesim::FaultAction::kAnswer, random.OneIn(2) ? 500 : 429, 3);
    case 5:
      suite_.api().ForgetHistory();
      if (random.OneIn(2)) suite_.api().Restart();
      return;
    case 6:
      return AddFault("patch", "jobs/status", kubesim::FaultAction::kAnswer, 409, 1);
    case 7:
      probes_.Hit("410 on a watch");
      AddFault("watch", "", kubesim::FaultAction::kAnswer, 410, 2);
      return suite_.api().DropWatches();
    default: {
      rpc::SimNetworkOptions network;
      network.max_delay = absl::Milliseconds(1 + random.Uniform(300));
      network.lose_request = random.OneIn(3) ? 0.05 : 0;
      network.lose_answer = random.OneIn(3) ? 0.05 : 0;
      network.repeat_request = random.OneIn(3) ? 0.1 : 0;
      network.break_stream = random.OneIn(3) ? 0.01 : 0;
      suite_.network().SetOptions(network);
      if (network.repeat_request > 0) probes_.Hit("repeated message");
      return;
    }
  }
}

void FaultPlan::MeetUsers() {
  if (suite_.random().OneIn(2)) return DeleteFailedPodUnseen(PickJobHost(), absl::ZeroDuration());
  const std::string pod = PickPod("");
  if (pod.empty()) return;
  probes_.Hit("pod deleted by a user");
  suite_.DeleteObject(fmt::format("/api/v1/namespaces/default/pods/{}", pod));
}

void FaultPlan::KillHost(const std::string& victim, absl::Duration least) {
  suite_.Kill(victim);
  probes_.Hit("kill");
  StartLater(victim, least);
}

void FaultPlan::LoseDiskOf(const std::string& victim) {
  suite_.Kill(victim);
  suite_.LoseDisk(victim);
  lost_while_down_.erase(victim);
  probes_.Hit("kill");
  probes_.Hit("lost disk");
  if (victim.starts_with("jobsvc"))
    WatchForLoss(suite_.SlotsWithoutRecords("jobsvc"), suite_.time().Now() + absl::Seconds(20));
  if (victim.starts_with("jobsvc") && KillIsUnderWay()) probes_.Hit("lost disk with a kill under way");
  StartLater(victim);
}

// Waits for the worst moment: only Kubernetes then knows the reason of the kill.
void FaultPlan::LoseDiskInKill(absl::Time until) {
  if (KillIsUnderWay() || suite_.time().Now() >= until) return LoseDiskOf(PickJobHost());
  After(absl::Milliseconds(50), [this, until] { LoseDiskInKill(until); });
}

bool FaultPlan::KillIsUnderWay() const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const PlannedJob& job) {
    const std::string phase = suite_.PhaseOf(job.name, job.uid);
    return phase == "Restarting" || phase == "Terminating" || phase == "Completing";
  });
}

// The process comes back with its store of some seconds ago, while Kubernetes has gone on.
void FaultPlan::LosePowerOf(const std::string& victim) {
  After(absl::Milliseconds(200 + suite_.random().Uniform(6000)), [this, victim, copy = suite_.CopyDisk(victim)] {
    if (!suite_.IsJoined(victim)) return;
    suite_.Kill(victim);
    suite_.LosePower(victim, copy);
    probes_.Hit("kill");
    probes_.Hit("loss of power");
    StartLater(victim);
  });
}

// The restarted process reads a watch that is behind the answers to the earlier writes of that process.
void FaultPlan::StallAndRestart() {
  Random& random = suite_.random();
  probes_.Hit("stalled watch");
  suite_.api().StallWatches(Pick(random, {"pods", "pods", "pods", "jobs.batch.volcano.sh", ""}));
  const absl::Time end = suite_.time().Now() + absl::Milliseconds(1000 + random.Uniform(9000));
  After(end - suite_.time().Now(), [this] { suite_.api().ReleaseWatches(); });
  if (!random.OneIn(4)) RestartAfterNextPod(CountPods(), end);
}

void FaultPlan::RestartAfterNextPod(size_t before, absl::Time end) {
  if (suite_.time().Now() >= end) return;
  const bool made = CountPods() > before;
  After(absl::Milliseconds(suite_.random().Uniform(100)), [this, before, end, made] {
    if (!made) return RestartAfterNextPod(before, end);
    probes_.Hit("restart behind a stalled watch");
    probes_.Hit("kill");
    suite_.Bury();
    StartHost(PickJobHost());
  });
}

size_t FaultPlan::CountPods() const {
  size_t count = 0;
  for (const PlannedJob& job : jobs_) {
    for (const std::string& pod : job.pods) count += suite_.api().Get("pods", "default", pod) != nullptr ? 1 : 0;
  }
  return count;
}

// Creates and their answers are slow, and meanwhile the stream breaks and is opened again. A snapshot that was taken
// before a pod existed then arrives after the answer that reports the pod.
void FaultPlan::Flap(size_t groups_before, absl::Time end) {
  if (suite_.time().Now() >= end) return;
  if (CountGroups() <= groups_before) {
    return After(absl::Milliseconds(10), [this, groups_before, end] { Flap(groups_before, end); });
  }
  rpc::SimNetworkOptions slow;
  slow.max_delay = absl::Milliseconds(4000 + suite_.random().Uniform(6000));
  suite_.network().SetOptions(slow);
  BreakAtNextPod(CountPods(), suite_.time().Now() + absl::Seconds(12));
}

void FaultPlan::BreakAtNextPod(size_t before, absl::Time end) {
  if (suite_.time().Now() >= end) return suite_.network().SetOptions({});
  if (CountPods() <= before) {
    return After(absl::Milliseconds(10), [this, before, end] { BreakAtNextPod(before, end); });
  }
  probes_.Hit("stream broken while pods are made");
  rpc::SimNetworkOptions lagging;
  // A snapshot takes a dozen batches. Its last batches are under way while the pods are created.
  lagging.batch_delay = absl::Milliseconds(100 + suite_.random().Uniform(300));
  suite_.network().SetOptions(lagging);
  const std::string host = PickJobHost();
  for (const std::string& gateway : suite_.Joined("gateway")) suite_.network().BreakStreams(host, gateway);
  After(absl::Seconds(6), [this] { suite_.network().SetOptions({}); });
}

size_t FaultPlan::CountGroups() const {
  size_t count = 0;
  for (const PlannedJob& job : jobs_) {
    const std::string name = fmt::format("{}-{}", job.name, job.uid);
    count += suite_.api().Get("podgroups.scheduling.volcano.sh", "default", name) != nullptr ? 1 : 0;
  }
  return count;
}

// A pod fails and is deleted while its owner is down. The owner must still observe both, first the failure.
void FaultPlan::DeleteFailedPodUnseen(const std::string& down, absl::Duration least) {
  KillHost(down, least);
  DeleteWhenFailed(down, suite_.time().Now() + absl::Seconds(8));
}

void FaultPlan::DeleteFailedPodOnceItRuns(const PlannedJob& job, absl::Time until) {
  if (suite_.time().Now() >= until) return;
  const std::string owner = suite_.OwnerOf("jobsvc", "default/" + job.name);
  if (suite_.PhaseOf(job.name, job.uid) != "Running" || owner.empty() || !suite_.IsJoined(owner)) {
    return After(absl::Milliseconds(100), [this, &job, until] { DeleteFailedPodOnceItRuns(job, until); });
  }
  DeleteFailedPodUnseen(owner, absl::Seconds(3));
}

void FaultPlan::DeleteWhenFailed(const std::string& down, absl::Time until) {
  if (suite_.IsRunning(down) || suite_.time().Now() >= until) return;
  const std::string pod = PickPod("Failed");
  if (pod.empty()) return After(absl::Milliseconds(200), [this, down, until] { DeleteWhenFailed(down, until); });
  probes_.Hit("failed pod deleted while jobsvc was down");
  const auto stored = suite_.api().Get("pods", "default", pod);
  const std::string uid(FindString(*Find(*stored, "metadata"), "uid"));
  if (suite_.IsSeenFailed(uid)) {
    suite_.NoteSeenFailure(uid);
    // The replica dies once it has recorded the failure, before any other process knows the failure.
    if (suite_.random().OneIn(2)) die_at_record_.insert(down);
    After(absl::Milliseconds(suite_.random().Uniform(500)), [this, down] {
      if (!suite_.IsRunning(down) && suite_.IsJoined(down)) StartHost(down);
    });
  }
  suite_.DeleteObject(fmt::format("/api/v1/namespaces/default/pods/{}", pod));
}

std::string FaultPlan::PickPod(std::string_view phase) {
  std::vector<std::string> found;
  for (const PlannedJob& job : jobs_) {
    const std::string job_phase = suite_.PhaseOf(job.name, job.uid);
    if (job_phase.empty() || IsFinishedPhase(job_phase)) continue;
    // The new pod of a gang that can never be complete again rightly waits for ever.
    if (job.kind == JobKind::kPlain && job.ends.front() == "Failed") continue;
    for (const std::string& name : job.pods) {
      const auto pod = suite_.api().Get("pods", "default", name);
      if (pod == nullptr || FindPath(*pod, {"metadata", "deletionTimestamp"}) != nullptr) continue;
      const std::string_view is = FindString(*FindPath(*pod, {"status"}), "phase");
      if (phase.empty() ? is != "Succeeded" : is == phase) found.push_back(name);
    }
  }
  return found.empty() ? std::string() : found[suite_.random().Uniform(found.size())];
}

void FaultPlan::Watch() {
  for (const std::string& victim : suite_.Bury()) {
    probes_.Hit("kill");
    probes_.Hit("kill at a write");
    if (suite_.random().OneIn(6)) {
      LoseDiskOf(victim);
    } else {
      StartLater(victim);
    }
  }
  FollowOwners();
}

void FaultPlan::Heal() {
  suite_.api().faults().Clear();
  suite_.api().ReleaseWatches();
  suite_.network().SetOptions({});
  suite_.network().HealAll();
  suite_.Bury();
  die_at_record_.clear();
  for (const std::string& host : suite_.Joined()) {
    suite_.KillAtWrite(host, 0, false);
    if (host.starts_with(kGateway)) suite_.CutApi(host, false);
    suite_.Resume(host);
    if (!suite_.IsRunning(host)) StartHost(host);
  }
  healed_ = true;
}

void FaultPlan::AddFault(std::string_view verb, std::string_view resource, kubesim::FaultAction action, int code,
                         int count) {
  kubesim::FaultRule rule;
  rule.verb = verb;
  rule.resource = resource;
  rule.action = action;
  rule.code = code;
  rule.count = count;
  if (code == 429) rule.retry_after_seconds = 1;
  suite_.api().faults().Add(rule);
}

}  // namespace basalt::simulation
