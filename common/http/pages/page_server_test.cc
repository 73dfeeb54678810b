#include "common/http/pages/page_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/exec/run_on.h"
#include "common/http/curl/curl_client.h"
#include "common/http/fetch_and_wait.h"
#include "common/http/testing/certificates.h"
#include "common/http/testing/raw_connection.h"

namespace basalt::http {
namespace {

using ::testing::HasSubstr;
using testing::RawConnection;

// Raises the limit of open files. Returns whether so many files may be open at once.
bool MayOpen(rlim_t files) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  if (limit.rlim_cur >= files) return true;
  if (limit.rlim_max < files) return false;
  limit.rlim_cur = files;
  return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

class PageServerTest : public ::testing::Test {
 protected:
  void Serve(PageServerBounds bounds = {}, std::optional<PageCertificate> certificate = std::nullopt) {
    auto started = StartPageServer(
        *loop_,
        [this](const PageRequest& request) {
          EXPECT_TRUE(loop_->IsCurrent());
          return Response{.status = 200, .headers = {{"Content-Type", "text/plain"}}, .body = "page " + request.path};
        },
        {.bounds = bounds, .certificate = std::move(certificate)});
    ASSERT_TRUE(started.ok()) << started.status();
    server_ = *std::move(started);
  }
  Response Get(const std::string& target, const std::string& method = "GET", const std::string& body = "") {
    auto client = MakeCurlClient(*client_loop_, {.base_url = "http://127.0.0.1:" + std::to_string(server_->port())});
    absl::StatusOr<Response> got = FetchAndWait(
        *client_loop_, *client, {.method = method, .target = target, .body = body, .timeout = absl::Seconds(5)});
    RunOn(*client_loop_, [&] { client.reset(); });
    return got.ok() ? *std::move(got) : Response{.body = got.status().ToString()};
  }

