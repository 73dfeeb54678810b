#pragma once

// Runs a gateway without its reflectors by an input: replicas attach, send any message, read and write; watches report
// objects; the API server answers; the gateway gains and loses the lead.
#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/storage/v1/storage.pb.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "common/obs/log.h"
#include "common/rpc/request_bounds.h"
#include "gateway/kube/fake_kube_access.h"
#include "gateway/route/object_ref.h"
#include "gateway/server/testing.h"
#include "tests/fuzz/objects.h"

namespace basalt::fuzz {

class GatewayRun {
 public:
  enum class About { kMessages, kRecords };

  // Messages are counted (CountRun) only with kMessages, when they are the target's subject.
  GatewayRun(Input& input, About about) : input_(input), about_(about) { obs::SetLogLevel(obs::Level::kNothing); }
  ~GatewayRun() {
    replicas_.clear();
    time_.RunDueTasks();
  }

  // Leads with the saved record until the input is used up.
  void Run(const storage::v1::AssignmentRecord& saved) {
    for (gateway::WatchIndex watch = 0; watch < kWatches.size(); ++watch) hub_.cache().Replace(watch, {}, version_);
    hub_.Lead(saved);
    while (!input_.empty()) {
      Step();
      time_.RunDueTasks();
      CheckWrites();
    }
    time_.Advance(absl::Minutes(1));
    Require(asked_ == answered_ + static_cast<int64_t>(kube_.writes.size() + kube_.gets.size()),
            "each call is answered once");
  }

 private:
  using Hub = gateway::Hub;
  using Replica = gateway::testing::FakeReplica;

  void Step() {
    switch (input_.Below(16)) {
      case 0:
      case 1:
        return Attach();
      case 2:
        if (!replicas_.empty()) replicas_.erase(replicas_.begin() + input_.Below(static_cast<int>(replicas_.size())));
        return;
      case 3:
      case 4:
        if (replicas_.empty()) return;
        CountMessage();
        return AnyReplica().Say(input_.Make<gateway::v1::AttachRequest>());
      case 5:
      case 6:
        return See();
      case 7:
      case 8:
      case 9:
        return Write();
      case 10:
        return Get();
      case 11:
      case 12:
        return Answer();
      case 13:
        time_.Advance(absl::Milliseconds(input_.OneIn(4) ? 1000 * input_.Below(60) : input_.Below(2000)));
        return;
      case 14:
        CountMessage();
        hub_.GetTopology(input_.Make<gateway::v1::GetTopologyRequest>(), [](const auto&) {});
        return;
      default:
        if (input_.OneIn(4)) hub_.Follow("gateway-1", "10.0.0.1:1");
        if (!hub_.leads()) hub_.Lead(input_.Make<storage::v1::AssignmentRecord>());
    }
  }

  void CountMessage() {
    if (about_ == About::kMessages) CountRun();
  }
  Replica& AnyReplica() { return *replicas_[static_cast<size_t>(input_.Below(static_cast<int>(replicas_.size())))]; }

  void Attach() {
    if (replicas_.size() > 6) return;
    CountMessage();
    const auto service = static_cast<gateway::v1::ServiceKind>(1 + input_.Below(gateway::kServiceKinds));
    const std::string name = "replica-" + std::to_string(input_.Below(2));
    replicas_.push_back(std::make_unique<Replica>(
        time_, loop_, hub_, gateway::testing::MemberOf(service, name, input_.OneIn(4) ? "b" : "a")));
    Replica& replica = *replicas_.back();
    replica.acknowledges = !input_.OneIn(8);
    replica.is_certified = input_.OneIn(8);
    gateway::v1::Hello hello = replica.Hello();
    if (input_.OneIn(2)) input_.Change(hello);
    replica.SayHello(hello);
    time_.Advance(absl::Seconds(1));
  }

  void See() {
    CountMessage();
    kube::v1::Object object = makes_.New();
    gateway::SetResourceVersion(object, ++version_);
    const auto watch = static_cast<gateway::WatchIndex>(input_.Below(static_cast<int>(kWatches.size())));
    switch (input_.Below(4)) {
      case 0:
        return hub_.cache().Remove(watch, object);
      case 1:
        return hub_.cache().SetState(watch, static_cast<gateway::v1::Mark::State>(input_.Below(4)));
      default:
        return hub_.cache().Apply(watch, object);
    }
  }

