// An installed suite lives through years of operation while jobs run: releases, scaling, lost pods and volumes, new
// certificates, a restart of the API server, drains, backups. No object is created twice, and every job ends as it
// would have ended without these events.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "cli/connect/channel.h"
#include "common/testing/status_matchers.h"
#include "tests/bench/replicas/slot_watch.h"
#include "tests/coexistence/fixtures.h"
#include "tests/pods/installed.h"

namespace basalt::pods {
namespace {

using e2e::Eventually;
using e2e::JudgeJob;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLimit = absl::Seconds(120);
// How long a slot may have no owner:
// while the slot moves
constexpr absl::Duration kMove = absl::Seconds(3);
// while its replica may come back (--grace is 5 s)
constexpr absl::Duration kGrace = absl::Seconds(10);
// while another gateway takes the lead, which takes at most 1.5 times --lease_duration
constexpr absl::Duration kLead = absl::Seconds(23);
// while the API server is away and until a gateway leads again
constexpr absl::Duration kServer = absl::Seconds(60);
constexpr char kServices[] = "statefulset/basalt-jobsvc statefulset/basalt-pgsvc statefulset/basalt-queuesvc";

class LifeTest : public InstalledTest {
 protected:
  void SetUp() override {
    ASSERT_NO_FATAL_FAILURE(InstalledTest::SetUp());
    tls_ = suite_->TlsOptions();
    use_of_tls_.emplace(tls_);
    watch_ = std::make_unique<bench::SlotWatch>([this] { return Channels(); });
  }
  void TearDown() override {
    watch_.reset();
    use_of_tls_.reset();
  }

  // The watch calls this on its own thread.
  std::vector<std::shared_ptr<grpc::Channel>> Channels() {
    std::vector<std::shared_ptr<grpc::Channel>> channels;
    const std::string gateways = suite_->Gateways();
    for (const absl::string_view address : absl::StrSplit(gateways, ',', absl::SkipEmpty())) {
      auto channel = cli::MakeChannel(std::string(address), identity::Role::kGateway);
      if (channel.ok()) channels.push_back(*std::move(channel));
    }
    return channels;
  }

