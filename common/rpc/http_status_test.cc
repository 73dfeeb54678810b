#include "common/rpc/http_status.h"

#include <gtest/gtest.h>

#include <future>

#include "common/http/curl/curl_client.h"

namespace basalt::rpc {
namespace {

TEST(HttpStatusTest, SaysWhatIsNotReady) {
  auto loop = MakeThreadLoop("status");
  auto metrics = obs::MakeMetrics();
  metrics->GetCounter("jobs_total", "Jobs.").Add(3);
  obs::Health health;
  health.AddTarget("gateway", "not attached yet");
  auto status = StartHttpStatus(*loop, *metrics, health, {.process = "jobsvc-0", .version = "0.1.0"});
  ASSERT_TRUE(status.ok()) << status.status();
  const std::string base = "http://127.0.0.1:" + std::to_string((*status)->port());
  auto client = http::MakeCurlClient(*loop, {.base_url = base});
  const auto get = [&](const std::string& target) {
    std::promise<http::Response> answer;
    std::unique_ptr<http::Call> call;
    loop->Post([&] {
      call = http::Fetch(*client, {.target = target}, [&](absl::StatusOr<http::Response> got) {
        answer.set_value(got.ok() ? *std::move(got) : http::Response{.body = got.status().ToString()});
      });
    });
    http::Response response = answer.get_future().get();
    std::promise<void> dropped;
    loop->Post([&] {
      call.reset();
      dropped.set_value();
    });
    dropped.get_future().get();
    return response;
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
  std::promise<void> done;
  loop->Post([&] {
    client.reset();
    status->reset();
    done.set_value();
  });
  done.get_future().get();
}

}  // namespace
}  // namespace basalt::rpc