  // Returns an owner of one of a few keys. In most cases its fields are those that the replica would send.
  gateway::v1::Owner AnyOwner() {
    constexpr std::string_view kKeys[] = {"default/j", "default/pg", "default/podgroup-w-uid",
                                          "q",         "default/",   "default"};
    const std::string key(kKeys[input_.Below(std::size(kKeys))]);
    gateway::v1::Owner owner;
    if (!replicas_.empty()) owner = AnyReplica().OwnerFor(SlotOf(key));
    owner.set_key(key);
    if (input_.OneIn(4)) input_.Change(owner);
    return owner;
  }
  gateway::v1::Resource AnyResource() {
    constexpr kube::Kind kKinds[] = {kube::kJobs,     kube::kPods,        kube::kPodGroups, kube::kQueues,
                                     kube::kCommands, kube::kEvents,      kube::kServices,  kube::kConfigMaps,
                                     kube::kSecrets,  kube::kKaiPodGroups};
    const kube::Kind& kind = kKinds[input_.Below(std::size(kKinds))];
    gateway::v1::Resource resource;
    resource.set_group(std::string(kind.group));
    resource.set_version(std::string(kind.version));
    resource.set_plural(std::string(kind.plural));
    return resource;
  }
  template <typename Request>
  Request Asked() {
    CountMessage();
    auto request = input_.Make<Request>();
    *request.mutable_owner() = AnyOwner();
    *request.mutable_resource() = AnyResource();
    if (request.namespace_().empty()) request.set_namespace_("default");
    if (request.name().empty()) request.set_name("j");
    ++asked_;
    return request;
  }

  void Write() {
    auto request = Asked<gateway::v1::WriteRequest>();
    if (!rpc::CheckRequest(request).ok()) {
      ++answered_;
      return;
    }
    hub_.Write(std::move(request), [this](const auto&) { ++answered_; });
  }
  void Get() {
    auto request = Asked<gateway::v1::GetRequest>();
    if (!rpc::CheckRequest(request).ok()) {
      ++answered_;
      return;
    }
    hub_.Get(std::move(request), [this](const auto&) { ++answered_; });
  }

  static std::string NameOf(const gateway::v1::Member& member) {
    return fmt::format("{} {} {}", static_cast<int>(member.service()), member.replica(), member.incarnation());
  }
  // Checks that each write to the API server comes from a replica that may write.
  void CheckWrites() {
    for (const auto& replica : replicas_) {
      if (!replica->token.empty()) attached_.insert(NameOf(replica->OwnerFor(0).member()));
    }
    for (const auto& [request, done] : kube_.writes) {
      if (!request.has_owner()) continue;
      Require(attached_.contains(NameOf(request.owner().member())), "only a replica that has attached writes");
      Require(request.owner().token().empty(), "the token of a session goes no further than the gateway");
      Require(SlotOf(request.owner().key()) == request.owner().slot(), "a write is about a key of its slot");
    }
  }

  void Answer() {
    const auto answer = [this](auto& calls, auto response) {
      CountMessage();
      auto done = std::move(calls.front().second);
      calls.pop_front();
      if (input_.OneIn(4)) return done(absl::UnknownError("nobody knows"));
      input_.Change(response);
      if (input_.OneIn(2)) *response.mutable_object() = makes_.New();
      done(std::move(response));
    };
    switch (input_.Below(4)) {
      case 0:
        if (!kube_.gets.empty()) answer(kube_.gets, gateway::v1::GetResponse());
        return;
      case 1:
        if (kube_.watched.empty()) return;
        return kube_.watched.begin()->second(std::make_shared<const kube::v1::Object>(makes_.New()));
      case 2:
        if (kube_.searched.empty()) return;
        return kube_.searched.begin()->second({.version = input_.OneIn(2) ? "v1" : "", .plural = "replicasets"});
      default:
        if (!kube_.writes.empty()) answer(kube_.writes, gateway::v1::WriteResponse());
    }
  }

  static inline const std::vector<std::string> kWatches = {
      std::string(kube::kWatchJobs),   std::string(kube::kWatchPodGroups), std::string(kube::kWatchJobPods),
      std::string(kube::kWatchQueues), std::string(kube::kWatchCommands),  "pods/scheduler=volcano"};

  Input& input_;
  const About about_;
  ObjectMaker makes_{input_};
  SimTime time_;
  SimLoop loop_{time_, "gateway"};
  gateway::testing::FakeKubeAccess kube_;
  const std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  gateway::MemoryAssignmentStore store_{loop_};
  SeededRandom random_{1};
  Hub hub_{loop_, random_, kube_, store_, *metrics_, kWatches, {.cluster = "c", .version = "1"}};
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::set<std::string> attached_;  // Names of processes that have had a session.
  int64_t version_ = 100;
  int64_t asked_ = 0;
  int64_t answered_ = 0;
};

}  // namespace basalt::fuzz
