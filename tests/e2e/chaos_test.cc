// At random, processes are killed, stopped, continued and made to leave, and some lose their disks, while jobs of many
// sizes are created, run and are deleted. The test checks the API server's log of requests and the objects in the end.
//   BASALT_SECONDS  how long the run lasts (60); a longer run has more jobs: 200 in 300 seconds
//   BASALT_SEED     selects the jobs and the faults
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "absl/time/clock.h"
#include "cli/connect/client.h"
#include "common/base/status.h"
#include "common/kube/text.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/chaos_judge.h"
#include "tests/e2e/chaos_plan.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

constexpr int kReplicas = 3;
constexpr int kGateways = 2;
constexpr size_t kMostDown = 3;  // At most so many processes are down at a time.
constexpr double kJobsPerSecond = 200.0 / 300;
constexpr absl::Duration kBackLimit = absl::Seconds(60);  // By then, all processes are attached again.
// By then, all jobs have ended and the suite writes nothing more.
constexpr absl::Duration kEndLimit = absl::Seconds(180);
constexpr absl::Duration kLeaveLimit = absl::Seconds(30);
constexpr absl::Duration kStep = absl::Milliseconds(50);
constexpr char kJobs[] = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
constexpr char kPods[] = "/api/v1/namespaces/default/pods";
constexpr char kGroups[] = "/apis/scheduling.volcano.sh/v1beta1/namespaces/default/podgroups";

uint64_t Number(const char* variable, uint64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given == nullptr || *given == '\0' ? otherwise : std::strtoull(given, nullptr, 10);
}

class ChaosTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.ok());
    for (const std::string& name : world_.suite().names()) {
      if (name != "kubesim") victims_.push_back(name);
    }
    fmt::print("{} seconds, seed {} (BASALT_SECONDS, BASALT_SEED)\n", seconds_, seed_);
    begin_ = absl::Now();
  }

  void Say(const std::string& what) {
    fmt::print("{:6.1f} s  {}\n", absl::ToDoubleSeconds(absl::Now() - begin_), what);
    std::fflush(stdout);
  }

  void At(absl::Duration from_now, std::function<void()> task) {
    plan_.emplace(absl::Now() + from_now, std::move(task));
  }
  absl::Duration UpTo(absl::Duration most) {
    return absl::Milliseconds(
        static_cast<int64_t>(random_.Uniform(static_cast<uint64_t>(absl::ToInt64Milliseconds(most)))));
  }
  // Runs each planned task when it is due, until `end`.
  void RunUntil(absl::Time end) {
    while (absl::Now() < end && !HasFatalFailure()) {
      while (!plan_.empty() && plan_.begin()->first <= absl::Now()) {
        const std::function<void()> task = std::move(plan_.begin()->second);
        plan_.erase(plan_.begin());
        task();
      }
      absl::SleepFor(kStep);
    }
  }

  static WorldOptions Options() {
    WorldOptions options;
    options.replicas = kReplicas;
    options.gateways = kGateways;
    // The short lease allows many changes of the leader.
    options.gateway_flags = {"--lease_duration=3s"};
    return options;
  }

  // ---- faults of processes ----

  void Strike() {
    if (!striking_) return;
    At(absl::Milliseconds(300) + UpTo(absl::Seconds(3)), [this] { Strike(); });
    if (down_.size() >= kMostDown) return;
    const std::string name = victims_[random_.Uniform(victims_.size())];
    if (!down_.insert(name).second) return;
    switch (random_.Uniform(5)) {
      case 0:
      case 1:
        return Kill(name);
      case 2:
        return Leave(name);
      default:
        return Stop(name);
    }
  }

  void Kill(const std::string& name) {
    const bool lose_disk = random_.OneIn(4) && !name.starts_with("gateway");
    const absl::Duration away = UpTo(random_.OneIn(3) ? absl::Seconds(12) : absl::Seconds(2));
    Say(fmt::format("kill {} for {}{}", name, absl::FormatDuration(away), lose_disk ? ", its disk is lost" : ""));
    EXPECT_THAT(world_.suite().Kill(name), testing::IsOk());
    if (lose_disk) {
      EXPECT_THAT(world_.suite().RemoveDisk(name), testing::IsOk());
      disk_lost_ = true;
    }
    ++kills_;
    At(away, [this, name] { Start(name); });
  }

  void Stop(const std::string& name) {
    const absl::Duration away = UpTo(random_.OneIn(3) ? absl::Seconds(12) : absl::Seconds(2));
    Say(fmt::format("stop {} for {}", name, absl::FormatDuration(away)));
    EXPECT_THAT(world_.suite().Stop(name), testing::IsOk());
    ++stops_;
    At(away, [this, name] {
      EXPECT_THAT(world_.suite().Continue(name), testing::IsOk());
      down_.erase(name);
    });
  }

  void Leave(const std::string& name) {
    Say(fmt::format("{} is told to end", name));
    EXPECT_THAT(world_.suite().Leave(name), testing::IsOk());
    ++leaves_;
    AwaitEnd(name, absl::Now());
  }
  void AwaitEnd(const std::string& name, absl::Time since) {
    const std::optional<absl::Status> ended = world_.suite().Ended(name);
    if (!ended.has_value()) {
      if (absl::Now() - since < kLeaveLimit) {
        return At(kStep, [this, name, since] { AwaitEnd(name, since); });
      }
      ADD_FAILURE() << name << " has not ended after " << absl::FormatDuration(kLeaveLimit);
      EXPECT_THAT(world_.suite().Kill(name), testing::IsOk());
    } else {
      EXPECT_THAT(*ended, testing::IsOk());
      Say(fmt::format("{} ended after {}", name, absl::FormatDuration(absl::Now() - since)));
    }
    At(UpTo(absl::Seconds(2)), [this, name] { Start(name); });
  }

  void Start(const std::string& name) {
    EXPECT_THAT(world_.suite().Restart(name), testing::IsOk());
    down_.erase(name);
  }

  // ---- requests of users ----

  void Submit(size_t number) {
    const ChaosJob& job = jobs_[number];
    const auto answer = world_.Call("POST", kJobs, job.manifest);
    ASSERT_THAT(answer.status(), testing::IsOk());
    ASSERT_EQ(answer->status, 201) << answer->body;
    submitted_ = number + 1;
    if (job.kind != ChaosKind::kDeleted) return;
    At(UpTo(absl::Seconds(20)), [this, &job] {
      const auto gone = world_.Call("DELETE", fmt::format("{}/{}", kJobs, job.name));
      ASSERT_THAT(gone.status(), testing::IsOk());
      EXPECT_EQ(gone->status, 200) << gone->body;
    });
  }

  void Evict() {
    if (!striking_) return;
    At(UpTo(absl::Seconds(4)), [this] { Evict(); });
    if (submitted_ == 0) return;
    const ChaosJob& job = jobs_[random_.Uniform(submitted_)];
    const std::string& pod = job.pods[random_.Uniform(job.pods.size())];
    if (job.kind != ChaosKind::kPlain) return;
    const auto answer = world_.Call("DELETE", fmt::format("{}/{}", kPods, pod));
    if (answer.ok() && answer->status == 200) ++evictions_;
  }

  // ---- the checks at the end ----

  std::vector<std::string> Violations(const std::vector<Write>& log) {
    std::vector<std::string> violations;
    JudgeEnd(jobs_, log, world_.KubeGet(kJobs), world_.KubeGet(kPods), world_.KubeGet(kGroups), violations);
    return violations;
  }

  // Checks that every phase change in a job's history happened. If no disk was lost, also checks that the history has
  // every phase change.
  void CheckHistory(const std::vector<Write>& log, std::vector<std::string>& violations) {
    cli::JobClient client(world_.suite().gateway());
    for (const ChaosJob& job : jobs_) {
      if (job.end.empty()) continue;
      job::v1::GetJobHistoryRequest request;
      request.set_namespace_("default");
      request.set_name(job.name);
      job::v1::JobHistory history;
      const absl::Status status =
          client.Ask([&](auto& stub, auto* context) { return stub.GetJobHistory(context, request, &history); });
      if (disk_lost_ && status.code() == absl::StatusCode::kNotFound) continue;
      if (!status.ok()) {
        violations.push_back(fmt::format("history of {}: {}", job.name, ToStd(status.message())));
        continue;
      }
      std::vector<std::string> recorded;
      for (const job::v1::HistoryEntry& entry : history.entries()) {
        if (!entry.committed()) {
          violations.push_back(
              fmt::format("history of {}: entry {} stands for nothing", job.name, entry.ShortDebugString()));
        }
        if (entry.from_phase() == entry.to_phase() || !entry.committed()) continue;
        recorded.push_back(
            fmt::format("{}>{}", kube::JobPhaseName(entry.from_phase()), kube::JobPhaseName(entry.to_phase())));
      }
      const std::vector<std::string> happened = PhaseChanges(log, job.name);
      for (const std::string& change : recorded) {
        if (std::count(recorded.begin(), recorded.end(), change) >
            std::count(happened.begin(), happened.end(), change)) {
          violations.push_back(fmt::format("history of {} tells {} more often than it happened: [{}]", job.name, change,
                                           history.ShortDebugString()));
          break;
        }
      }
      if (!disk_lost_ && recorded.size() != happened.size()) {
        violations.push_back(fmt::format("history of {} tells [{}], what happened is [{}]", job.name,
                                         fmt::join(recorded, " "), fmt::join(happened, " ")));
      }
    }
  }

  const uint64_t seconds_ = Number("BASALT_SECONDS", 60);
  const uint64_t seed_ = Number("BASALT_SEED", static_cast<uint64_t>(absl::ToUnixMillis(absl::Now())) % 1'000'000);
  SeededRandom random_{seed_};
  World world_{Options()};
  absl::Time begin_;
  std::multimap<absl::Time, std::function<void()>> plan_;
  std::vector<std::string> victims_;
  std::set<std::string> down_;
  std::vector<ChaosJob> jobs_;
  size_t submitted_ = 0;
  bool striking_ = true;
  bool disk_lost_ = false;
  int kills_ = 0, stops_ = 0, leaves_ = 0, evictions_ = 0;
};

