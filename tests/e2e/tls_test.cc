// Certificates are replaced, exchanged and denied while the processes of a suite run.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "absl/time/clock.h"
#include "cli/certs/folder.h"
#include "common/testing/status_matchers.h"
#include "tests/e2e/harness.h"

namespace basalt::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kRefresh = absl::Seconds(1);

class TlsTest : public ::testing::Test {
 protected:
  void Start(int replicas) {
    WorldOptions options;
    options.replicas = replicas;
    options.suite_flags = {fmt::format("--tls_refresh={}", absl::FormatDuration(kRefresh)),
                           "--denied_identities_file=" + denied_, "--metrics_listen=0.0.0.0:0"};
    options.gateway_flags = {"--grace=1s"};
    WriteFile(denied_, "");
    world_ = std::make_unique<World>(options);
    ASSERT_TRUE(world_->ok());
  }
  std::string certificates() const { return world_->suite().certificates_dir(); }
  void Submit(const std::string& prefix, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) {
      text += JobManifest(fmt::format("{}-{}", prefix, i), 2, "1s", "minAvailable: 1");
    }
    world_->Submit(prefix, text);
  }
  bool AreCompleted(const std::string& prefix, int count) {
    for (int i = 0; i < count; ++i) {
      if (world_->JobPhase(fmt::format("{}-{}", prefix, i)) != "Completed") return false;
    }
    return true;
  }
  std::string Topology() { return world_->Ctl({"topology"}).out; }

  const testing::TempDir folder_;
  const std::string denied_ = folder_ / "denied";
  std::unique_ptr<World> world_;
};

TEST_F(TlsTest, CertificatesAreReplacedEverySecondWhileJobsRun) {
  constexpr int kJobs = 100;
  ASSERT_NO_FATAL_FAILURE(Start(/*replicas=*/1));
  int rotations = 0;
  Submit("job", kJobs);
  absl::Time next = absl::Now();
  EXPECT_TRUE(Eventually(absl::Seconds(120), [&] {
    if (absl::Now() >= next) {
      next = absl::Now() + kRefresh;
      ++rotations;
      EXPECT_EQ(cli::RotateCertificates(certificates(), absl::Now(), {}).value_or(-1), 6);
    }
    return rotations > 5 && AreCompleted("job", kJobs);
  }));
  for (int i = 0; i < kJobs; ++i) EXPECT_THAT(JudgeJob(*world_, fmt::format("job-{}", i)), IsEmpty());
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty());
  EXPECT_THAT(Topology(), HasSubstr("jobsvc-0"));
  EXPECT_THAT(world_->Ctl({"job", "history", "job-0", "-o", "json"}).out, HasSubstr(R"("cluster": "default")"));
}

TEST_F(TlsTest, AnAuthorityIsExchangedWhileTheSuiteRuns) {
  ASSERT_NO_FATAL_FAILURE(Start(/*replicas=*/1));
  using Step = cli::AuthorityStep;
  for (const Step step : {Step::kBelieveBoth, Step::kIssueByNext, Step::kForgetOld}) {
    ASSERT_EQ(cli::RotateAuthority(certificates(), step, absl::Now(), {}).value_or(-1), 6);
    // By then, every process has read its files again. A restarted process connects to others, and others connect to
    // the restarted process.
    const absl::Time read = absl::Now() + 2 * kRefresh;
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] { return absl::Now() >= read; }));
    for (const char* name : {"jobsvc-0", "gateway-0"}) {
      ASSERT_THAT(world_->suite().Kill(name), testing::IsOk());
      ASSERT_THAT(world_->suite().Restart(name), testing::IsOk());
    }
    EXPECT_THAT(world_->suite().WaitAttached(absl::Seconds(30)), testing::IsOk());
    // pgsvc is never restarted, and the client believes the authorities of the step.
    http::CurlOptions pages = world_->suite().pages("pgsvc-0");
    EXPECT_TRUE(Eventually(absl::Seconds(30), [&] { return FetchText(pages, "/healthz") == "ok\n"; }));
    pages.base_url.replace(0, std::strlen("https"), "http");
    EXPECT_EQ(FetchText(pages, "/healthz"), "") << "without TLS nothing is told";
    const std::string prefix = fmt::format("step-{}", static_cast<int>(step));
    Submit(prefix, 2);
    EXPECT_TRUE(Eventually(absl::Seconds(60), [&] { return AreCompleted(prefix, 2); })) << prefix;
  }
}

TEST_F(TlsTest, ADeniedReplicaLosesItsSlotsAndComesBack) {
  ASSERT_NO_FATAL_FAILURE(Start(/*replicas=*/2));
  Submit("before", 4);
  EXPECT_THAT(Topology(), HasSubstr("jobsvc-1"));
  WriteFile(denied_, "spiffe://basalt.local/cluster/default/role/jobsvc/jobsvc-1\n");
  const auto slots = [this] { return world_->Ctl({"topology", "--slots", "jobsvc"}).out; };
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] {
    const std::string text = slots();
    return !text.empty() && text.find("\njobsvc-1") == std::string::npos;
  })) << slots();
  Submit("meanwhile", 4);
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] { return AreCompleted("before", 4) && AreCompleted("meanwhile", 4); }));
  EXPECT_THAT(world_->suite().Casualties(), IsEmpty()) << "the process says why it is not ready, and tries again";
  WriteFile(denied_, "");
  EXPECT_TRUE(Eventually(absl::Seconds(60), [&] { return slots().find("\njobsvc-1") != std::string::npos; }))
      << slots();
}

}  // namespace
}  // namespace basalt::e2e
