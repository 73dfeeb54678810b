// Tests a client behind a small proxy of each kind, which forwards bytes and records where to.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "common/http/curl/curl_client.h"
#include "common/http/failure.h"
#include "common/http/fetch_and_wait.h"
#include "common/http/server/beast_server.h"
#include "common/http/testing/certificates.h"
#include "common/http/testing/loopback_listener.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::http {
namespace {

using ::basalt::testing::IsOk;

// Serves one connection on its own thread. It connects to `target` on loopback, whatever host the client names.
class OneProxy {
 public:
  enum class Kind { kConnect, kSocks5 };

  OneProxy(Kind kind, uint16_t target) : kind_(kind), target_(target) {
    thread_ = std::thread([this] { Serve(); });
  }
  ~OneProxy() {
    listener_.Stop();
    thread_.join();
  }
  uint16_t port() const { return listener_.port(); }
  // Waits for the client's request to the proxy, and returns the requested destination.
  std::string asked() { return asked_.get_future().get(); }

 private:
  static std::string Read(int fd, size_t bytes) {
    std::string out(bytes, '\0');
    if (recv(fd, out.data(), bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes)) out.clear();
    return out;
  }
  static void Send(int fd, std::string_view text) { send(fd, text.data(), text.size(), MSG_NOSIGNAL); }

  // Reads from the client until the destination is known, and returns it.
  std::string Ask(int fd) const {
    std::string asked;
    if (kind_ == Kind::kConnect) {
      while (!asked.ends_with("\r\n\r\n")) {
        const std::string c = Read(fd, 1);
        if (c.empty()) break;
        asked += c;
      }
      Send(fd, "HTTP/1.1 200 Connection established\r\n\r\n");
      return asked.substr(0, asked.find('\r'));
    }
    const std::string greeting = Read(fd, 2);
    if (greeting.empty()) return "";
    Read(fd, static_cast<unsigned char>(greeting[1]));
    Send(fd, std::string_view("\x05\x00", 2));
    const std::string head = Read(fd, 4);
    if (head.size() != 4 || head[3] != 3) return fmt::format("address type {}", head.size() == 4 ? head[3] : -1);
    asked = Read(fd, static_cast<unsigned char>(Read(fd, 1)[0]));
    Read(fd, 2);
    Send(fd, std::string_view("\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00", 10));
    return asked;
  }

  void Serve() {
    const int client = listener_.Accept();
    if (client < 0) return asked_.set_value("");
    const int server = socket(AF_INET, SOCK_STREAM, 0);
    const sockaddr_in address = testing::LoopbackAddress(target_);
    EXPECT_EQ(connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    asked_.set_value(Ask(client));
    pollfd ends[] = {{client, POLLIN, 0}, {server, POLLIN, 0}};
    for (bool open = true; open && poll(ends, 2, -1) > 0;) {
      for (int i = 0; i < 2 && open; ++i) {
        if (ends[i].revents == 0) continue;
        char block[4096];
        const ssize_t bytes = recv(ends[i].fd, block, sizeof block, 0);
        open = bytes > 0;
        if (open) Send(ends[1 - i].fd, {block, static_cast<size_t>(bytes)});
      }
    }
    close(server);
    close(client);
  }

  const Kind kind_;
  const uint16_t target_;
  testing::LoopbackListener listener_;
  std::promise<std::string> asked_;
  std::thread thread_;
};

class HelloHandler : public Handler {
 public:
  void Handle(const Request&, std::shared_ptr<ResponseWriter> writer) override { writer->Whole(200, {}, "hello"); }
};

class HttpProxyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(dir_ / "cert") << certificate_.cert_pem;
    std::ofstream(dir_ / "key") << certificate_.key_pem;
    ServerOptions options;
    options.tls_cert_file = dir_ / "cert";
    options.tls_key_file = dir_ / "key";
    auto started = StartServer(*server_loop_, handler_, options);
    ASSERT_THAT(started, IsOk());
    server_ = *std::move(started);
  }

  absl::StatusOr<Response> Get(CurlOptions options) {
    options.ca_pem = certificate_.cert_pem;
    const auto client = MakeCurlClient(*loop_, std::move(options));
    Request request;
    request.target = "/";
    return FetchAndWait(*loop_, *client, std::move(request));
  }

  basalt::testing::TempDir dir_;
  const testing::Certificate certificate_ =
      testing::MakeCertificate({.alternative_names = "DNS:kube.example", .authority = true});
  HelloHandler handler_;
  std::unique_ptr<Loop> server_loop_ = MakeThreadLoop("server");
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("client");
  std::unique_ptr<Server> server_;
};

TEST_F(HttpProxyTest, TheServersNameIsTheProxysToResolveAndItsCertificateOursToVerify) {
  CurlOptions options;
  options.base_url = "https://kube.example:6443";
  {
    OneProxy proxy(OneProxy::Kind::kConnect, server_->port());
    options.proxy_url = fmt::format("http://127.0.0.1:{}", proxy.port());
    const auto response = Get(options);
    EXPECT_EQ(proxy.asked(), "CONNECT kube.example:6443 HTTP/1.1");
    ASSERT_THAT(response, IsOk());
    EXPECT_EQ(response->body, "hello");
    EXPECT_EQ(response->status, 200);
  }
  OneProxy proxy(OneProxy::Kind::kSocks5, server_->port());
  options.proxy_url = fmt::format("socks5://127.0.0.1:{}", proxy.port());
  const auto response = Get(options);
  EXPECT_EQ(proxy.asked(), "kube.example");
  ASSERT_THAT(response, IsOk());
  EXPECT_EQ(response->body, "hello");
}

TEST_F(HttpProxyTest, AProxyThatIsNotThereIsAFailureToConnect) {
  CurlOptions options;
  options.base_url = "https://kube.example:6443";
  options.proxy_url = "http://127.0.0.1:1";
  const absl::Status status = Get(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(FailureOf(status), Failure::kConnect) << status;
}

}  // namespace
}  // namespace basalt::http
