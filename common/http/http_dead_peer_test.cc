// Tests connections whose peer vanishes silently: a filter in the server's kernel throws away all packets of the
// connection, so that nothing is answered or even acknowledged, as behind a cut cable.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/failure.h"
#include "common/http/testing/loopback_listener.h"

namespace basalt::http {
namespace {

// A server whose connections the test reads and writes by hand, in HTTP/1.1. Blocks the test's thread.
class VanishingServer {
 public:
  ~VanishingServer() {
    for (const int fd : open_) close(fd);
  }

  uint16_t port() const { return listener_.port(); }
  // Accepts the next connection and reads one request's head from it.
  int Accept() {
    const int fd = listener_.Accept();
    open_.push_back(fd);
    ReadRequest(fd);
    return fd;
  }
  static void ReadRequest(int fd) {
    std::string head;
    char c;
    while (!head.ends_with("\r\n\r\n") && recv(fd, &c, 1, 0) == 1) head.push_back(c);
  }
  static void Send(int fd, std::string_view text) { EXPECT_GT(send(fd, text.data(), text.size(), MSG_NOSIGNAL), 0); }
  static void Vanish(int fd) {
    sock_filter drop{BPF_RET | BPF_K, 0, 0, 0};
    const sock_fprog program{1, &drop};
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
  }
  static void Return(int fd) {
    const int ignored = 0;
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &ignored, sizeof ignored), 0);
  }
  // Returns the bytes that come within that time.
  static std::string Receive(int fd, absl::Duration limit) {
    const timeval time = absl::ToTimeval(limit);
    EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time), 0);
    std::string text(1000, ' ');
    text.resize(static_cast<size_t>(std::max<ssize_t>(0, recv(fd, text.data(), text.size(), 0))));
    return text;
  }

 private:
  testing::LoopbackListener listener_;
  std::vector<int> open_;
};

struct Ending : ResponseObserver {
  void OnHead(const ResponseHead&) override {}
  void OnChunk(std::string_view data) override {
    if (!std::exchange(begun, true)) first.set_value(std::string(data));
  }
  void OnEnd(const absl::Status& status) override { end.set_value(status); }
  bool begun = false;
  std::promise<std::string> first;
  std::promise<absl::Status> end;
};

class DeadPeerTest : public ::testing::Test {
 protected:
  ~DeadPeerTest() override {
    RunOn(*loop_, [this] { calls_.clear(); });
  }
  void Connect(absl::Duration probe_after, absl::Duration dead_after) {
    CurlOptions options;
    options.base_url = "http://127.0.0.1:" + std::to_string(server_.port());
    options.probe_after = probe_after;
    options.dead_after = dead_after;
    client_ = MakeCurlClient(*loop_, options);
  }
  void Start(Ending& ending, absl::Duration timeout, absl::Duration idle = absl::InfiniteDuration()) {
    RunOn(*loop_, [&] {
      Request request;
      request.target = "/";
      request.timeout = timeout;
      request.idle_timeout = idle;
      request.bulk = true;
      calls_.push_back(client_->Start(std::move(request), ending));
    });
  }

  VanishingServer server_;
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("client");
  std::unique_ptr<Client> client_;
  std::vector<std::unique_ptr<Call>> calls_;
};

TEST_F(DeadPeerTest, AWatchEndsOnceItsPeerAnswersNoProbe) {
  Connect(absl::Seconds(1), absl::Seconds(3));
  Ending watch;
  Start(watch, absl::InfiniteDuration());
  const int fd = server_.Accept();
  VanishingServer::Send(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
  EXPECT_EQ(watch.first.get_future().get(), "first");
  VanishingServer::Vanish(fd);
  const absl::Time before = loop_->Now();
  const absl::Status status = watch.end.get_future().get();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnknown) << status;
  EXPECT_EQ(FailureOf(status), Failure::kVanished) << status;
  EXPECT_LT(loop_->Now() - before, absl::Seconds(20));
}

TEST_F(DeadPeerTest, AWatchThatIsOnlyQuietGoesOn) {
  Connect(absl::Seconds(1), absl::Seconds(2));
  Ending watch;
  Start(watch, absl::InfiniteDuration());
  const int fd = server_.Accept();
  VanishingServer::Send(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
  watch.first.get_future().wait();
  std::promise<void> later;
  loop_->RunAfter(absl::Seconds(5), [&] { later.set_value(); });
  later.get_future().wait();
  VanishingServer::Send(fd, "0\r\n\r\n");
  EXPECT_TRUE(watch.end.get_future().get().ok());
}

TEST_F(DeadPeerTest, ARequestThatIsGivenUpNeverArrives) {
  Connect(absl::Seconds(1), absl::Seconds(3));
  Ending first, lost, other;
  Start(first, absl::InfiniteDuration());
  const int fd = server_.Accept();
  VanishingServer::Send(fd, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst");
  EXPECT_TRUE(first.end.get_future().get().ok());
  VanishingServer::Vanish(fd);
  Start(lost, absl::Seconds(2));
  EXPECT_EQ(lost.end.get_future().get().code(), absl::StatusCode::kDeadlineExceeded);
  // When the other request comes on a new connection, the old one is closed.
  Start(other, absl::InfiniteDuration());
  VanishingServer::Send(server_.Accept(), "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
  EXPECT_TRUE(other.end.get_future().get().ok());
  VanishingServer::Return(fd);
  EXPECT_EQ(VanishingServer::Receive(fd, absl::Seconds(5)), "") << "the kernel has sent it again";
}

}  // namespace
}  // namespace basalt::http
