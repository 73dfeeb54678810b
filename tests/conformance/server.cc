// The server under test, and the main function.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/synchronization/mutex.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/direct_client.h"
#include "common/http/server/beast_server.h"
#include "kubesim/actors/cluster.h"
#include "kubesim/main/crds.h"
#include "kubesim/server/api_server.h"
#include "tests/conformance/harness.h"
#include "tests/realkube/cluster.h"

ABSL_FLAG(std::string, server, "kubesim", "kubesim: in this process; real: a Kubernetes of scripts/realkube");

namespace basalt::conformance {
namespace {

class TestedServer {
 public:
  virtual ~TestedServer() = default;
  virtual http::CurlOptions connection() const = 0;
  virtual void ForgetHistory() = 0;
};

class Kubesim final : public TestedServer {
 public:
  ~Kubesim() override {
    http_.reset();
    RunOn(*loop_, [this] {
      controllers_.reset();
      client_.reset();
      server_.reset();
    });
  }

  absl::Status Open() {
    BASALT_ASSIGN_OR_RETURN(std::vector<json::value> crds, kubesim::LoadCrds({BASALT_SOURCE_DIR "/deploy/crds"}));
    RunOn(*loop_, [&] {
      kubesim::ApiServerOptions options;
      options.crds = std::move(crds);
      server_ = std::make_unique<kubesim::ApiServer>(*loop_, random_, std::move(options));
    });
    BASALT_RETURN_IF_ERROR(server_->startup_status());
    RunOn(*loop_, [this] {
      client_ = std::make_unique<http::DirectClient>(*loop_, *loop_, *server_);
      controllers_ = std::make_unique<actors::Cluster>(
          *loop_, *client_, random_, actors::ClusterOptions{.run_nodes = false, .run_scheduler = false});
    });
    BASALT_ASSIGN_OR_RETURN(http_, http::StartServer(*loop_, *server_, {}));
    return absl::OkStatus();
  }

  http::CurlOptions connection() const override {
    http::CurlOptions options;
    options.base_url = fmt::format("http://127.0.0.1:{}", http_->port());
    return options;
  }

  void ForgetHistory() override {
    RunOn(*loop_, [this] { server_->ForgetHistory(); });
  }

 private:
  SystemRandom random_;
  const std::unique_ptr<Loop> loop_ = MakeThreadLoop("kubesim");
  // The members below live on the loop.
  std::unique_ptr<kubesim::ApiServer> server_;
  std::unique_ptr<http::DirectClient> client_;
  std::unique_ptr<actors::Cluster> controllers_;
  std::unique_ptr<http::Server> http_;
};

class RealKube final : public TestedServer {
 public:
  absl::Status Open() {
    realkube::ClusterOptions options;
    options.nodes = 0;
    options.kwok = false;
    BASALT_ASSIGN_OR_RETURN(cluster_, realkube::Cluster::Start(options));
    return absl::OkStatus();
  }

  http::CurlOptions connection() const override {
    http::CurlOptions options;
    options.base_url = cluster_->kube_server();
    options.ca_file = cluster_->dir() + "/pki/ca.crt";
    options.cert_file = cluster_->dir() + "/pki/admin.crt";
    options.key_file = cluster_->dir() + "/pki/admin.key";
    return options;
  }

  void ForgetHistory() override {
    http::CurlOptions options;
    options.base_url = "http://127.0.0.1:" + EtcdPort();
    Connection etcd(options);
    http::Request compact;
    compact.method = "POST";
    compact.target = "/v3/kv/compaction";
    compact.body = fmt::format(R"({{"revision":"{}","physical":true}})", Get("/api/v1/namespaces?limit=1").version());
    const Answer done = etcd.Send(std::move(compact));
    EXPECT_EQ(done.status, 200) << done;
  }

 private:
  std::string EtcdPort() const {
    constexpr std::string_view kName = "ETCD_PORT=";
    std::ifstream facts(cluster_->dir() + "/env");
    for (std::string line; std::getline(facts, line);) {
      if (line.starts_with(kName)) return line.substr(kName.size());
    }
    return "";
  }

  std::unique_ptr<realkube::Cluster> cluster_;
};

template <typename T>
absl::StatusOr<std::unique_ptr<TestedServer>> Started() {
  auto server = std::make_unique<T>();
  BASALT_RETURN_IF_ERROR(server->Open());
  return std::unique_ptr<TestedServer>(std::move(server));
}

std::unique_ptr<TestedServer> tested_server;
std::unique_ptr<Connection> connection;

// Starts the server once for all cases. gtest does not call SetUp when it only lists the cases.
class ServerEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    absl::StatusOr<std::unique_ptr<TestedServer>> server = IsReal() ? Started<RealKube>() : Started<Kubesim>();
    ASSERT_TRUE(server.ok()) << server.status();
    tested_server = *std::move(server);
    connection = std::make_unique<Connection>(ConnectionOptions());
  }
  void TearDown() override {
    connection.reset();
    tested_server.reset();
  }
};

}  // namespace

bool IsReal() { return absl::GetFlag(FLAGS_server) == "real"; }
Connection& Server() { return *connection; }
void ForgetHistory() { tested_server->ForgetHistory(); }

http::CurlOptions ConnectionOptions() {
  http::CurlOptions options = tested_server->connection();
  options.user_agent = "conformance/1.0";
  return options;
}

}  // namespace basalt::conformance

int main(int argc, char** argv) {
  // Debian builds Abseil without NDEBUG. Its deadlock detector would report the locks of other libraries.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ::testing::InitGoogleTest(&argc, argv);
  absl::ParseCommandLine(argc, argv);
  if (const std::string server = absl::GetFlag(FLAGS_server); server != "kubesim" && server != "real") {
    fmt::print(stderr, "--server is '{}'; it is kubesim or real\n", server);
    return 2;
  }
  ::testing::AddGlobalTestEnvironment(new basalt::conformance::ServerEnvironment());
  return RUN_ALL_TESTS();
}
