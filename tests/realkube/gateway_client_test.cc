// What only a real API server shows of the gateway's client: who it takes us for, how it multiplexes, throttles,
// compresses and expires, and what a restart of it does to watches.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <map>
#include <set>

#include "common/base/json.h"
#include "common/base/mutex.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/http/failure.h"
#include "common/http/fetch_and_wait.h"
#include "common/http/kubeconfig/kubeconfig.h"
#include "common/http/testing/jumping_loop.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "gateway/kube/reflector.h"
#include "gateway/kube/writer.h"
#include "gateway/route/object_ref.h"
#include "tests/realkube/cluster.h"

namespace basalt::gateway {
namespace {

using ::basalt::testing::IsOk;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;

constexpr int kPods = 300;
constexpr char kAccount[] = "system:serviceaccount:basalt-system:basalt-gateway";

// What a reflector shows, as a set of names. Its loop's, but for Wait.
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
  void OnError(const absl::Status& status) override {
    MutexLock lock(mutex_);
    errors_.push_back(status);
    changed_.NotifyAll();
  }

  struct View {
    int lists = 0;
    std::set<std::string> names;
    std::vector<absl::Status> errors;
  };
  // Until the condition holds, a minute at most.
  View Wait(const std::function<bool(const View&)>& condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    MutexLock lock(mutex_);
    while (!condition({lists_, names_, errors_})) {
      if (!changed_.WaitUntil(mutex_, end) && std::chrono::steady_clock::now() >= end) break;
    }
    EXPECT_TRUE(condition({lists_, names_, errors_}));
    return {lists_, names_, errors_};
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int lists_ BASALT_GUARDED_BY(mutex_) = 0;
  std::set<std::string> names_ BASALT_GUARDED_BY(mutex_);
  std::vector<absl::Status> errors_ BASALT_GUARDED_BY(mutex_);
};

// Asks for the version 1 in the first watch, whatever it is told to.
class OutdatedClient : public http::Client {
 public:
  explicit OutdatedClient(http::Client& inner) : inner_(inner) {}
  std::unique_ptr<http::Call> Start(http::Request request, http::ResponseObserver& observer) override {
    const size_t at = request.target.find("resourceVersion=");
    if (at != std::string::npos && request.target.find("sendInitialEvents") == std::string::npos &&
        !std::exchange(done_, true)) {
      request.target.replace(at, request.target.find('&', at) - at, "resourceVersion=1");
    }
    return inner_.Start(std::move(request), observer);
  }

 private:
  http::Client& inner_;
  bool done_ = false;
};

// One cluster for all cases; a small one, that is soon out of breath.
class GatewayClientTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto started = realkube::Cluster::Start({.nodes = 0, .kwok = false, .inflight = 5});
    ASSERT_THAT(started, IsOk());
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