  // Submits jobs that run during the next event. One job in ten has real containers.
  void Submit(int count) {
    std::string manifest;
    for (int i = 0; i < count; ++i) {
      const std::string name = fmt::format("job-{}", jobs_.size());
      const bool is_real = jobs_.size() % 10 == 0;
      jobs_.push_back(name);
      manifest += JobManifest(name, "minAvailable: 2\nplugins: {svc: []}",
                              {is_real ? RealTask("t", 2, "sleep 8") : FakeTask("t", 3, 8)});
    }
    EXPECT_TRUE(Eventually(kLimit, [&] { return suite_->TryApply(manifest); }));
  }
  // Calls `happens` shortly after the submission of jobs. Prints how long slots had no owner, and expects that this
  // time is less than `limit`.
  void While(const std::string& what, absl::Duration limit, const std::function<void()>& happens) {
    SCOPED_TRACE(what);
    Submit(12);
    watch_->Take();
    const absl::Time begin = absl::Now();
    happens();
    EXPECT_TRUE(suite_->IsReadyWithin(kLimit));
    const int replicas =
        static_cast<int>(FindInt(*Find(suite_->Object("statefulset", "basalt-jobsvc"), "status"), "readyReplicas"));
    // The watch also counts the time in which no gateway answers.
    const absl::Time ready = absl::Now();
    EXPECT_TRUE(Eventually(kLimit, [&] { return watch_->last() > ready && watch_->AllOpenAt(replicas); }))
        << watch_->Summary();
    absl::Duration longest;
    const std::vector<bench::Gap> gaps = watch_->Take();
    for (const bench::Gap& gap : gaps) longest = std::max(longest, gap.time);
    fmt::print("{}: {:.0f} s, {} times a slot had no owner, for {} at most\n", what,
               absl::ToDoubleSeconds(absl::Now() - begin), gaps.size(),
               absl::FormatDuration(absl::Trunc(longest, absl::Milliseconds(1))));
    EXPECT_LT(longest, limit);
  }
  void ExpectAllEnd() {
    for (const std::string& job : std::exchange(jobs_, {})) {
      EXPECT_TRUE(Eventually(kLimit, [&] { return suite_->JobPhase(job) == "Completed"; }))
          << job << " is " << suite_->JobPhase(job) << "\n"
          << suite_->Ctl({"job", "explain", job}).out;
      const e2e::Records records = without_records_.contains(job) ? e2e::Records::kLost : e2e::Records::kKept;
      EXPECT_THAT(JudgeJob(*suite_, job, records), IsEmpty()) << job;
    }
  }
  // Records that each running job may lose its records: its replica may go without a hand-over.
  void ExpectLostRecords() {
    // Jobs that were submitted two events ago have ended.
    for (size_t i = jobs_.size() - std::min<size_t>(jobs_.size(), 24); i < jobs_.size(); ++i) {
      if (suite_->JobPhase(jobs_[i]) != "Completed") without_records_.insert(jobs_[i]);
    }
  }
  void Scale(const std::string& what, int replicas) {
    suite_->Kubectl({"scale", "-n", kNamespace, what, fmt::format("--replicas={}", replicas)});
  }
  void Replace(const std::string& image) {
    for (const char* role : {"gateway", "jobsvc", "pgsvc", "queuesvc"}) {
      const std::string what =
          fmt::format("{}/basalt-{}", std::string_view(role) == "gateway" ? "deployment" : "statefulset", role);
      suite_->Kubectl({"set", "image", "-n", kNamespace, what, fmt::format("{}={}", role, image)});
    }
    EXPECT_TRUE(suite_->IsReadyWithin(absl::Minutes(4)));
    EXPECT_EQ(suite_->Kubectl({"get", "pods", "-n", kNamespace, "-o", "jsonpath={.items[*].spec.containers[0].image}"}),
              fmt::format("{0} {0} {0} {0} {0} {0} {0} {0} {0} {0} {0}", image));
  }
  std::string VolumeOf(const std::string& claim) {
    const std::string name =
        suite_->Kubectl({"get", "pvc", claim, "-n", kNamespace, "-o", "jsonpath={.spec.volumeName}"});
    return suite_->Kubectl({"get", "pv", name, "-o", "jsonpath={.spec.local.path}"});
  }
  void AwaitPods(int count) {
    EXPECT_TRUE(Eventually(kLimit, [&] {
      const std::string names = suite_->Kubectl({"get", "pods", "-n", kNamespace, "-o", "name"});
      return std::count(names.begin(), names.end(), '\n') == count;
    }));
  }

