#pragma once

// Runs the gateway's client, reflectors and writer against a small real cluster, and counts their
// connections.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "common/base/mutex.h"
#include "common/base/random.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gateway/kube/reflect/reflector.h"
#include "gateway/kube/write/writer.h"
#include "gateway/route/object_ref.h"
#include "tests/realkube/cluster.h"

namespace basalt::gateway {

constexpr char kAccount[] = "system:serviceaccount:basalt-system:basalt-gateway";

// Keeps the names of the objects that a reflector delivers. Wait() may be called on any thread, the other methods on
// the reflector's loop.
class NamesSink : public ReflectorSink {
 public:
  void OnReplace(std::vector<Decoded> objects, int64_t) override {
    MutexLock lock(mutex_);
    ++lists_;
    names_.clear();
    for (const Decoded& decoded : objects) names_.emplace(RefOf(decoded.object).name);
    changed_.NotifyAll();
  }
  void OnEvent(WatchType type, Decoded& decoded, int64_t) override {
    MutexLock lock(mutex_);
    const std::string name(RefOf(decoded.object).name);
    type == WatchType::kDeleted ? void(names_.erase(name)) : void(names_.insert(name));
    changed_.NotifyAll();
  }
  void OnBookmark(int64_t) override {}
  void OnAbsent() override {}
  void OnForbidden(const std::string& message) override { ADD_FAILURE() << message; }
  void OnError(const absl::Status&) override {}

  struct View {
    int lists = 0;
    std::set<std::string> names;
  };
  // Waits until the condition holds, at most a minute.
  View Wait(const std::function<bool(const View&)>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    MutexLock lock(mutex_);
    while (!condition({lists_, names_})) {
      if (!changed_.WaitUntil(mutex_, end) && std::chrono::steady_clock::now() >= end) break;
    }
    EXPECT_TRUE(condition({lists_, names_}));
    return {lists_, names_};
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int lists_ BASALT_GUARDED_BY(mutex_) = 0;
  std::set<std::string> names_ BASALT_GUARDED_BY(mutex_);
};

// All tests share one cluster. The cluster is small, so that the server soon throttles.
class GatewayClientTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = realkube::Cluster::Start({.nodes = 0, .kwok = false, .inflight = 5});
    ASSERT_THAT(started, basalt::testing::IsOk());
    cluster_ = std::move(*started).release();
  }
  static void TearDownTestSuite() { delete std::exchange(cluster_, nullptr); }
  void SetUp() override { ASSERT_NE(cluster_, nullptr); }
  void TearDown() override {
    RunOn(*loop_, [this] {
      calls_.clear();
      reflectors_.clear();
      writer_.reset();
    });
  }
  static http::CurlOptions Gateway() { return *http::ReadKubeconfig(cluster_->kubeconfig("gateway")); }
  void Connect(const http::CurlOptions& options) { client_ = http::MakeCurlClient(*loop_, options); }

  absl::StatusOr<http::Response> Do(std::string method, std::string target, std::string body = "",
                                    bool compressed = false, absl::Duration timeout = absl::Seconds(30)) {
    std::promise<absl::StatusOr<http::Response>> result;
    RunOn(*loop_, [&] {
      http::Request request;
      request.method = std::move(method);
      request.target = std::move(target);
      request.headers = {{"Content-Type", "application/json"}, {"Accept", "application/json"}};
      request.body = std::move(body);
      request.compressed = compressed;
      request.timeout = timeout;
      calls_.push_back(http::Fetch(*client_, std::move(request),
                                   [&](absl::StatusOr<http::Response> r) { result.set_value(std::move(r)); }));
    });
    return result.get_future().get();
  }

