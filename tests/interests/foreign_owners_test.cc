// Measures how much the gateway keeps of 150 000 ReplicaSets, of which a handful own pods of the suite, when it lists
// and watches the kind in simulated time. The figures are printed.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/random.h"
#include "common/http/direct_client.h"
#include "common/http/target.h"
#include "common/obs/health.h"
#include "gateway/health/readiness.h"
#include "gateway/interests/owner_interests.h"
#include "gateway/session/testing.h"
#include "gateway/watches/http_kube_access.h"

namespace basalt::gateway {
namespace {

constexpr int kReplicaSets = 150'000;
constexpr int kAsked = 20;
constexpr int kListedAt = 200'000;  // Objects of the list have lower versions, events higher ones.

// Returns a ReplicaSet as Kubernetes has it, with the labels, annotations and template of a usual Deployment.
std::string ReplicaSet(int index, int version) {
  return fmt::format(
      R"({{"kind":"ReplicaSet","apiVersion":"apps/v1","metadata":{{"name":"web-{0}","namespace":"team-{1}",)"
      R"("uid":"00000000-0000-0000-0000-{0:012}","resourceVersion":"{2}","generation":1,)"
      R"("labels":{{"app":"web-{0}","pod-template-hash":"7c5ddbdf54"}},)"
      R"("annotations":{{"deployment.kubernetes.io/desired-replicas":"3","deployment.kubernetes.io/revision":"1"}},)"
      R"("ownerReferences":[{{"apiVersion":"apps/v1","kind":"Deployment","name":"web-{0}","uid":"d-{0}",)"
      R"("controller":true}}]}},"spec":{{"replicas":3,"selector":{{"matchLabels":{{"app":"web-{0}"}}}},)"
      R"("template":{{"metadata":{{"labels":{{"app":"web-{0}"}}}},"spec":{{"containers":[{{"name":"web",)"
      R"("image":"registry.example.com/web:1.2.3"}}],"schedulerName":"default-scheduler"}}}}}},)"
      R"("status":{{"replicas":3,"readyReplicas":{3}}}}})",
      index, index % 100, version, version % 4);
}

// Serves the kind: discovery, pages of the list, one object by its name, and one watch.
class ManyReplicaSets : public http::Handler {
 public:
  void Handle(const http::Request& request, std::shared_ptr<http::ResponseWriter> writer) override {
    const http::Target target = http::ParseTarget(request.target);
    if (target.Query("watch") == "true") {
      watch = std::move(writer);
      return watch->Head(200, {});
    }
    writer->Whole(200, {}, AnswerTo(target));
  }
  void SendEvent(int index, int version) {
    watch->Chunk(fmt::format(R"({{"type":"MODIFIED","object":{}}})", ReplicaSet(index, version)) + "\n");
  }

  int reads = 0;
  std::shared_ptr<http::ResponseWriter> watch;

 private:
  std::string AnswerTo(const http::Target& target) {
    if (target.segments.back() == "v1") {
      return R"({"kind":"APIResourceList","resources":[{"name":"replicasets","kind":"ReplicaSet","namespaced":true}]})";
    }
    const std::string selector(target.Query("fieldSelector"));
    if (!selector.empty()) {
      ++reads;
      return List({std::stoi(selector.substr(selector.rfind('-') + 1))}, "");
    }
    const std::string next(target.Query("continue"));
    const int first = next.empty() ? 0 : std::stoi(next);
    const int end = std::min(first + std::stoi(std::string(target.Query("limit"))), kReplicaSets);
    std::vector<int> page;
    for (int i = first; i < end; ++i) page.push_back(i);
    return List(page, end < kReplicaSets ? fmt::to_string(end) : "");
  }
  static std::string List(const std::vector<int>& indices, const std::string& next) {
    std::string text =
        fmt::format(R"({{"kind":"ReplicaSetList","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[)",
                    kListedAt, next);
    for (size_t i = 0; i < indices.size(); ++i) text += (i == 0 ? "" : ",") + ReplicaSet(indices[i], indices[i] + 1);
    return text + "]}";
  }
};

class ForeignOwnersTest : public ::testing::Test {
 protected:
  ForeignOwnersTest() { bench.Attach(); }
  void Ask(int index) {
    interests.Add(*bench.session,
                  {"objects/apps/v1/ReplicaSet", fmt::format("team-{}", index % 100), fmt::format("web-{}", index)});
  }

  testing::Bench bench;
  SimTime& time = bench.time;
  SimLoop& loop = bench.loop;
  SimLoop server_loop{time, "server"};
  SeededRandom random{1};
  ManyReplicaSets server;
  http::DirectClient client{loop, server_loop, server};
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  obs::Health health;
  Readiness readiness{loop, *metrics, health};
  HttpKubeAccess kube{loop, client, random, *metrics, readiness, WriterOptions(), absl::Seconds(30)};
  int sent = 0;
  OwnerInterests interests{loop, kube, [this](Session&, const InterestKey& key, const auto& object) {
                             ASSERT_NE(object, nullptr) << key.name;
                             ++sent;
                           }};
};

TEST_F(ForeignOwnersTest, MemoryFollowsTheOwnersThatAreAskedFor) {
  for (int i = 0; i < kAsked; ++i) Ask(i * 7'000);
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(sent, kAsked);
  EXPECT_EQ(server.reads, 0) << "the list has them";
  for (int i = 0; i < 10'000; ++i) server.SendEvent(i * 14 + 1, kListedAt + 1 + i);
  time.Advance(absl::Seconds(1));
  const OwnerInterests::Kept kept = interests.kept();
  fmt::print("kept beside {} foreign ReplicaSets: {} objects, {} bytes\n", kReplicaSets - kAsked, kept.objects,
             kept.bytes);
  EXPECT_EQ(kept.objects, static_cast<size_t>(kAsked));
  EXPECT_LE(kept.bytes, 2048u * kAsked);
  Ask(149'999);
  time.Advance(absl::Seconds(1));
  EXPECT_EQ(sent, kAsked + 1);
  EXPECT_EQ(server.reads, 1);
}

}  // namespace
}  // namespace basalt::gateway
