// Tests interests, discovery and the watches of single objects over kubesim, in simulated time: replicas ask by name
// for objects of kinds that the API server serves, or serves later.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "common/base/json.h"
#include "common/base/random.h"
#include "common/http/direct_client.h"
#include "gateway/interests/interests.h"
#include "gateway/kube/api_clock.h"
#include "gateway/kube/kind_finder.h"
#include "gateway/session/testing.h"
#include "gateway/watches/kind_watch.h"
#include "gateway/watches/object_watch.h"
#include "kubesim/server/api_server.h"

namespace basalt::gateway {
namespace {

constexpr char kDefinition[] = R"({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "widgets.example.com"},
  "spec": {
    "group": "example.com", "scope": "Namespaced",
    "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
    "versions": [{
      "name": "v1beta1", "served": true, "storage": true,
      "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
    }]
  }})";

class CountingClient : public http::Client {
 public:
  explicit CountingClient(http::Client& client) : client_(client) {}
  std::unique_ptr<http::Call> Start(http::Request request, http::ResponseObserver& observer) override {
    ++requests;
    return client_.Start(std::move(request), observer);
  }

  int requests = 0;

 private:
  http::Client& client_;
};

class InterestsOverKubeTest : public ::testing::Test, public KubeAccess {
 protected:
  InterestsOverKubeTest() { bench.Attach(); }

  // ---- KubeAccess, implemented as in the gateway ----
  void Write(v1::WriteRequest, const std::string&, rpc::Done<v1::WriteResponse>) override {
    ADD_FAILURE() << "nothing is written";
  }
  void Get(v1::GetRequest, rpc::Done<v1::GetResponse>) override { ADD_FAILURE() << "nothing is read"; }
  std::unique_ptr<ObjectWatch> Watch(const v1::Resource& resource, const std::string& ns, const std::string& name,
                                     ObjectSeen seen) override {
    const ReflectedObject::Shared shared{loop, client, random, clock, *metrics, kSlowRetry};
    return std::make_unique<ReflectedObject>(shared, resource, ns, name, std::move(seen));
  }
  std::unique_ptr<KindSearch> FindKind(const WantedKind& wanted, bool absent, KindFound found) override {
    const KindFinder::Shared shared{loop, client, random, kSlowRetry};
    return std::make_unique<KindFinder>(shared, wanted, absent, std::move(found));
  }
  std::unique_ptr<KindWatch> WatchKind(const v1::Resource& resource, KindListener& listener) override {
    const ReflectedObject::Shared shared{loop, client, random, clock, *metrics, kSlowRetry};
    return std::make_unique<ReflectedKind>(shared, resource, listener);
  }
  void DropUnsent(const std::function<bool(const v1::Owner&)>&) override {}
  absl::Time ApiNow() override { return loop.Now(); }
  int64_t ApiTimeMs() override { return 0; }

  void Create(std::string_view text) {
    const auto created = api.CreateObject(*ParseJson(text));
    EXPECT_TRUE(created.ok()) << created.status();
    time.RunDueTasks();
  }
  void CreateWidget(const std::string& name) {
    Create(fmt::format(
        R"({{"apiVersion":"example.com/v1beta1","kind":"Widget","metadata":{{"name":"{}","namespace":"default"}}}})",
        name));
  }
  void Ask(const std::string& watch, const std::string& name) {
    interests.Add(*bench.session, {watch, "default", name});
    time.Advance(absl::Seconds(1));
  }
  std::string TakeSent() { return std::exchange(sent, ""); }

  static constexpr absl::Duration kSlowRetry = absl::Seconds(30);

  testing::Bench bench;
  SimTime& time = bench.time;
  SimLoop& loop = bench.loop;
  SimLoop server_loop{time, "kubesim"};
  SeededRandom random{1};
  kubesim::ApiServer api{server_loop, random};
  http::DirectClient direct{loop, server_loop, api};
  CountingClient client{direct};
  ApiClock clock{loop};
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  std::string sent;  // Objects sent to the session: "+a " if the object exists, "-a " if not.
  Interests interests{loop, *this, {}, [this](Session&, const InterestKey& key, const auto& object) {
                        sent += fmt::format("{}{} ", object ? "+" : "-", key.name);
                      }};
};

TEST_F(InterestsOverKubeTest, AKindThatIsServedLaterIsFoundAndItsObjectsAreSeen) {
  for (const char* name : {"a", "b"}) Ask("widgets.example.com", name);
  EXPECT_EQ(TakeSent(), "-a -b ");
  Create(kDefinition);
  CreateWidget("a");
  time.Advance(1.5 * kSlowRetry + absl::Seconds(1));
  EXPECT_EQ(TakeSent(), "+a ");
  CreateWidget("b");
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(TakeSent(), "+b ") << "by its watch";
}

TEST_F(InterestsOverKubeTest, ManyObjectsOfAKindThatNobodyServesCostOneLookNowAndThen) {
  for (int i = 0; i < 500; ++i) interests.Add(*bench.session, {"widgets.example.com", "default", fmt::to_string(i)});
  time.Advance(absl::Hours(1));
  EXPECT_LE(client.requests, 241);
}

TEST_F(InterestsOverKubeTest, AKindThatIsServedIsAskedForAtOnce) {
  Create(R"({"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"data","namespace":"default"},)"
         R"("spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})");
  Ask("persistentvolumeclaims", "data");
  EXPECT_EQ(TakeSent(), "+data ");
  EXPECT_EQ(client.requests, 2) << "a list and a watch";
  Ask("replicasets.apps", "web");
  EXPECT_EQ(TakeSent(), "-web ");
  EXPECT_EQ(client.requests, 6) << "the group and its version, too";
  Ask("replicasets.apps", "web-2");
  EXPECT_EQ(client.requests, 8);
}

}  // namespace
}  // namespace basalt::gateway