  cli::TlsOptions tls_;
  std::optional<cli::UseOfTls> use_of_tls_;
  std::unique_ptr<bench::SlotWatch> watch_;
  std::vector<std::string> jobs_;
  std::set<std::string> without_records_;  // Jobs whose history may lack entries.
};

TEST_F(LifeTest, JobsRunOnThroughEverything) {
  suite_->Kubectl({"apply", "-n", "default", "-f", BASALT_SOURCE_DIR "/deploy/rbac/plugins/svc.yaml"});
  // The programs of the previous release are built with the libraries of Debian 12. Both releases write the same
  // volumes.
  While("back to the release before", kLead, [&] { Replace("basalt:0.2.0"); });
  While("forward to this release", kLead, [&] { Replace("basalt:0.3.0"); });
  While("jobsvc from 3 to 5", kMove, [&] {
    Scale("statefulset/basalt-jobsvc", 5);
    EXPECT_TRUE(Eventually(kLimit, [&] { return watch_->AllOpenAt(5); })) << watch_->Summary();
  });
  While("jobsvc from 5 to 2", kMove, [&] {
    Scale("statefulset/basalt-jobsvc", 2);
    EXPECT_TRUE(Eventually(kLimit, [&] { return watch_->AllOpenAt(2); })) << watch_->Summary();
  });
  While("jobsvc from 2 to 3", kMove, [&] {
    Scale("statefulset/basalt-jobsvc", 3);
    EXPECT_TRUE(Eventually(kLimit, [&] { return watch_->AllOpenAt(3); })) << watch_->Summary();
  });
  While("pods deleted", kLead, [&] {
    suite_->Kubectl({"delete", "pod", "-n", kNamespace, "basalt-jobsvc-1", "basalt-pgsvc-0", "basalt-queuesvc-2"});
    suite_->Kubectl({"delete", "pod", "-n", kNamespace, watch_->leader()});
  });
  While("a pod killed", kGrace, [&] {
    ExpectLostRecords();
    suite_->Kubectl({"delete", "pod", "-n", kNamespace, "basalt-jobsvc-0", "--force", "--grace-period=0"});
  });
  While("a volume lost", kGrace, [&] {
    ExpectLostRecords();
    const std::string before = VolumeOf("data-basalt-jobsvc-2");
    suite_->Kubectl({"delete", "pvc", "-n", kNamespace, "data-basalt-jobsvc-2", "--wait=false"});
    suite_->Kubectl({"delete", "pod", "-n", kNamespace, "basalt-jobsvc-2"});
    EXPECT_TRUE(suite_->IsReadyWithin(kLimit));
    EXPECT_NE(VolumeOf("data-basalt-jobsvc-2"), before);
  });
  While("all certificates rotated", kMove, [&] {
    const std::vector<std::string> pods = {"basalt-jobsvc-0", "basalt-pgsvc-1", "basalt-queuesvc-2", watch_->leader()};
    std::map<std::string, std::string> before;
    for (const std::string& pod : pods) before[pod] = suite_->CertificateEnd(pod);
    suite_->Apply(suite_->Certificates());
    for (const std::string& pod : pods) {
      ASSERT_NE(before[pod], "") << pod;
      EXPECT_TRUE(Eventually(absl::Minutes(4),
                             [&] {
                               const std::string end = suite_->CertificateEnd(pod);
                               return !end.empty() && end != before[pod];
                             }))
          << pod << before[pod];
    }
  });
  While("the API server restarted", kServer, [&] {
    EXPECT_THAT(suite_->cluster().Stop("kube-apiserver"), testing::IsOk());
    EXPECT_THAT(suite_->cluster().Restart("kube-apiserver"), testing::IsOk());
  });
  While("the node drained", kLead, [&] {
    // The drained pods have no other node to go to. The budgets allow one eviction of each kind and protect the other
    // pods.
    const e2e::Ran drain =
        suite_->TryKubectl({"drain", "real-0", "--pod-selector=app.kubernetes.io/part-of=basalt", "--timeout=15s"});
    EXPECT_NE(drain.exit_code, 0);
    EXPECT_THAT(drain.err, HasSubstr("Cannot evict pod as it would violate the pod's disruption budget"));
    for (const char* const set : {"jobsvc", "pgsvc", "queuesvc"}) {
      EXPECT_EQ(suite_->Kubectl({"get", "statefulset", "-n", kNamespace, fmt::format("basalt-{}", set), "-o",
                                 "jsonpath={.status.readyReplicas}"}),
                "2");
    }
    suite_->Kubectl({"uncordon", "real-0"});
  });
  ExpectAllEnd();
}

TEST_F(LifeTest, ABackupOfTheVolumesBringsHistoryBack) {
  suite_->Apply(JobManifest("told", "minAvailable: 1", {FakeTask("t", 1, 1)}));
  ASSERT_TRUE(Eventually(kLimit, [&] { return suite_->JobPhase("told") == "Completed"; }));
  const std::string history = suite_->Ctl({"job", "history", "told"}).out;
  EXPECT_THAT(history, HasSubstr("Completed"));
  Scale("statefulset/basalt-jobsvc", 0);
  AwaitPods(8);
  namespace fs = std::filesystem;
  const auto each_volume = [&](const std::function<void(const fs::path&, const fs::path&)>& act) {
    for (int i = 0; i < 3; ++i) {
      act(VolumeOf(fmt::format("data-basalt-jobsvc-{}", i)) + "/store", suite_->dir() / fmt::format("backup-{}", i));
    }
  };
  // A backup tool keeps owners and modes, too.
  each_volume([&](const fs::path& store, const fs::path& copy) {
    EXPECT_EQ(e2e::RunToEnd({"/bin/cp", "-a", store, copy}, suite_->dir().path(), kLimit).exit_code, 0);
    fs::remove_all(store);
  });
  each_volume([&](const fs::path& store, const fs::path& copy) {
    EXPECT_EQ(e2e::RunToEnd({"/bin/cp", "-a", copy, store}, suite_->dir().path(), kLimit).exit_code, 0);
  });
  Scale("statefulset/basalt-jobsvc", 3);
  EXPECT_TRUE(suite_->IsReadyWithin(kLimit));
  EXPECT_TRUE(Eventually(kLimit, [&] {
    return suite_->Ctl({"job", "history", "told"}).out == history;
  })) << suite_->Ctl({"job", "history", "told"}).out;
}

// The API server of the installation, as the fixtures of upstream's objects use it.
class Left : public coexistence::Kubernetes {
 public:
  explicit Left(realkube::Cluster& cluster) : cluster_(cluster) {}
  dev::ExternalKube Access() const override {
    dev::ExternalKube access;
    access.server = cluster_.kube_server();
    access.admin_kubeconfig = cluster_.kubeconfig();
    return access;
  }
  std::vector<coexistence::Write> AllWrites() override { return {}; }

