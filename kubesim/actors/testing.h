#pragma once

// Helpers for tests of actors: definitions of the kinds that the gang scheduler watches, and a fixture with a cluster.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/yaml.h"
#include "common/exec/sim_loop.h"
#include "common/http/direct_client.h"
#include "kubesim/actors/cluster.h"
#include "kubesim/server/api_server.h"

namespace basalt::actors {

// Returns a definition whose schema keeps every field.
inline json::value Crd(std::string_view kind, std::string_view plural, std::string_view scope,
                       std::string_view subresources) {
  constexpr std::string_view kGroup = "scheduling.volcano.sh";
  return ParseYamlDocuments(fmt::format(R"(
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: {1}.{2}}}
spec:
  group: {2}
  scope: {3}
  names: {{kind: {0}, plural: {1}}}
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, x-kubernetes-preserve-unknown-fields: true}}}}
    subresources: {4}
)",
                                        kind, plural, kGroup, scope, subresources))
      ->front();
}

inline std::vector<json::value> SchedulingCrds() {
  return {Crd("PodGroup", "podgroups", "Namespaced", "{}"), Crd("Queue", "queues", "Cluster", "{status: {}}")};
}

// The actors beside kubesim, in memory and under simulated time.
class ClusterFixture : public ::testing::Test {
 protected:
  ClusterFixture() {
    kubesim::ApiServerOptions options;
    options.crds = SchedulingCrds();
    server_ = std::make_unique<kubesim::ApiServer>(loop_, random_, std::move(options));
    EXPECT_TRUE(server_->startup_status().ok()) << server_->startup_status();
    client_ = std::make_unique<http::DirectClient>(loop_, loop_, *server_);
  }

  void StartCluster(ClusterOptions options) {
    cluster_ = std::make_unique<Cluster>(loop_, *client_, random_, std::move(options));
  }
  bool Until(const std::function<bool()>& condition) { return time_.AdvanceUntil(condition, absl::Minutes(10)); }
  // Sends a request, expects success and returns the answer.
  json::value Do(std::string method, std::string target, std::string body = "", std::string_view type = kJsonType) {
    http::Request request{method, target, {{"Content-Type", std::string(type)}}, std::move(body)};
    json::value answer;
    bool done = false;
    auto call = http::Fetch(*client_, std::move(request), [&](absl::StatusOr<http::Response> response) {
      ASSERT_TRUE(response.ok()) << response.status();
      EXPECT_LT(response->status, 300) << method << " " << target << " " << response->body;
      answer = *ParseJson(response->body);
      done = true;
    });
    EXPECT_TRUE(Until([&] { return done; }));
    return answer;
  }

  SimTime time_;
  SimLoop loop_{time_, "kubesim"};
  SeededRandom random_{7};
  std::unique_ptr<kubesim::ApiServer> server_;
  std::unique_ptr<http::DirectClient> client_;
  std::unique_ptr<Cluster> cluster_;
};

}  // namespace basalt::actors
