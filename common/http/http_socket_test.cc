#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/server/beast_server.h"
#include "common/http/target.h"
#include "common/http/testing/loopback_listener.h"

namespace basalt::http {
namespace {

// All state but the atomic members belongs to the server's loop.
class TestHandler : public Handler {
 public:
  void Handle(const Request& request, std::shared_ptr<ResponseWriter> writer) override {
    ++requests;
    const Target target = ParseTarget(request.target);
    const std::string& what = target.segments.at(0);
    if (what == "echo") {
      Headers headers = {{"X-Method", request.method},
                         {"X-Query", std::string(target.Query("q"))},
                         {"X-Seen", std::string(FindHeader(request.headers, "x-test"))},
                         {"X-Agent", std::string(FindHeader(request.headers, "user-agent"))},
                         {"X-Auth", std::string(FindHeader(request.headers, "authorization"))}};
      writer->Whole(200, headers, request.body);
    } else if (what == "break") {
      writer->Head(200, {});
      writer->Chunk("half");
    } else if (what == "flood") {
      writer->Head(200, {});
      const std::string block(1 << 20, 'x');
      for (int i = 0; i < 32; ++i) writer->Chunk(block);
      most_buffered = std::max<size_t>(most_buffered, writer->buffered());
      writer->End();
    } else {
      ++opened;
      if (what == "watch") {
        writer->Head(200, {{"Content-Type", "application/json"}});
        writer->Chunk("first\n");
      }
      writer->OnClose([this] { ++closes; });
      open.push_back(std::move(writer));
    }
  }
  std::vector<std::shared_ptr<ResponseWriter>> open;
  std::atomic<int> requests{0};
  std::atomic<int> opened{0};
  std::atomic<int> closes{0};
  std::atomic<size_t> most_buffered{0};
};

struct Record : ResponseObserver {
  void OnHead(const ResponseHead& got) override { head = got; }
  void OnChunk(std::string_view data) override {
    body.append(data);
    if (on_chunk) on_chunk();
  }
  void OnEnd(const absl::Status& status) override { end.set_value(status); }
  ResponseHead head;
  std::string body;
  std::function<void()> on_chunk;
  std::promise<absl::Status> end;
};

class SocketTest : public ::testing::Test {
 protected:
  void SetUp() override { Serve({}); }

  void TearDown() override {
    RunOn(*loop_, [this] { calls_.clear(); });
    client_.reset();
    server_.reset();
    RunOn(*server_loop_, [this] { handler_.open.clear(); });
  }

  void Serve(ServerOptions options) {
    server_.reset();
    auto started = StartServer(*server_loop_, handler_, options);
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
    Connect({});
  }

  void Connect(CurlOptions options) {
    RunOn(*loop_, [this] { calls_.clear(); });
    client_.reset();
    options.base_url = "http://127.0.0.1:" + std::to_string(server_->port());
    client_ = MakeCurlClient(*loop_, std::move(options));
  }
  void Tick() {
    std::promise<void> tick;
    loop_->RunAfter(absl::Milliseconds(1), [&] { tick.set_value(); });
    tick.get_future().wait();
  }
  // Waits for a condition that another thread changes, by polling on the loop without a clock.
  void Until(const std::function<bool()>& condition) {
    while (true) {
      bool holds = false;
      RunOn(*loop_, [&] { holds = condition(); });
      if (holds) return;
      Tick();
    }
  }

  void Start(Request request, Record& record) {
    RunOn(*loop_, [&] { calls_.push_back(client_->Start(std::move(request), record)); });
  }

  static Request Make(std::string target, std::string method = "GET", std::string body = "") {
    Request request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    return request;
  }

  static Request Watch(std::string target) {
    Request request = Make(std::move(target));
    request.timeout = absl::InfiniteDuration();
    return request;
  }

  absl::StatusOr<Response> Do(Request request) {
    Record record;
    Start(std::move(request), record);
    const absl::Status end = record.end.get_future().get();
    if (!end.ok()) return end;
    return Response{record.head.status, record.head.headers, record.body};
  }

