// Runs the checks before a take-over against kubesim in this process.
#include <gtest/gtest.h>

#include "cli/preflight/checks.h"
#include "cli/preflight/report.h"
#include "kubesim/main/crds.h"
#include "kubesim/server/test_server.h"

namespace basalt::coexistence {
namespace {

class InProcess : public cli::KubeApi {
 public:
  explicit InProcess(kubesim::TestServer& server) : server_(server) {}
  absl::StatusOr<cli::KubeAnswer> Call(std::string method, std::string target, std::string body) override {
    kubesim::Reply reply = server_.Do(std::move(method), std::move(target), std::move(body));
    return cli::KubeAnswer{reply.status, std::move(reply.json), absl::ToUnixMillis(server_.time().Now())};
  }

 private:
  kubesim::TestServer& server_;
};

kubesim::ApiServerOptions WithDefinitions() {
  kubesim::ApiServerOptions options;
  options.crds = *kubesim::LoadCrds({BASALT_SOURCE_DIR "/deploy/crds"});
  return options;
}

TEST(PreflightTest, LongListsAreReadToTheirEndAndPodsByTheirScheduler) {
  kubesim::TestServer server(WithDefinitions());
  InProcess api(server);
  constexpr int kPods = 1100;  // The list has three pages.
  for (int i = 0; i < kPods; ++i) {
    const std::string scheduler = i % 2 == 0 ? "volcano" : "default-scheduler";
    ASSERT_EQ(server.MakePod("p" + std::to_string(i), "{}", R"(,"schedulerName":")" + scheduler + "\"").status, 201);
  }
  cli::Findings findings;
  ASSERT_TRUE(cli::CheckTakeOver(api, {{}, {"volcano", "default-scheduler"}}, findings).ok());
  EXPECT_NE(findings.back().what.find("1100 would get one"), std::string::npos) << findings.back().what;
  findings.clear();
  ASSERT_TRUE(cli::CheckTakeOver(api, {}, findings).ok());
  EXPECT_NE(findings.back().what.find("550 would get one"), std::string::npos) << findings.back().what;
}

}  // namespace
}  // namespace basalt::coexistence