  std::unique_ptr<Loop> loop_ = MakeThreadLoop("pages");
  std::unique_ptr<Loop> client_loop_ = MakeThreadLoop("client");
  std::unique_ptr<PageServer> server_;
};

TEST_F(PageServerTest, MakesThePageOfAPathOnItsLoop) {
  Serve();
  const Response page = Get("/a/b?x=1");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(page.body, "page /a/b");
  EXPECT_EQ(FindHeader(page.headers, "Content-Type"), "text/plain");
  const Response refused = Get("/a", "POST", std::string(100'000, 'x'));
  EXPECT_EQ(refused.status, 405) << refused.body;
  EXPECT_EQ(FindHeader(refused.headers, "Allow"), "GET");
}

TEST_F(PageServerTest, ManyRequestsGoByOneConnection) {
  Serve();
  RawConnection connection(server_->port());
  for (int i = 0; i < 3; ++i) connection.Send("GET /p HTTP/1.1\r\nHost: h\r\n\r\n");
  connection.Send("HEAD /p HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  const std::string all = connection.ReadToEnd();
  size_t pages = 0;
  for (size_t at = all.find("page /p"); at != all.npos; at = all.find("page /p", at + 1)) ++pages;
  EXPECT_EQ(pages, 3U) << all;
}

class TlsPageServerTest : public PageServerTest {
 protected:
  struct Party {
    explicit Party(const std::string& name)
        : authority(testing::MakeCertificate({.common_name = name + " authority", .authority = true})),
          own(testing::MakeCertificate({.common_name = name}, authority)) {}
    PageCertificate certificate() const { return {own.cert_pem, own.key_pem}; }

    const testing::Certificate authority, own;
  };

  std::unique_ptr<Client> Connect(const std::string& authorities) {
    const std::string url = "https://127.0.0.1:" + std::to_string(server_->port());
    return MakeCurlClient(*client_loop_, {.base_url = url, .ca_pem = authorities});
  }
  std::string Get(std::unique_ptr<Client> client, int times = 1) {
    std::string all;
    for (int i = 0; i < times; ++i) {
      const auto got = FetchAndWait(*client_loop_, *client, {.target = "/a", .timeout = absl::Seconds(5)});
      all += got.ok() ? got->body : got.status().ToString();
    }
    RunOn(*client_loop_, [&] { client.reset(); });
    return all;
  }
  // Gets the page on a new connection.
  std::string GetAnew(const Party& trusted) { return Get(Connect(trusted.authority.cert_pem)); }

  const Party first_{"first"};
  const Party second_{"second"};
};

TEST_F(TlsPageServerTest, ANewCertificateCountsForTheNextConnectionAndOpenOnesStay) {
  Serve({}, first_.certificate());
  std::unique_ptr<Client> open = Connect(first_.authority.cert_pem);
  const auto get_again = [&] {
    return FetchAndWait(*client_loop_, *open, {.target = "/a", .timeout = absl::Seconds(5)}).value_or(Response()).body;
  };
  EXPECT_EQ(get_again(), "page /a");
  EXPECT_THAT(GetAnew(second_), HasSubstr("unknown authority"));
  RawConnection plain(server_->port());
  plain.Send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(plain.ReadToEnd().find("page"), std::string::npos) << "without TLS nothing is told";

  ASSERT_TRUE(server_->SetCertificate(second_.certificate()).ok());
  EXPECT_EQ(get_again(), "page /a");
  EXPECT_EQ(GetAnew(second_), "page /a");
  EXPECT_THAT(GetAnew(first_), HasSubstr("unknown authority"));
  RunOn(*client_loop_, [&] { open.reset(); });
}

TEST_F(TlsPageServerTest, ACertificateThatCannotBeUsedLeavesTheOneOfBefore) {
  Serve({}, first_.certificate());
  const PageCertificate wrong[] = {
      {first_.own.cert_pem, second_.own.key_pem}, {first_.own.cert_pem, ""}, {"nonsense", first_.own.key_pem}};
  for (const PageCertificate& certificate : wrong) {
    EXPECT_EQ(server_->SetCertificate(certificate).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(GetAnew(first_), "page /a");
    EXPECT_EQ(StartPageServer(*loop_, [](const PageRequest&) { return Response(); }, {.certificate = certificate})
                  .status()
                  .code(),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(TlsPageServerTest, CertificatesAreReplacedWhileConnectionsComeAndGo) {
  Serve({.max_connections = 4}, first_.certificate());
  const std::string both = first_.authority.cert_pem + second_.authority.cert_pem;
  std::atomic<bool> is_over = false;
  std::thread replacing([&] {
    for (int i = 0; !is_over; ++i) {
      EXPECT_TRUE(server_->SetCertificate(i % 2 == 0 ? second_.certificate() : first_.certificate()).ok());
    }
  });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Get(Connect(both), 3), "page /apage /apage /a");
  is_over = true;
  replacing.join();
}

TEST_F(PageServerTest, AnAddressThatCannotBeListenedOnIsAnError) {
  Serve();
  const auto start = [&](const std::string& address, uint16_t port) {
    return StartPageServer(*loop_, [](const PageRequest&) { return Response(); }, {.address = address, .port = port})
        .status()
        .code();
  };
  EXPECT_EQ(start("127.0.0.1", server_->port()), absl::StatusCode::kUnavailable);
  EXPECT_EQ(start("nowhere", 0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(start("::1", 0), absl::StatusCode::kOk);
  EXPECT_EQ(start("localhost", 0), absl::StatusCode::kOk);
}

TEST_F(PageServerTest, AnIdleConnectionIsClosed) {
  Serve({.idle_timeout = absl::Seconds(1)});
  RawConnection silent(server_->port());
  RawConnection slow(server_->port());
  slow.Send("GET /p HTTP/1.1\r\nHo");
  RawConnection kept(server_->port());
  kept.Send("GET /p HTTP/1.1\r\nHost: h\r\n\r\n");
  EXPECT_EQ(silent.ReadToEnd(), "");
  EXPECT_EQ(slow.ReadToEnd().find("timed out"), std::string::npos);
  const std::string page = kept.ReadToEnd();
  EXPECT_NE(page.find("page /p"), std::string::npos) << page;
  EXPECT_EQ(page.find("timed out"), std::string::npos);
}

TEST_F(PageServerTest, AThousandIdleConnectionsKeepNobodyElseOut) {
  if (!MayOpen(2000)) GTEST_SKIP() << "2000 open files are not allowed here";
  Serve({.max_connections = 50, .idle_timeout = absl::Hours(1)});
  std::vector<std::unique_ptr<RawConnection>> idle;
  for (int i = 0; i < 1000; ++i) idle.push_back(std::make_unique<RawConnection>(server_->port()));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(Get("/healthz").body, "page /healthz");
  // All but the last fifty or so were closed: the connections that were idle for longest went first.
  for (int i = 0; i < 940; ++i) ASSERT_EQ(idle[static_cast<size_t>(i)]->ReadToEnd(), "") << i;
  idle.back()->Send("GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  EXPECT_NE(idle.back()->ReadToEnd().find("page /last"), std::string::npos);
}

TEST_F(PageServerTest, ItEndsWhilePagesAreBeingWaitedFor) {
  for (int i = 0; i < 20; ++i) {
    Serve();
    RawConnection connection(server_->port());
    // The loop makes the page only after the server has gone.
    std::promise<void> held;
    loop_->Post([released = held.get_future().share()] { released.wait(); });
    connection.Send("GET /p HTTP/1.1\r\nHost: h\r\n\r\n");
    if (i % 2 == 0) connection.Send("GET /q HTTP/1.1\r\nHost: h\r\n\r\n");
    server_.reset();
    held.set_value();
    EXPECT_EQ(connection.ReadToEnd(), "");
  }
}

}  // namespace
}  // namespace basalt::http
