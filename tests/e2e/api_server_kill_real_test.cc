// The real API server is killed three times while fifty jobs of many kinds are created and run. All jobs complete, and
// the suite creates every pod as often as the decided restarts require.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "absl/time/clock.h"
#include "common/base/random.h"
#include "common/base/status.h"
#include "common/exec/run_on.h"
#include "common/testing/status_matchers.h"
#include "kubesim/actors/client/api.h"
#include "kubesim/actors/client/informer.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

constexpr int kJobs = 50;
constexpr int kKills = 3;
constexpr std::string_view kJobsPath = "/apis/batch.volcano.sh/v1alpha1/namespaces/default/jobs";
constexpr std::string_view kPodsPath = "/api/v1/namespaces/default/pods";

enum class Restart { kNone, kJob, kTask, kPod };

// Job number `number` has one to twenty pods in one task or two. One pod of each job with a policy is made to fail
// once.
struct Plan {
  explicit Plan(int number)
      : name(fmt::format("many-{}", number)),
        pods(1 + number * 7 % 20),
        in_first(pods - pods / 2),
        restart(static_cast<Restart>(number % 5 % 4)),
        plugins(number % 3 == 0) {}

  std::string PodName(int pod) const {
    return pod < in_first ? fmt::format("{}-a-{}", name, pod) : fmt::format("{}-b-{}", name, pod - in_first);
  }
  std::string victim() const { return restart == Restart::kNone ? "" : PodName(0); }

  size_t Creates(int pod, bool failed) const {
    if (!failed || restart == Restart::kNone) return 1;
    if (restart == Restart::kTask) return pod < in_first ? 2 : 1;
    if (restart == Restart::kPod) return pod == 0 ? 2 : 1;
    return 2;
  }

  std::string Manifest() const {
    constexpr const char* kActions[] = {"", "RestartJob", "RestartTask", "RestartPod"};
    std::string tasks;
    for (const auto& [task, replicas] : {std::pair("a", in_first), std::pair("b", pods - in_first)}) {
      if (replicas == 0) continue;
      tasks += fmt::format(
          R"({}{{"name":"{}","replicas":{},"template":{{"metadata":{{"annotations":{{"kubesim.basalt.dev/duration":"3s"}}}},)"
          R"("spec":{{"restartPolicy":"Never","containers":[{{"name":"c","image":"i"}}]}}}}}})",
          tasks.empty() ? "" : ",", task, replicas);
    }
    return fmt::format(
        R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","metadata":{{"name":"{}"}},"spec":{{"minAvailable":{},)"
        R"("schedulerName":"volcano","queue":"default",{}{}"tasks":[{}]}}}})",
        name, pods, plugins ? R"("plugins":{"env":[],"svc":[],"ssh":[]},)" : "",
        restart == Restart::kNone ? std::string()
                                  : fmt::format(R"("policies":[{{"event":"PodFailed","action":"{}"}}],)",
                                                kActions[static_cast<int>(restart)]),
        tasks);
  }

  std::string name;
  int pods;
  int in_first;
  Restart restart;
  bool plugins;
};

absl::Time CreatedAt(const json::value& object) {
  absl::Time time = absl::InfiniteFuture();
  std::string ignored;
  (void)absl::ParseTime(absl::RFC3339_full, ToAbsl(FindString(object.at("metadata"), "creationTimestamp")), &time,
                        &ignored);
  return time;
}

// Records the objects that the watches of the API server deliver. The watches continue after each kill. Lives on the
// loop of the world.
class Recorder {
 public:
  struct Pod {
    std::map<std::string, absl::Time> made;  // Creation times by UID, to the second.
    bool failed = false;
  };
  struct Job {
    std::string phase;
    int64_t retries = 0;
  };

  Recorder(Loop& loop, http::Client& client, const std::vector<Plan>& plans)
      : api_(loop, client, random_),
        pods_(loop, client, random_, Options(kPodsPath)),
        jobs_(loop, client, random_, Options(kJobsPath)) {
    for (const Plan& plan : plans) victims_.insert(plan.victim());
    pods_.Listen(pod_listener_);
    jobs_.Listen(job_listener_);
    pods_.Start();
    jobs_.Start();
  }

  void Submit(const Plan& plan) { api_.Do({"POST", std::string(kJobsPath), plan.Manifest()}, nullptr); }

  std::map<std::string, Pod> pods;
  std::map<std::string, Job> jobs;

 private:
  struct PodListener : actors::InformerListener {
    explicit PodListener(Recorder& to) : recorder(to) {}
    void OnObject(const json::value& object) override { recorder.OnPod(object); }
    void OnGone(const actors::ObjectName&) override {}
    void OnSynced() override {}
    Recorder& recorder;
  };
  struct JobListener : actors::InformerListener {
    explicit JobListener(Recorder& to) : recorder(to) {}
    void OnObject(const json::value& object) override {
      Job& job = recorder.jobs[std::string(FindString(object.at("metadata"), "name"))];
      const json::value* const status = Find(object, "status");
      if (status == nullptr) return;
      if (const json::value* const state = Find(*status, "state")) job.phase = FindString(*state, "phase");
      job.retries = FindInt(*status, "retryCount");
    }
    void OnGone(const actors::ObjectName&) override {}
    void OnSynced() override {}
    Recorder& recorder;
  };

  static actors::InformerOptions Options(std::string_view path) {
    actors::InformerOptions options;
    options.path = path;
    return options;
  }

