#include "common/rpc/http_status.h"

#include <gtest/gtest.h>

#include <fstream>

#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/fetch_and_wait.h"
#include "common/testing/temp_dir.h"

namespace basalt::rpc {
namespace {

TEST(HttpStatusTest, SaysWhatIsNotReady) {
  auto loop = MakeThreadLoop("status");
  auto metrics = obs::MakeMetrics();
  metrics->GetCounter("jobs_total", "Jobs.").Add(3);
  obs::Health health;
  health.AddTarget("gateway", "not attached yet");
  auto status = StartHttpStatus(*loop, *metrics, health, {.server = {}, .process = "jobsvc-0", .version = "0.1.0"});
  ASSERT_TRUE(status.ok()) << status.status();
  const std::string base = "http://127.0.0.1:" + std::to_string((*status)->port());
  auto client = http::MakeCurlClient(*loop, {.base_url = base});
  const auto get = [&](const std::string& target) {
    absl::StatusOr<http::Response> got = http::FetchAndWait(*loop, *client, {.target = target});
    return got.ok() ? *std::move(got) : http::Response{.body = got.status().ToString()};
  };
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_NE(get("/metrics").body.find("jobs_total 3"), std::string::npos);
  EXPECT_EQ(get("/version").body, "{\"process\":\"jobsvc-0\",\"version\":\"0.1.0\"}\n");
  EXPECT_EQ(get("/nothing").status, 404);
  const http::Response waiting = get("/readyz");
  EXPECT_EQ(waiting.status, 503);
  EXPECT_NE(waiting.body.find("not attached yet"), std::string::npos) << waiting.body;
  health.SetReady("gateway");
  EXPECT_EQ(get("/readyz").status, 200);
  RunOn(*loop, [&] {
    client.reset();
    status->reset();
  });
}

TEST(HttpStatusTest, OnlyMetricsAskForTheToken) {
  const basalt::testing::TempDir folder;
  std::ofstream(folder / "token") << "s3cret\n";
  auto token = MetricsToken::FromFile(folder / "token", absl::Seconds(10));
  ASSERT_TRUE(token.ok()) << token.status();
  const auto loop = MakeThreadLoop("status");
  const auto metrics = obs::MakeMetrics();
  metrics->GetCounter("jobs_total", "Jobs.").Add(3);
  const obs::Health health;
  HttpStatusOptions options;
  options.metrics_token = *std::move(token);
  auto status = StartHttpStatus(*loop, *metrics, health, options);
  ASSERT_TRUE(status.ok()) << status.status();
  const auto client_loop = MakeThreadLoop("client");
  const auto get = [&](const std::string& target, const std::string& bearer_token) {
    const std::string base = "http://127.0.0.1:" + std::to_string((*status)->port());
    auto client = http::MakeCurlClient(*client_loop, {.base_url = base, .bearer_token = bearer_token});
    absl::StatusOr<http::Response> got = http::FetchAndWait(*client_loop, *client, {.target = target});
    RunOn(*client_loop, [&] { client.reset(); });
    return got.ok() ? *std::move(got) : http::Response{.body = got.status().ToString()};
  };
  const http::Response refused = get("/metrics", "");
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(http::FindHeader(refused.headers, "WWW-Authenticate"), "Bearer");
  EXPECT_EQ(refused.body.find("jobs_total"), std::string::npos);
  EXPECT_EQ(get("/metrics", "another").status, 401);
  EXPECT_NE(get("/metrics", "s3cret").body.find("jobs_total 3"), std::string::npos);
  for (const char* target : {"/healthz", "/readyz", "/version"}) EXPECT_EQ(get(target, "").status, 200) << target;
}

}  // namespace
}  // namespace basalt::rpc
