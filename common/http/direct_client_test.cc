#include "common/http/direct_client.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <vector>

#include "common/exec/sim_loop.h"
#include "common/http/failure.h"

namespace basalt::http {
namespace {

// Answers /echo at once, and keeps the writers of all other requests.
class TestHandler : public Handler {
 public:
  void Handle(const Request& request, std::shared_ptr<ResponseWriter> writer) override {
    targets.push_back(request.target);
    if (request.target == "/echo") {
      writer->Whole(200, {{"Content-Type", "text/plain"}}, request.body);
      return;
    }
    writer->OnClose([this] { ++closes; });
    writers.push_back(std::move(writer));
  }
  std::vector<std::string> targets;
  std::vector<std::shared_ptr<ResponseWriter>> writers;
  int closes = 0;
};

struct Record : ResponseObserver {
  void OnHead(const ResponseHead& head) override { status_code = head.status; }
  void OnChunk(std::string_view data) override { body.append(data); }
  void OnEnd(const absl::Status& status) override { end = status; }
  int status_code = 0;
  std::string body;
  std::optional<absl::Status> end;
};

Request Get(std::string target, std::string body = "") {
  Request request;
  request.target = std::move(target);
  request.body = std::move(body);
  return request;
}

class DirectClientTest : public ::testing::Test {
 protected:
  SimTime time_;
  SimLoop server_{time_, "server"};
  SimLoop client_loop_{time_, "client"};
  TestHandler handler_;
  std::shared_ptr<DirectLink> link_ = std::make_shared<DirectLink>();
  std::unique_ptr<DirectClient> client_ = std::make_unique<DirectClient>(client_loop_, server_, handler_, link_);
};

TEST_F(DirectClientTest, CarriesARequestAndItsAnswerButNeverBeforeStartReturns) {
  Record seen;
  auto call = client_->Start(Get("/echo", "hello"), seen);
  EXPECT_EQ(seen.status_code, 0);
  time_.RunDueTasks();
  EXPECT_EQ(seen.status_code, 200);
  EXPECT_EQ(seen.body, "hello");
  EXPECT_EQ(seen.end, absl::OkStatus());
}

TEST_F(DirectClientTest, ChunksKeepTheirOrderWhateverTheDelays) {
  std::vector<int> delays = {0, 0, 50, 10, 0, 30, 1};
  size_t next = 0;
  link_->delay = [&] { return absl::Milliseconds(delays[next++ % delays.size()]); };
  Record seen;
  auto call = client_->Start(Get("/watch"), seen);
  time_.RunDueTasks();
  ASSERT_EQ(handler_.writers.size(), 1U);
  handler_.writers[0]->Head(200, {});
  for (char c = 'a'; c <= 'j'; ++c) handler_.writers[0]->Chunk(std::string(1, c));
  EXPECT_EQ(handler_.writers[0]->buffered(), 10U);
  handler_.writers[0]->End();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(seen.body, "abcdefghij");
  EXPECT_EQ(seen.end, absl::OkStatus());
  EXPECT_EQ(handler_.writers[0]->buffered(), 0U);
}

TEST_F(DirectClientTest, DestroyingTheCallClosesTheServersWriter) {
  Record seen;
  auto call = client_->Start(Get("/watch"), seen);
  time_.RunDueTasks();
  handler_.writers[0]->Head(200, {});
  call.reset();
  time_.RunDueTasks();
  EXPECT_TRUE(handler_.writers[0]->closed());
  EXPECT_EQ(handler_.closes, 1);
  handler_.writers[0]->Chunk("lost");
  time_.RunDueTasks();
  EXPECT_FALSE(seen.end.has_value());
}

TEST_F(DirectClientTest, KillingTheClientIsSafeAndSeenByTheServer) {
  auto seen = std::make_unique<Record>();
  auto call = client_->Start(Get("/watch"), *seen);
  time_.RunDueTasks();
  handler_.writers[0]->Head(200, {});
  handler_.writers[0]->Chunk("on its way");
  client_loop_.Kill();
  call.reset();
  client_.reset();
  seen.reset();
  time_.Advance(absl::Minutes(2));
  EXPECT_TRUE(handler_.writers[0]->closed());
  EXPECT_EQ(handler_.closes, 1);
}

TEST_F(DirectClientTest, KillingTheServerBreaksItsConnections) {
  Record open, coming;
  auto call = client_->Start(Get("/watch"), open);
  time_.RunDueTasks();
  auto late = client_->Start(Get("/echo"), coming);
  server_.Kill();
  handler_.writers.clear();
  time_.RunDueTasks();
  EXPECT_EQ(open.end->code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(coming.end->code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(handler_.targets.size(), 1U);
}

TEST_F(DirectClientTest, ACutLinkRefusesNewRequestsAndEndsOpenOnes) {
  Record open, refused, again;
  auto call = client_->Start(Get("/watch"), open);
  time_.RunDueTasks();
  client_->SetCut(true);
  auto second = client_->Start(Get("/echo"), refused);
  EXPECT_FALSE(refused.end.has_value());
  time_.RunDueTasks();
  EXPECT_EQ(open.end->code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(refused.end->code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(handler_.writers[0]->closed());
  client_->SetCut(false);
  auto third = client_->Start(Get("/echo"), again);
  time_.RunDueTasks();
  EXPECT_EQ(again.end, absl::OkStatus());
}

TEST_F(DirectClientTest, ALateRequestIsNotSent) {
  Record late, in_time;
  Request request = Get("/echo");
  request.send_by = client_loop_.Now();
  auto first = client_->Start(request, late);
  EXPECT_FALSE(late.end.has_value()) << "not before the call returns";
  time_.RunDueTasks();
  EXPECT_EQ(late.end->code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(FailureOf(*late.end), Failure::kLate);
  EXPECT_TRUE(handler_.targets.empty());
  request.send_by = client_loop_.Now() + absl::Milliseconds(1);
  auto second = client_->Start(request, in_time);
  time_.RunDueTasks();
  EXPECT_EQ(in_time.end, absl::OkStatus());
}

TEST_F(DirectClientTest, ALostRequestHasNoEffectALostResponseHas) {
  Record first, second;
  bool lose = true;
  link_->drop_request = [&] { return lose; };
  auto call = client_->Start(Get("/echo"), first);
  time_.RunDueTasks();
  EXPECT_EQ(first.end->code(), absl::StatusCode::kUnknown);
  EXPECT_TRUE(handler_.targets.empty());
  lose = false;
  link_->drop_response = [] { return true; };
  auto other = client_->Start(Get("/echo"), second);
  time_.RunDueTasks();
  EXPECT_EQ(second.end->code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(second.status_code, 0);
  EXPECT_EQ(handler_.targets.size(), 1U);
}

TEST_F(DirectClientTest, ARequestOfADeadClientTakesEffectOnlyWhereTheLinkSaysSo) {
  link_->delay = [] { return absl::Milliseconds(5); };
  Record seen;
  client_->Start(Get("/echo"), seen).reset();
  time_.Advance(absl::Seconds(1));
  EXPECT_TRUE(handler_.targets.empty());
  link_->deliver_after_cancel = true;
  client_->Start(Get("/echo"), seen).reset();
  time_.Advance(absl::Seconds(1));
  EXPECT_EQ(handler_.targets.size(), 1U);
  EXPECT_FALSE(seen.end.has_value());
}

TEST_F(DirectClientTest, TheWholeTimeoutAndTheIdleTimeoutEndACall) {
  Record whole, idle;
  Request request = Get("/slow");
  request.timeout = absl::Seconds(3);
  auto first = client_->Start(request, whole);
  request.timeout = absl::InfiniteDuration();
  request.idle_timeout = absl::Seconds(2);
  auto second = client_->Start(request, idle);
  time_.RunDueTasks();
  handler_.writers[1]->Head(200, {});
  time_.Advance(absl::Milliseconds(1500));
  handler_.writers[1]->Chunk("alive");
  time_.Advance(absl::Milliseconds(1400));
  EXPECT_FALSE(whole.end.has_value());
  EXPECT_FALSE(idle.end.has_value());
  time_.Advance(absl::Milliseconds(700));
  EXPECT_EQ(whole.end->code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(idle.end->code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(handler_.writers[0]->closed());
  EXPECT_TRUE(handler_.writers[1]->closed());
}

TEST_F(DirectClientTest, FetchCollectsABodyAndRefusesOneThatIsTooLarge) {
  absl::StatusOr<Response> small, large;
  std::unique_ptr<Call> call;
  call = Fetch(*client_, Get("/echo", "12345"), [&](absl::StatusOr<Response> r) {
    small = std::move(r);
    call.reset();
  });
  auto other = Fetch(
      *client_, Get("/echo", "12345"), [&](absl::StatusOr<Response> r) { large = std::move(r); }, 4);
  time_.RunDueTasks();
  ASSERT_TRUE(small.ok());
  EXPECT_EQ(small->body, "12345");
  EXPECT_EQ(large.status().code(), absl::StatusCode::kResourceExhausted);
}

TEST(DirectClientThreadsTest, WorksBetweenLoopsWithThreadsOfTheirOwn) {
  auto server = MakeThreadLoop("server");
  auto loop = MakeThreadLoop("client");
  TestHandler handler;
  DirectClient client(*loop, *server, handler);
  std::promise<void> all;
  std::vector<std::unique_ptr<Call>> calls(200);
  int left = 200;
  loop->Post([&] {
    for (int i = 0; i < 200; ++i) {
      calls[i] = Fetch(client, Get("/echo", std::to_string(i)), [&, i](absl::StatusOr<Response> response) {
        EXPECT_EQ(response->body, std::to_string(i));
        if (--left == 0) all.set_value();
      });
    }
  });
  all.get_future().wait();
  std::promise<void> cleared;
  loop->Post([&] {
    calls.clear();
    cleared.set_value();
  });
  cleared.get_future().wait();
  server.reset();
}

}  // namespace
}  // namespace basalt::http