  // Who the server takes us for: the user's name, or the status.
  std::string WhoAmI() {
    absl::StatusOr<http::Response> response;
    // So tight a server refuses now and then for want of room.
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

  // Our connections to the API server.
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
  // Nothing comes any more over the connections that are open now, as if the server's host had lost its power.
  static void CutTheCables() {
    sock_filter drop{BPF_RET | BPF_K, 0, 0, 0};
    const sock_fprog program{1, &drop};
    for (const int fd : Connections()) {
      EXPECT_EQ(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
    }
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

  // Makes pods through a writer of 30 s; the results by name.
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

  static realkube::Cluster* cluster_;
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

realkube::Cluster* GatewayClientTest::cluster_ = nullptr;

TEST_F(GatewayClientTest, EachWayOfProvingWhoWeAreIsTaken) {
  Connect(Gateway());
  EXPECT_EQ(WhoAmI(), kAccount) << "a client certificate";
  http::CurlOptions options = Gateway();
  options.cert_file.clear();
  options.key_file.clear();
  Connect(options);
  EXPECT_EQ(WhoAmI(), "403") << "nobody may ask nothing";
  options.bearer_token = NewToken();
  Connect(options);
  EXPECT_EQ(WhoAmI(), kAccount) << "a token";
  options.bearer_token_file = Write("token", "not one\n");
  Connect(options);
  EXPECT_EQ(WhoAmI(), "401");
  Write("token", NewToken());
  const absl::Time end = loop_->Now() + absl::Seconds(20);
  while (WhoAmI() != kAccount && loop_->Now() < end) {
  }
  EXPECT_EQ(WhoAmI(), kAccount) << "the file's next token, without a restart";
}

TEST_F(GatewayClientTest, APluginsTokenAndItsCertificateAreTaken) {
  const auto plugin = [&](const std::string& status) {
    return Write("plugin",
                 "#!/bin/sh\ncat <<'END'\n{\"kind\":\"ExecCredential\",\"apiVersion\":"
                 "\"client.authentication.k8s.io/v1\",\"status\":" +
                     status + "}\nEND\n",
                 0700);
  };
  const std::string user = fmt::format(
      "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: ./plugin}}}}");
  const std::string config =
      Write("config", fmt::format("current-context: c\ncontexts: [{{name: c, context: {{cluster: c, user: u}}}}]\n"
                                  "clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: {}}}}}]\n"
                                  "users: [{{name: u, user: {}}}]\n",
                                  cluster_->kube_server(), Gateway().ca_file, user));
  plugin(fmt::format(R"({{"token":"{}"}})", NewToken()));
  Connect(*http::ReadKubeconfig(config));
  EXPECT_EQ(WhoAmI(), kAccount);
  json::object status;
  const auto read = [](const std::string& path) {
    std::ifstream file(path);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  status["clientCertificateData"] = read(Gateway().cert_file);
  status["clientKeyData"] = read(Gateway().key_file);
  plugin(ToText(status));
  Connect(*http::ReadKubeconfig(config));
  EXPECT_EQ(WhoAmI(), kAccount);
}

TEST_F(GatewayClientTest, WhoActsForAnotherIsTheOther) {
  http::CurlOptions options = *http::ReadKubeconfig(cluster_->kubeconfig("admin"));
  options.headers = {{"Impersonate-User", "jane"},
                     {"Impersonate-Uid", "u-1"},
                     {"Impersonate-Group", "a"},
                     {"Impersonate-Group", "b"},
                     {"Impersonate-Extra-acme.com%2Fproject", "x"}};
  Connect(options);
  EXPECT_EQ(WhoAmI(), "jane");
  const std::string user = ToText(*FindPath(review_, {"status", "userInfo"}));
  EXPECT_THAT(user, HasSubstr(R"("uid":"u-1")"));
  EXPECT_THAT(user, HasSubstr(R"("groups":["a","b","system:authenticated"])"));
  EXPECT_THAT(user, HasSubstr(R"("extra":{"acme.com/project":["x"]})"));
}

TEST_F(GatewayClientTest, TheServersNamesAreThoseOfItsCertificate) {
  http::CurlOptions options = Gateway();
  options.tls_server_name = "kubernetes.default.svc";
  Connect(options);
  EXPECT_EQ(WhoAmI(), kAccount);
  options.tls_server_name = "elsewhere.example";
  Connect(options);
  EXPECT_EQ(http::FailureOf(Do("GET", "/version").status()), http::Failure::kCertificateName);
}

// Runs first of those that need the pods.
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

// As in a process that stood still at any moment and goes on when its time is over.
TEST_F(GatewayClientTest, AWriteThatBecomesLateIsNotCarriedOutAndItsConnectionGoesOn) {
  http::testing::JumpingLoop loop("jumping");
  const auto client = http::MakeCurlClient(loop, *http::ReadKubeconfig(cluster_->kubeconfig("admin")));
  const std::string path = "/api/v1/namespaces/default/configmaps";
  // What the server says, without refusals for want of room; 0: it was late.
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

TEST_F(GatewayClientTest, SilentConnectionsAreGivenUpByWatchesAndByShortRequests) {
  http::CurlOptions options = Gateway();
  options.probe_after = absl::Seconds(2);
  options.dead_after = absl::Seconds(6);
  Connect(options);
  NamesSink& sink = Reflect(*client_, ReflectorOptions::StreamingList::kTry);
  sink.Wait([](const NamesSink::View& view) { return view.lists == 1; });
  ASSERT_THAT(Do("GET", "/version"), IsOk());
  CutTheCables();
  const auto get = [this] { return Do("GET", "/version", "", false, absl::Seconds(3)); };
  EXPECT_EQ(get().status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_THAT(get(), IsOk()) << "by another connection, before the kernel has given up the first";
  const auto errors = sink.Wait([](const NamesSink::View& view) { return !view.errors.empty(); }).errors;
  EXPECT_EQ(http::FailureOf(errors[0]), http::Failure::kVanished) << errors[0];
  const auto results = CreatePods("later", 1);
  EXPECT_THAT(results.at("later-0"), IsOk());
  const NamesSink::View after = sink.Wait([](const NamesSink::View& view) { return view.names.contains("later-0"); });
  EXPECT_EQ(after.lists, 1) << "it went on from its version";
}

TEST_F(GatewayClientTest, WatchesAndWritesGoOnAfterTheServerWasKilled) {
  Connect(Gateway());
  NamesSink& sink = Reflect(*client_, ReflectorOptions::StreamingList::kTry);
  const size_t before = sink.Wait([](const NamesSink::View& view) { return view.lists == 1; }).names.size();
  ASSERT_THAT(cluster_->Kill("kube-apiserver"), IsOk());
  sink.Wait([](const NamesSink::View& view) { return !view.errors.empty(); });
  // Made while nobody listens: they wait for the server within their time.
  std::future<std::map<std::string, absl::StatusOr<v1::WriteResponse>>> writes =
      std::async(std::launch::async, [this] { return CreatePods("after", 10); });
  ASSERT_THAT(cluster_->Restart("kube-apiserver"), IsOk());
  for (const auto& [name, result] : writes.get()) {
    ASSERT_THAT(result, IsOk()) << name;
    EXPECT_FALSE(result->has_error()) << name << ": " << result->error().message();
  }
  const NamesSink::View after =
      sink.Wait([&](const NamesSink::View& view) { return view.names.size() == before + 10; });
  EXPECT_THAT(after.lists, Le(2));
}

// After the restart.
TEST_F(GatewayClientTest, AVersionThatIsTooOldIsListedAnew) {
  Connect(Gateway());
  // The server's memory of events begins at its last start, long after version 1.
  OutdatedClient outdated(*client_);
  NamesSink& sink = Reflect(outdated, ReflectorOptions::StreamingList::kOff);
  const NamesSink::View view = sink.Wait([](const NamesSink::View& now) { return now.lists >= 2; });
  EXPECT_EQ(view.lists, 2);
  EXPECT_THAT(view.names.size(), Ge(static_cast<size_t>(kPods)));
  RunOn(*loop_, [this] { reflectors_.clear(); });
}

}  // namespace
}  // namespace basalt::gateway
