// Tests that a request which has not gone out by its `send_by` does not go out later, however long the process stood
// still and wherever in the client the request was: behind others, or with half of its body sent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/failure.h"
#include "common/http/server/beast_server.h"
#include "common/http/testing/jumping_loop.h"
#include "common/http/testing/loopback_listener.h"

namespace basalt::http {
namespace {

using testing::JumpingLoop;
using testing::LoopbackListener;

// Counts requests. The test releases the answer to "/hold" by Release().
class CountingHandler : public Handler {
 public:
  void Handle(const Request& request, std::shared_ptr<ResponseWriter> writer) override {
    ++requests;
    if (request.target != "/hold") return writer->Whole(200, {}, request.body);
    held_ = std::move(writer);
    held.set_value();
  }
  void Release() { std::exchange(held_, nullptr)->Whole(200, {}, ""); }

  std::atomic<int> requests{0};
  std::promise<void> held;

 private:
  std::shared_ptr<ResponseWriter> held_;
};

class SendByTest : public ::testing::Test {
 protected:
  ~SendByTest() override {
    RunOn(loop_, [this] { calls_.clear(); });
    client_.reset();
    server_.reset();
  }
  void Serve() {
    auto started = StartServer(*server_loop_, handler_, {});
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    port_ = server_->port();
  }
  void Connect(size_t max_parallel = 8) {
    CurlOptions options;
    options.base_url = "http://127.0.0.1:" + std::to_string(port_);
    options.max_parallel = max_parallel;
    client_ = MakeCurlClient(loop_, options);
  }
  // Starts a request with a `send_by` in a minute.
  std::future<absl::Status> Start(std::string method, std::string target, std::string body = "") {
    auto ended = std::make_shared<std::promise<absl::Status>>();
    RunOn(loop_, [&] {
      Request request;
      request.method = std::move(method);
      request.target = std::move(target);
      request.body = std::move(body);
      request.send_by = loop_.Now() + absl::Minutes(1);
      calls_.push_back(Fetch(*client_, std::move(request), [ended](const absl::StatusOr<Response>& response) {
        ended->set_value(response.status());
      }));
    });
    return ended->get_future();
  }
  static bool IsLate(const absl::Status& status) {
    return absl::IsUnavailable(status) && FailureOf(status) == Failure::kLate;
  }

  CountingHandler handler_;
  std::unique_ptr<Loop> server_loop_ = MakeThreadLoop("server");
  JumpingLoop loop_{"client"};
  std::unique_ptr<Server> server_;
  uint16_t port_ = 0;
  std::unique_ptr<Client> client_;
  std::vector<std::unique_ptr<Call>> calls_;
};

TEST_F(SendByTest, ARequestThatWaitedTooLongIsNotSent) {
  Serve();
  Connect(/*max_parallel=*/1);
  std::future<absl::Status> first = Start("POST", "/hold", "x");
  handler_.held.get_future().wait();
  std::future<absl::Status> with_body = Start("POST", "/", "x");
  std::future<absl::Status> without_body = Start("DELETE", "/");
  loop_.JumpAfter(0);
  RunOn(*server_loop_, [this] { handler_.Release(); });
  EXPECT_TRUE(first.get().ok()) << "it went out in time";
  const absl::Status late[] = {with_body.get(), without_body.get()};
  for (const absl::Status& status : late) EXPECT_TRUE(IsLate(status)) << status;
  EXPECT_EQ(handler_.requests, 1);
  EXPECT_TRUE(Start("POST", "/", "x").get().ok()) << "what comes then has a time of its own";
  EXPECT_EQ(handler_.requests, 2);
}

TEST_F(SendByTest, AtWhicheverMomentItBecomesLateItIsEitherAnsweredOrNotSeen) {
  Serve();
  Connect();
  int late = 0, answered = 0;
  for (int looks = 1; looks <= 12; ++looks) {
    loop_.JumpBack();
    ASSERT_TRUE(Start("POST", "/", "x").get().ok());
    const int before = handler_.requests;
    loop_.JumpAfter(looks);
    const absl::Status status = Start("POST", "/", std::string(100'000, 'x')).get();
    EXPECT_TRUE(status.ok() || IsLate(status)) << status;
    EXPECT_EQ(handler_.requests, before + (status.ok() ? 1 : 0)) << looks;
    ++(status.ok() ? answered : late);
  }
  EXPECT_GT(late, 0);
  EXPECT_GT(answered, 0);
}

TEST_F(SendByTest, WhereHalfOfTheBodyIsSentTheRestIsNot) {
  LoopbackListener listener;
  port_ = listener.port();
  Connect();
  const size_t body = 64 << 20;  // The buffers of the two kernels hold less.
  std::future<absl::Status> end = Start("POST", "/", std::string(body, 'x'));
  const int peer = listener.Accept();
  std::vector<char> buffer(1 << 20);
  size_t got = 0;
  const auto read_some = [&] {
    const ssize_t n = recv(peer, buffer.data(), buffer.size(), 0);
    if (n > 0) got += static_cast<size_t>(n);
    return n > 0;
  };
  ASSERT_TRUE(read_some());
  loop_.JumpAfter(0);
  while (read_some()) {
  }
  const absl::Status status = end.get();
  EXPECT_TRUE(IsLate(status)) << status;
  EXPECT_LT(got, body);
  close(peer);
}

}  // namespace
}  // namespace basalt::http