  std::unique_ptr<Loop> server_loop_ = MakeThreadLoop("server");
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("client");
  TestHandler handler_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<Client> client_;
  std::vector<std::unique_ptr<Call>> calls_;
};

TEST_F(SocketTest, TakingInSeldomLosesNothing) {
  Connect({.wakeups = {.per_second = 200, .burst = 1}});
  std::vector<Record> records(30);
  for (size_t i = 0; i < records.size(); ++i) Start(Make("/echo", "POST", std::to_string(i)), records[i]);
  for (size_t i = 0; i < records.size(); ++i) {
    EXPECT_TRUE(records[i].end.get_future().get().ok());
    EXPECT_EQ(records[i].body, std::to_string(i));
  }
}

TEST_F(SocketTest, AClientThatRestsEndsAtOnce) {
  Connect({.wakeups = {.per_second = 1e-6, .burst = 1}});
  std::vector<Record> records(3);  // The client may not wake up for all three.
  for (Record& record : records) Start(Make("/hold"), record);
  RunOn(*loop_, [this] { calls_.clear(); });
  client_.reset();
}

TEST_F(SocketTest, ARequestDoesNotWaitForTheClientsRest) {
  Connect({.wakeups = {.per_second = 1e-6, .burst = 1}});
  // Opening a connection takes a wake-up or two, which the next requests bring.
  std::vector<std::unique_ptr<Record>> records;
  for (int i = 0; i < 500 && handler_.requests == 0; ++i) {
    records.push_back(std::make_unique<Record>());
    Start(Make("/hold"), *records.back());
    Tick();
  }
  EXPECT_GT(handler_.requests, 0);
  RunOn(*loop_, [this] { calls_.clear(); });
}

TEST_F(SocketTest, EveryMethodCarriesQueryHeadersAndBody) {
  CurlOptions options;
  options.bearer_token = "secret";
  Connect(options);
  const std::string large(300'000, 'b');
  for (const auto& [method, body] : std::vector<std::pair<std::string, std::string>>{{"GET", ""},
                                                                                     {"POST", "{}"},
                                                                                     {"PUT", large},
                                                                                     {"PATCH", "p"},
                                                                                     {"DELETE", ""},
                                                                                     {"DELETE", "d"},
                                                                                     {"POST", ""}}) {
    Request request = Make("/echo?q=a%20b", method, body);
    request.headers = {{"X-Test", "seen"}};
    const auto response = Do(std::move(request));
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(FindHeader(response->headers, "X-Method"), method);
    EXPECT_EQ(FindHeader(response->headers, "X-Query"), "a b");
    EXPECT_EQ(FindHeader(response->headers, "X-Seen"), "seen");
    EXPECT_EQ(FindHeader(response->headers, "X-Auth"), "Bearer secret");
    EXPECT_EQ(FindHeader(response->headers, "Content-Length"), std::to_string(body.size()));
    EXPECT_EQ(response->body, body);
  }
  const auto head = Do(Make("/echo", "HEAD"));
  ASSERT_TRUE(head.ok()) << head.status();
  EXPECT_EQ(head->body, "");
}

TEST_F(SocketTest, ARequestsOwnUserAgentWinsOverTheClients) {
  CurlOptions options;
  options.user_agent = "basalt-gateway/1.2";
  Connect(options);
  Request request = Make("/echo");
  EXPECT_EQ(FindHeader(Do(request)->headers, "X-Agent"), "basalt-gateway/1.2");
  request.headers = {{"User-Agent", "basalt-gateway/1.2 (jobsvc-0/x slot 7 epoch 3)"}};
  EXPECT_EQ(FindHeader(Do(request)->headers, "X-Agent"), "basalt-gateway/1.2 (jobsvc-0/x slot 7 epoch 3)");
}

TEST_F(SocketTest, OneAfterTheOtherTheRequestsShareOneConnection) {
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(Do(Make("/echo", "POST", "x")).ok());
  EXPECT_EQ(server_->connections(), 1U);
}

TEST_F(SocketTest, AWatchDeliversChunksAsTheyComeAndEndsWell) {
  Record record;
  std::promise<void> first, second;
  int chunks = 0;
  record.on_chunk = [&] { ++chunks == 1 ? first.set_value() : second.set_value(); };
  Start(Watch("/watch"), record);
  first.get_future().wait();
  server_loop_->Post([&] { handler_.open[0]->Chunk("second\n"); });
  second.get_future().wait();
  server_loop_->Post([&] { handler_.open[0]->End(); });
  EXPECT_TRUE(record.end.get_future().get().ok());
  EXPECT_EQ(record.body, "first\nsecond\n");
  EXPECT_EQ(FindHeader(record.head.headers, "transfer-encoding"), "chunked");
  EXPECT_EQ(handler_.closes, 0);
}

TEST_F(SocketTest, CancellingAWatchIsNoticedByTheServerThoughNothingIsWritten) {
  Record record;
  std::promise<void> first;
  record.on_chunk = [&] { first.set_value(); };
  Start(Watch("/watch"), record);
  first.get_future().wait();
  RunOn(*loop_, [this] { calls_.clear(); });
  Until([this] { return handler_.closes == 1; });
  RunOn(*server_loop_, [this] { EXPECT_TRUE(handler_.open[0]->closed()); });
}

TEST_F(SocketTest, ACallMayBeDestroyedInsideItsOwnCallbacks) {
  Record record;
  std::promise<void> gone;
  record.on_chunk = [&] {
    calls_.clear();
    gone.set_value();
  };
  Start(Watch("/watch"), record);
  gone.get_future().wait();
  Until([this] { return handler_.closes == 1; });
}

TEST_F(SocketTest, AWriterDroppedBeforeTheEndBreaksTheConnection) {
  Record record;
  Start(Make("/break"), record);
  EXPECT_EQ(record.end.get_future().get().code(), absl::StatusCode::kUnknown);
  EXPECT_EQ(record.body, "half");
}

TEST_F(SocketTest, StoppingTheServerEndsOpenWatchesOnBothSides) {
  std::vector<Record> records(20);
  for (Record& record : records) Start(Watch("/watch"), record);
  Until([this] { return handler_.opened == 20; });
  server_.reset();
  for (Record& record : records) EXPECT_EQ(record.end.get_future().get().code(), absl::StatusCode::kUnknown);
  Until([this] { return handler_.closes == 20; });
  const auto refused = Do(Make("/echo"));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(SocketTest, AWriteWithABodyOnAKeptConnectionThatDiesIsNotSentTwice) {
  for (const std::string method : {"POST", "DELETE"}) {
    const int requests = handler_.requests;
    const int opened = handler_.opened;
    ASSERT_TRUE(Do(Make("/echo", method, "warm")).ok());
    Record record;
    Start(Make("/park", method, "effect"), record);
    Until([&] { return handler_.opened == opened + 1; });
    RunOn(*server_loop_, [this] { handler_.open.clear(); });
    EXPECT_EQ(record.end.get_future().get().code(), absl::StatusCode::kUnknown) << method;
    EXPECT_EQ(handler_.requests, requests + 2) << method;
  }
}

TEST_F(SocketTest, TheWholeAndTheIdleTimeoutEndACall) {
  Record whole, idle;
  Request request = Make("/park");
  request.timeout = absl::Milliseconds(30);
  Start(request, whole);
  EXPECT_EQ(whole.end.get_future().get().code(), absl::StatusCode::kDeadlineExceeded);
  request = Watch("/watch");
  request.idle_timeout = absl::Milliseconds(30);
  Start(request, idle);
  EXPECT_EQ(idle.end.get_future().get().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(idle.body, "first\n");
  Until([this] { return handler_.closes == 2; });
}

TEST_F(SocketTest, AThousandParallelRequestsAllGetTheirOwnAnswer) {
  std::promise<void> all;
  int left = 1000;
  RunOn(*loop_, [&] {
    for (int i = 0; i < 1000; ++i) {
      calls_.push_back(Fetch(*client_, Make("/echo", "POST", std::to_string(i)), [&, i](absl::StatusOr<Response> r) {
        ASSERT_TRUE(r.ok()) << r.status();
        EXPECT_EQ(r->body, std::to_string(i));
        if (--left == 0) all.set_value();
      }));
    }
  });
  all.get_future().wait();
  EXPECT_LE(server_->connections(), 256U);
}

TEST_F(SocketTest, WatchesDoNotCountInTheLimitOfParallelRequests) {
  CurlOptions options;
  options.max_parallel = 1;
  Connect(options);
  std::vector<Record> watches(50);
  for (Record& record : watches) Start(Watch("/watch"), record);
  Until([this] { return handler_.opened == 50; });
  Record parked;
  Start(Make("/park"), parked);
  Until([this] { return handler_.opened == 51; });
  Record waits;
  Start(Make("/echo"), waits);
  server_loop_->Post([this] { handler_.open.back()->Whole(200, {}, "done"); });
  EXPECT_TRUE(parked.end.get_future().get().ok());
  EXPECT_TRUE(waits.end.get_future().get().ok());
}

TEST_F(SocketTest, ASlowLoopPausesTheTransferAndLosesNothing) {
  CurlOptions options;
  options.high_water = 64 << 10;
  Connect(options);
  Record record;
  size_t largest = 0, before = 0;
  record.on_chunk = [&] {
    largest = std::max(largest, record.body.size() - before);
    before = record.body.size();
  };
  Start(Make("/flood"), record);
  EXPECT_TRUE(record.end.get_future().get().ok());
  EXPECT_EQ(record.body.size(), size_t{32} << 20);
  EXPECT_LE(largest, (64U << 10) + (1U << 20));
  EXPECT_EQ(handler_.most_buffered, size_t{32} << 20);
}

TEST_F(SocketTest, ABodyOverTheLimitIsAnsweredWith413) {
  ServerOptions options;
  options.max_body = 1000;
  Serve(options);
  const auto fits = Do(Make("/echo", "POST", std::string(1000, 'a')));
  ASSERT_TRUE(fits.ok()) << fits.status();
  const auto refused = Do(Make("/echo", "POST", std::string(5'000'000, 'a')));
  ASSERT_TRUE(refused.ok()) << refused.status();
  EXPECT_EQ(refused->status, 413);
  EXPECT_EQ(handler_.requests, 1);
}

TEST_F(SocketTest, ATakenPortAndABadAddressAreRefusedWithAReason) {
  ServerOptions options;
  options.port = server_->port();
  EXPECT_EQ(StartServer(*server_loop_, handler_, options).status().code(), absl::StatusCode::kUnavailable);
  options.address = "not an address";
  EXPECT_EQ(StartServer(*server_loop_, handler_, options).status().code(), absl::StatusCode::kInvalidArgument);
}

// Sends raw bytes that curl would never send.
class RawPeer {
 public:
  explicit RawPeer(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in address = testing::LoopbackAddress(port);
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~RawPeer() { close(fd_); }
  void Send(std::string_view text) { EXPECT_EQ(send(fd_, text.data(), text.size(), 0), ssize_t(text.size())); }
  std::string ReadAll() {
    std::string all;
    char block[4096];
    for (ssize_t n; (n = recv(fd_, block, sizeof block, 0)) > 0;) all.append(block, n);
    return all;
  }

 private:
  const int fd_;
};

TEST_F(SocketTest, PipelinedRequestsAreAnsweredInOrder) {
  RawPeer peer(server_->port());
  peer.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\noneGET /echo?q=two HTTP/1.1\r\nHost: x\r\n\r\n"
      "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: "
      "chunked\r\n\r\n5\r\nthree\r\n0\r\n\r\n");
  const std::string all = peer.ReadAll();
  const size_t one = all.find("one"), two = all.find("X-Query: two"), three = all.find("three");
  ASSERT_NE(three, std::string::npos) << all;
  EXPECT_LT(one, two);
  EXPECT_LT(two, three);
}

TEST_F(SocketTest, NonsenseIsA400AndAnOldClientGetsAClosedConnection) {
  RawPeer nonsense(server_->port());
  nonsense.Send("what is this\r\n\r\n");
  EXPECT_TRUE(nonsense.ReadAll().starts_with("HTTP/1.1 400 Bad Request"));
  RawPeer old(server_->port());
  old.Send("GET /break HTTP/1.0\r\n\r\n");
  const std::string all = old.ReadAll();
  EXPECT_NE(all.find("Connection: close"), std::string::npos);
  EXPECT_EQ(all.find("chunked"), std::string::npos);
  EXPECT_TRUE(all.ends_with("\r\n\r\nhalf"));
}

}  // namespace
}  // namespace basalt::http