  void OnPod(const json::value& object) {
    const json::value& metadata = object.at("metadata");
    const std::string name(FindString(metadata, "name"));
    const std::string uid(FindString(metadata, "uid"));
    Pod& pod = pods[name];
    pod.made.emplace(uid, CreatedAt(object));
    const json::value* const status = Find(object, "status");
    const std::string_view phase = status == nullptr ? std::string_view() : FindString(*status, "phase");
    if (phase == "Failed") pod.failed = true;
    if (pod.made.size() == 1 && victims_.erase(name) > 0) {
      // The node ends the pod this way only if the annotation arrives before the node starts the pod. The UID makes
      // sure that no other pod is patched.
      api_.Do({"PATCH", fmt::format("{}/{}", kPodsPath, name),
               fmt::format(R"({{"metadata":{{"uid":"{}","annotations":{{"kubesim.basalt.dev/exit-code":"1",)"
                           R"("kubesim.basalt.dev/duration":"500ms"}}}}}})",
                           uid),
               actors::kMergePatchType},
              nullptr);
    }
  }

  SystemRandom random_;
  PodListener pod_listener_{*this};
  JobListener job_listener_{*this};
  std::set<std::string> victims_;
  actors::Api api_;
  actors::Informer pods_, jobs_;
};

class ApiServerKillTest : public ::testing::Test {
 protected:
  ApiServerKillTest() {
    for (int number = 0; number < kJobs; ++number) plans_.emplace_back(number);
  }
  ~ApiServerKillTest() override {
    if (world_.ok()) RunOn(world_.loop(), [&] { recorder_.reset(); });
  }
  void SetUp() override {
    ASSERT_TRUE(world_.ok());
    RunOn(world_.loop(), [&] { recorder_ = std::make_unique<Recorder>(world_.loop(), world_.client(), plans_); });
  }
  size_t PodsMade() {
    size_t count = 0;
    RunOn(world_.loop(), [&] {
      for (const auto& [name, pod] : recorder_->pods) count += pod.made.size();
    });
    return count;
  }

  std::vector<std::string> Unfinished() {
    std::vector<std::string> names;
    RunOn(world_.loop(), [&] {
      for (const Plan& plan : plans_) {
        const std::string& phase = recorder_->jobs[plan.name].phase;
        if (phase != "Completed") names.push_back(fmt::format("{} ({})", plan.name, phase));
      }
    });
    return names;
  }

  // Expects that a create was answered 409 only if the object had been created before the server was last killed, so
  // that the first answer was lost.
  void ExpectExcusedConflicts(const std::vector<absl::Time>& kills) {
    std::map<std::string, size_t> succeeded;
    int lost = 0;
    for (const realkube::AuditLine& line : RealCluster()->Audit()) {
      if (line.verb != "create" || line.resource == "events" || !IsByOwner(line.user_agent)) continue;
      const std::string what = fmt::format("{} {}", line.resource, line.name);
      if (line.Succeeded()) ++succeeded[what];
      if (line.code != 409) continue;
      absl::Time killed = absl::InfinitePast();
      for (const absl::Time kill : kills) {
        if (kill < line.received) killed = kill;
      }
      bool excused = killed != absl::InfinitePast();
      if (line.resource == "pods") {
        excused = false;
        for (const auto& [uid, made] : recorder_->pods[line.name].made) excused |= made <= killed;
      }
      EXPECT_TRUE(excused) << what << " was created though it is there";
      ++lost;
    }
    fmt::print("{} creates were answered 409 after their first answer was lost\n", lost);
    for (const auto& [name, pod] : recorder_->pods) EXPECT_LE(succeeded["pods " + name], pod.made.size()) << name;
  }

  World world_;
  std::vector<Plan> plans_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(ApiServerKillTest, FiftyJobsCompleteAndEveryPodIsCreatedAsDecided) {
  std::vector<absl::Time> kills;
  for (int kill = 0; kill <= kKills; ++kill) {
    const size_t before = PodsMade();
    const int end = kJobs * (kill + 1) / (kKills + 1);
    RunOn(world_.loop(), [&] {
      for (int number = kJobs * kill / (kKills + 1); number < end; ++number) recorder_->Submit(plans_[number]);
    });
    if (kill == kKills) break;
    ASSERT_TRUE(Eventually(absl::Seconds(60), [&] { return PodsMade() >= before + 20; })) << "no pods are made";
    kills.push_back(absl::Now());
    ASSERT_THAT(RealCluster()->Kill("kube-apiserver"), testing::IsOk());
    ASSERT_THAT(RealCluster()->Restart("kube-apiserver"), testing::IsOk());
  }
  EXPECT_TRUE(Eventually(absl::Seconds(150), [&] { return Unfinished().empty(); }))
      << fmt::format("{}", fmt::join(Unfinished(), ", "));

  RunOn(world_.loop(), [&] {
    int failures = 0;
    for (const Plan& plan : plans_) {
      const bool failed = !plan.victim().empty() && recorder_->pods[plan.victim()].failed;
      failures += failed ? 1 : 0;
      for (int pod = 0; pod < plan.pods; ++pod) {
        const std::string name = plan.PodName(pod);
        EXPECT_EQ(recorder_->pods[name].made.size(), plan.Creates(pod, failed))
            << name << (failed ? ", after a failure" : "");
      }
      EXPECT_EQ(recorder_->jobs[plan.name].retries, failed ? 1 : 0) << plan.name;
    }
    fmt::print("{} pods failed as they were told to\n", failures);
    EXPECT_GE(failures, kJobs / 4) << "restarts are hardly tested";
    ExpectExcusedConflicts(kills);
  });
  EXPECT_THAT(world_.suite().Casualties(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace basalt::e2e