 private:
  realkube::Cluster& cluster_;
};

TEST_F(LifeTest, JobsThatUpstreamLeftAreTakenOverAndGivenBack) {
  Scale("deployment/basalt-gateway", 0);
  for (const absl::string_view set : absl::StrSplit(kServices, ' ')) Scale(std::string(set), 0);
  AwaitPods(0);
  Left kube(suite_->cluster());
  constexpr char kThreeRun[] = R"("minAvailable":3,"running":3,"taskStatusCount":{"work":{"phase":{"Running":3}}})";
  const auto planted = coexistence::Plant(kube, {.name = "left",
                                                 .status = coexistence::StatusOf({"Pending", "Running"}, kThreeRun),
                                                 .pods = {{0, "Running"}, {1, "Running"}, {2, "Running"}}});
  const size_t before = suite_->Log().size();
  Scale("deployment/basalt-gateway", 2);
  for (const absl::string_view set : absl::StrSplit(kServices, ' ')) Scale(std::string(set), 3);
  EXPECT_TRUE(suite_->IsReadyWithin(kLimit));
  // The job's pods are scheduled, run and end.
  EXPECT_TRUE(Eventually(kLimit, [&] { return suite_->JobPhase("left") == "Completed"; })) << suite_->JobPhase("left");
  const std::vector<e2e::Write> log = suite_->Log();
  for (size_t i = before; i < log.size(); ++i) {
    EXPECT_FALSE(log[i].IsOurs() && log[i].resource == "pods" && log[i].name.starts_with("left-"))
        << log[i].verb << " " << log[i].name;
  }
  for (const auto& [path, uid] : planted.uids) {
    EXPECT_EQ(std::string(FindString(*Find(kube.Get(path), "metadata"), "uid")), uid) << path;
  }
  // The job is given back: no object of ours blocks its deletion.
  Scale("deployment/basalt-gateway", 0);
  for (const absl::string_view set : absl::StrSplit(kServices, ' ')) Scale(std::string(set), 0);
  AwaitPods(0);
  suite_->Kubectl({"delete", "jobs.batch.volcano.sh", "left", "--timeout=30s"});
  Scale("deployment/basalt-gateway", 2);
  for (const absl::string_view set : absl::StrSplit(kServices, ' ')) Scale(std::string(set), 3);
  EXPECT_TRUE(suite_->IsReadyWithin(kLimit));
}

}  // namespace
}  // namespace basalt::pods
