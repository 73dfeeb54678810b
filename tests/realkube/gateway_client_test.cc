// Tests the client of the gateway where only a real API server shows its behaviour: multiplexing, throttling,
// compression, and writes that become late.
#include <gmock/gmock.h>

#include <future>
#include <map>

#include "common/http/failure.h"
#include "common/http/fetch_and_wait.h"
#include "common/http/testing/jumping_loop.h"
#include "tests/realkube/gateway_client_fixture.h"

namespace basalt::gateway {
namespace {

using ::basalt::testing::IsOk;

constexpr int kPods = 300;

// Runs before the other tests that need the pods.
TEST_F(GatewayClientTest, ABurstOfCreatesOnATightServerIsCarriedOutOnceEach) {
  Connect(Gateway());
  const auto results = CreatePods("burst", kPods);
  for (const auto& [name, result] : results) {
    ASSERT_THAT(result, IsOk()) << name;
    EXPECT_FALSE(result->has_error()) << name << ": " << result->error().message();
  }
  std::map<std::string, int> created;
  int throttled = 0;
  for (const realkube::AuditLine& line : cluster_->Audit()) {
    if (line.verb != "create" || line.resource != "pods" || line.user != kAccount) continue;
    throttled += line.code == 429 ? 1 : 0;
    if (line.Succeeded()) ++created[line.name];
  }
  EXPECT_EQ(created.size(), static_cast<size_t>(kPods));
  for (const auto& [name, times] : created) EXPECT_EQ(times, 1) << name;
  RecordProperty("answered_429", throttled);
}

TEST_F(GatewayClientTest, ManyRequestsAndWatchesShareAFewConnections) {
  Connect(Gateway());
  for (int i = 0; i < 20; ++i) Reflect(*client_, ReflectorOptions::StreamingList::kTry);
  for (const auto& sink : sinks_) {
    sink->Wait([](const NamesSink::View& view) { return view.lists == 1; });
  }
  EXPECT_EQ(Connections().size(), 1U) << "of the watches";
  std::promise<void> all;
  int left = 300;
  RunOn(*loop_, [&] {
    for (int i = 0; i < 300; ++i) {
      http::Request request;
      request.target = "/version";
      calls_.push_back(http::Fetch(*client_, std::move(request), [&](const absl::StatusOr<http::Response>& response) {
        EXPECT_TRUE(response.ok() && response->status == 200) << response.status();
        if (--left == 0) all.set_value();
      }));
    }
  });
  all.get_future().wait();
  EXPECT_EQ(Connections().size(), 2U) << "the server takes 100 at once and more on each";
}

// Imitates a process that stops at any moment and continues after the request's deadline.
TEST_F(GatewayClientTest, AWriteThatBecomesLateIsNotCarriedOutAndItsConnectionGoesOn) {
  http::testing::JumpingLoop loop("jumping");
  const auto client = http::MakeCurlClient(loop, *http::ReadKubeconfig(cluster_->kubeconfig("admin")));
  const std::string path = "/api/v1/namespaces/default/configmaps";
  // Returns the status of the server's answer, or 0 if the request was late. Repeats requests that the server refuses
  // because its limit of concurrent requests is reached.
  const auto ask = [&](const std::string& method, const std::string& target, const std::string& body, int looks) {
    for (int tries = 0; tries < 600; ++tries) {
      loop.JumpBack();
      http::Request request{.method = method, .target = target, .headers = {{"Content-Type", "application/json"}}};
      request.body = body;
      request.send_by = loop.Now() + absl::Minutes(1);
      if (looks > 0) loop.JumpAfter(looks);
      const absl::StatusOr<http::Response> response = http::FetchAndWait(loop, *client, std::move(request));
      if (http::FailureOf(response.status()) == http::Failure::kLate) return 0;
      if (!response.ok()) return (ADD_FAILURE() << response.status(), -1);
      if (response->status != 429) return response->status;
    }
    return 429;
  };
  int late = 0;
  for (int looks = 1; looks <= 16; ++looks) {
    EXPECT_EQ(ask("GET", "/version", "", 0), 200);
    const std::string name = fmt::format("late-{}", looks);
    const int made = ask(
        "POST", path,
        fmt::format(R"({{"metadata":{{"name":"{}"}},"data":{{"x":"{}"}}}})", name, std::string(100'000, 'x')), looks);
    EXPECT_THAT(made, ::testing::AnyOf(0, 201)) << looks;
    EXPECT_EQ(ask("GET", path + "/" + name, "", 0), made == 0 ? 404 : 200) << looks;
    late += made == 0 ? 1 : 0;
  }
  EXPECT_GT(late, 1);
  EXPECT_LT(late, 16);
  EXPECT_EQ(Connections().size(), 1U);
}

TEST_F(GatewayClientTest, PagesAndStreamedListsShowTheSamePodsAndPagesComeCompressed) {
  Connect(Gateway());
  NamesSink& streamed = Reflect(*client_, ReflectorOptions::StreamingList::kTry);
  NamesSink& paged = Reflect(*client_, ReflectorOptions::StreamingList::kOff);
  const auto all = [](const NamesSink::View& view) { return view.names.size() >= kPods; };
  EXPECT_EQ(streamed.Wait(all).names, paged.Wait(all).names);
  RunOn(*loop_, [this] { EXPECT_TRUE(reflectors_[0]->streams_lists()) << "this server has them"; });
  const auto plain = Do("GET", "/api/v1/pods");
  const auto packed = Do("GET", "/api/v1/pods", "", /*compressed=*/true);
  ASSERT_THAT(plain, IsOk());
  ASSERT_THAT(packed, IsOk());
  EXPECT_EQ(http::FindHeader(plain->headers, "Content-Encoding"), "");
  EXPECT_EQ(http::FindHeader(packed->headers, "Content-Encoding"), "gzip");
  EXPECT_EQ(packed->body.size(), plain->body.size());
}

}  // namespace
}  // namespace basalt::gateway