TEST_F(ChaosTest, EveryJobEndsAsIfNothingHadHappened) {
  const absl::Duration duration = absl::Seconds(static_cast<int64_t>(seconds_));
  const auto count = static_cast<size_t>(std::max(20.0, kJobsPerSecond * static_cast<double>(seconds_)));
  for (size_t number = 0; number < count; ++number) {
    jobs_.push_back(PlanChaosJob(random_, static_cast<int>(number)));
    At(duration * 0.9 * (static_cast<double>(number) / static_cast<double>(count)), [this, number] { Submit(number); });
  }
  Strike();
  Evict();
  RunUntil(begin_ + duration);
  ASSERT_EQ(submitted_, count);
  striking_ = false;
  // Every planned fault runs to its end: stopped and killed processes come back.
  for (const absl::Time end = absl::Now() + kBackLimit; !plan_.empty() && absl::Now() < end;)
    RunUntil(absl::Now() + kStep);
  ASSERT_TRUE(plan_.empty() && down_.empty());
  Say(fmt::format("no more of it: {} kills, {} stops, {} leaves, {} pods deleted by the user", kills_, stops_, leaves_,
                  evictions_));
  ASSERT_THAT(world_.suite().WaitAttached(kBackLimit), testing::IsOk());
  Say("all are back");

  std::vector<Write> log;
  std::vector<std::string> violations;
  Eventually(kEndLimit, [&] {
    absl::SleepFor(absl::Seconds(1));
    log = world_.Log();
    violations = Violations(log);
    return violations.empty();
  });
  JudgeLog(jobs_, log, violations);
  size_t attributed = 0;
  JudgeOwners(log, attributed, violations);
  EXPECT_GT(attributed, count) << "writes do not tell their owners";
  Say(fmt::format("{} requests in the log, {} tell their owner", log.size(), attributed));
  CheckHistory(log, violations);
  for (const std::string& violation : violations) ADD_FAILURE() << violation;
  EXPECT_THAT(world_.suite().Casualties(), ::testing::IsEmpty());
  if (HasFailure()) fmt::print("seed {}\n", seed_);
}

}  // namespace
}  // namespace basalt::e2e
