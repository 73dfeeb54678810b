#include "common/rpc/http_status.h"

#include <gtest/gtest.h>

#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/fetch_and_wait.h"

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

}  // namespace
}  // namespace basalt::rpc
