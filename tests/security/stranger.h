#pragma once

// A gateway over an API server in memory, under simulated time, and strangers that attach to the gateway as replicas.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/json.h"
#include "common/base/random.h"
#include "common/base/slots.h"
#include "common/http/direct_client.h"
#include "common/kube/requests.h"
#include "common/obs/health.h"
#include "gateway/server/gateway.h"
#include "gateway/server/testing.h"
#include "kubesim/main/crds.h"
#include "kubesim/server/api_server.h"

namespace basalt::security {

class StrangerTest : public ::testing::Test {
 protected:
  StrangerTest() : gateway(loop, client, random, *metrics, health, GatewayFlags()) {
    Create(R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":"prod"}})");
    gateway.Start();
    time.Advance(absl::Seconds(2));
    for (const auto service :
         {gateway::v1::SERVICE_KIND_JOB, gateway::v1::SERVICE_KIND_POD_GROUP, gateway::v1::SERVICE_KIND_QUEUE}) {
      strangers.push_back(std::make_unique<gateway::testing::FakeReplica>(
          time, loop, gateway, gateway::testing::MemberOf(service, "stranger")));
      strangers.back()->SayHello();
    }
    time.Advance(absl::Seconds(2));
  }
  ~StrangerTest() override {
    strangers.clear();
    time.RunDueTasks();
  }

  // ---- objects of the cluster ----
  void Create(std::string_view text) {
    const absl::StatusOr<json::value> object = ParseJson(text);
    ASSERT_TRUE(object.ok()) << object.status() << text;
    const auto created = api.CreateObject(*object);
    EXPECT_TRUE(created.ok()) << created.status();
    time.Advance(absl::Seconds(1));
  }
  // Creates a job and returns its UID.
  std::string CreateJob(const std::string& name) {
    Create(fmt::format(R"({{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job",)"
                       R"("metadata":{{"name":"{}","namespace":"prod"}},"spec":{{"tasks":[{{"name":"t","replicas":1,)"
                       R"("template":{{"spec":{{"containers":[{{"name":"c","image":"i"}}]}}}}}}]}}}})",
                       name));
    return UidOf("jobs.batch.volcano.sh", name);
  }
  json::value Stored(const std::string& resource, const std::string& name, const std::string& ns = "prod") const {
    const std::shared_ptr<const json::value> stored = api.Get(resource, ns, name);
    return stored == nullptr ? json::value() : *stored;
  }
  std::string UidOf(const std::string& resource, const std::string& name, const std::string& ns = "prod") const {
    const json::value stored = Stored(resource, name, ns);
    const json::value* const meta = Find(stored, "metadata");
    return meta == nullptr ? "" : std::string(FindString(*meta, "uid"));
  }

  // ---- requests of a stranger ----
  gateway::v1::Owner OwnerOf(gateway::v1::ServiceKind service, const std::string& key) const {
    gateway::v1::Owner owner = strangers[service - 1]->OwnerFor(SlotOf(key));
    owner.set_key(key);
    return owner;
  }
  gateway::v1::WriteRequest WriteOf(gateway::v1::ServiceKind service, const std::string& key, const kube::Kind& kind,
                                    const std::string& ns, const std::string& name) const {
    gateway::v1::WriteRequest request = kube::WriteOf(kind, ns, name);
    *request.mutable_owner() = OwnerOf(service, key);
    return request;
  }
  absl::StatusOr<gateway::v1::WriteResponse> Write(gateway::v1::WriteRequest request) {
    std::optional<absl::StatusOr<gateway::v1::WriteResponse>> answer;
    gateway.Write(std::move(request), [&](auto got) { answer = std::move(got); });
    time.Advance(absl::Seconds(2));
    return answer.has_value() ? *std::move(answer) : absl::InternalError("no answer");
  }
  absl::StatusOr<gateway::v1::WriteResponse> Patch(gateway::v1::WriteRequest request, gateway::v1::Patch::Type type,
                                                   const std::string& body) {
    request.mutable_patch()->set_type(type);
    request.mutable_patch()->set_body(body);
    return Write(std::move(request));
  }
  absl::StatusOr<gateway::v1::GetResponse> Get(gateway::v1::ServiceKind service, const std::string& key,
                                               const kube::Kind& kind, const std::string& ns, const std::string& name) {
    gateway::v1::GetRequest request = kube::GetOf(kind, ns, name);
    *request.mutable_owner() = OwnerOf(service, key);
    std::optional<absl::StatusOr<gateway::v1::GetResponse>> answer;
    gateway.Get(std::move(request), [&](auto got) { answer = std::move(got); });
    time.Advance(absl::Seconds(2));
    return answer.has_value() ? *std::move(answer) : absl::InternalError("no answer");
  }

  static kubesim::ApiServerOptions Options() {
    kubesim::ApiServerOptions options;
    auto crds = kubesim::LoadCrds({BASALT_SOURCE_DIR "/deploy/crds"});
    EXPECT_TRUE(crds.ok()) << crds.status();
    if (crds.ok()) options.crds = *std::move(crds);
    return options;
  }
  static gateway::GatewayOptions GatewayFlags() {
    gateway::GatewayOptions options;
    options.hub.cluster = "c";
    options.hub.version = "1";
    return options;
  }

  SimTime time;
  SimLoop loop{time, "gateway"};
  SimLoop server_loop{time, "kubesim"};
  SeededRandom random{1};
  kubesim::ApiServer api{server_loop, random, Options()};
  http::DirectClient client{loop, server_loop, api};
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  obs::Health health;
  gateway::Gateway gateway;
  std::vector<std::unique_ptr<gateway::testing::FakeReplica>> strangers;  // At index service - 1.
};

}  // namespace basalt::security