  // Returns the name of the user whom the server takes us for, or the status.
  std::string WhoAmI() {
    absl::StatusOr<http::Response> response;
    // Such a small server now and then refuses a request because its limit of concurrent requests is reached.
    for (int looks = 0; looks < 600; ++looks) {
      response = Do("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews",
                    R"({"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"})");
      if (!response.ok() || response->status != 429) break;
      std::promise<void> later;
      loop_->RunAfter(absl::Milliseconds(100), [&] { later.set_value(); });
      later.get_future().wait();
    }
    if (!response.ok()) return response.status().ToString();
    if (response->status != 201) return fmt::to_string(response->status);
    review_ = *ParseJson(response->body);
    return std::string(FindPath(review_, {"status", "userInfo", "username"})->get_string());
  }

  std::string NewToken() {
    std::string token = *cluster_->Kubectl({"create", "token", "-n", "basalt-system", "basalt-gateway"});
    while (!token.empty() && token.back() <= ' ') token.pop_back();
    return token;
  }

  std::string Write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    std::ofstream(dir_ / name) << text;
    chmod((dir_ / name).c_str(), mode);
    return dir_ / name;
  }

  // Returns the file descriptors of our connections to the API server.
  static std::vector<int> Connections() {
    const std::string server = cluster_->kube_server();
    const int port = std::stoi(server.substr(server.rfind(':') + 1));
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      sockaddr_in peer{};
      socklen_t size = sizeof peer;
      const int fd = std::stoi(entry.path().filename());
      if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && ntohs(peer.sin_port) == port) {
        found.push_back(fd);
      }
    }
    return found;
  }
  NamesSink& Reflect(http::Client& client, ReflectorOptions::StreamingList streaming) {
    sinks_.push_back(std::make_unique<NamesSink>());
    ReflectorOptions options;
    options.watch = "pods";
    options.path = "/api/v1/pods";
    options.kind = ObjectKind::kPod;
    options.streaming_list = streaming;
    options.page_limit = 100;
    RunOn(*loop_, [&] {
      reflectors_.push_back(std::make_unique<Reflector>(*loop_, client, random_, options, *sinks_.back()));
      reflectors_.back()->Start();
    });
    return *sinks_.back();
  }

  // Creates pods through a writer of 30 s. Returns the results by name.
  std::map<std::string, absl::StatusOr<v1::WriteResponse>> CreatePods(const std::string& prefix, int count) {
    std::map<std::string, absl::StatusOr<v1::WriteResponse>> results;
    std::promise<void> all;
    RunOn(*loop_, [&] {
      writer_ = std::make_unique<KubeWriter>(*loop_, *client_, random_);
      for (int i = 0; i < count; ++i) {
        const std::string name = fmt::format("{}-{}", prefix, i);
        v1::WriteRequest request;
        request.mutable_resource()->set_version("v1");
        request.mutable_resource()->set_plural("pods");
        request.set_namespace_("default");
        request.set_name(name);
        request.set_timeout_ms(60'000);
        request.mutable_create()->set_body(fmt::format(
            R"({{"kind":"Pod","apiVersion":"v1","metadata":{{"name":"{}","labels":{{"volcano.sh/job-name":"j"}}}},)"
            R"("spec":{{"containers":[{{"name":"main","image":"none"}}]}}}})",
            name));
        writer_->Write(std::move(request), [&, name](absl::StatusOr<v1::WriteResponse> result) {
          results.emplace(name, std::move(result));
          if (results.size() == static_cast<size_t>(count)) all.set_value();
        });
      }
    });
    all.get_future().wait();
    return results;
  }

  static inline realkube::Cluster* cluster_ = nullptr;
  basalt::testing::TempDir dir_;
  SystemRandom random_;
  json::value review_;
  std::vector<std::unique_ptr<NamesSink>> sinks_;
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("client");
  std::unique_ptr<http::Client> client_;
  std::vector<std::unique_ptr<http::Call>> calls_;
  std::vector<std::unique_ptr<Reflector>> reflectors_;
  std::unique_ptr<KubeWriter> writer_;
};

}  // namespace basalt::gateway
