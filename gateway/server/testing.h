#pragma once

// A hub with a scripted Kubernetes and replicas that speak the protocol, for tests.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/exec/sim_loop.h"
#include "common/obs/metrics.h"
#include "common/time/sim_time.h"
#include "gateway/route/object_ref.h"
#include "gateway/server/hub.h"
#include "gateway/session/testing.h"

namespace basalt::gateway::testing {

class FakeKubeAccess : public KubeAccess {
  // An entry under `key` in `all` until the end of this object.
  template <typename Base, typename Callback>
  class Kept : public Base {
   public:
    Kept(std::map<std::string, Callback>& all, std::string key) : all_(all), key_(std::move(key)) {}
    ~Kept() override { all_.erase(key_); }

   private:
    std::map<std::string, Callback>& all_;
    const std::string key_;
  };
  class KeptKind : public Kept<KindWatch, KindListener*> {
   public:
    KeptKind(FakeKubeAccess& kube, const std::string& key) : Kept(kube.watched_kinds, key), kube_(kube) {}
    void Read(const std::string& ns, const std::string& name, rpc::Done<ReadObject> done) override {
      kube_.kind_reads.emplace_back(fmt::format("{}/{}", ns, name), std::move(done));
    }

   private:
    FakeKubeAccess& kube_;
  };

 public:
  void Write(v1::WriteRequest request, const std::string&, rpc::Done<v1::WriteResponse> done) override {
    writes.emplace_back(std::move(request), std::move(done));
  }
  void Get(v1::GetRequest request, rpc::Done<v1::GetResponse> done) override {
    gets.emplace_back(std::move(request), std::move(done));
  }
  std::unique_ptr<ObjectWatch> Watch(const v1::Resource& resource, const std::string& ns, const std::string& name,
                                     ObjectSeen seen) override {
    const std::string key = fmt::format("{}/{} {}/{}", resource.version(), resource.plural(), ns, name);
    EXPECT_TRUE(watched.emplace(key, std::move(seen)).second) << key << " is watched already";
    return std::make_unique<Kept<ObjectWatch, ObjectSeen>>(watched, key);
  }
  std::unique_ptr<KindSearch> FindKind(const WantedKind& wanted, bool absent, KindFound found) override {
    const std::string name = wanted.plural.empty() ? wanted.version + "/" + wanted.kind : wanted.plural;
    const std::string key =
        fmt::format("{}{}{}{}", name, wanted.group.empty() ? "" : ".", wanted.group, absent ? " again" : "");
    EXPECT_TRUE(searched.emplace(key, std::move(found)).second) << key << " is looked for already";
    return std::make_unique<Kept<KindSearch, KindFound>>(searched, key);
  }
  std::unique_ptr<KindWatch> WatchKind(const v1::Resource& resource, KindListener& listener) override {
    const std::string key = fmt::format("{}/{}", resource.version(), resource.plural());
    EXPECT_TRUE(watched_kinds.emplace(key, &listener).second) << key << " is watched already";
    return std::make_unique<KeptKind>(*this, key);
  }
  void DropUnsent(const std::function<bool(const v1::Owner&)>& is_stale) override {
    for (const auto& [request, done] : writes) stale += is_stale(request.owner()) ? 1 : 0;
  }
  absl::Time ApiNow() override { return absl::FromUnixSeconds(77); }
  int64_t ApiTimeMs() override { return 77'000; }

  void Answer(absl::StatusOr<v1::WriteResponse> answer) {
    auto done = std::move(writes.front().second);
    writes.pop_front();
    done(std::move(answer));
  }

  std::deque<std::pair<v1::WriteRequest, rpc::Done<v1::WriteResponse>>> writes;
  std::deque<std::pair<v1::GetRequest, rpc::Done<v1::GetResponse>>> gets;
  std::map<std::string, ObjectSeen> watched;                             // By "version/plural namespace/name".
  std::map<std::string, KindListener*> watched_kinds;                    // By "version/plural".
  std::deque<std::pair<std::string, rpc::Done<ReadObject>>> kind_reads;  // By "namespace/name".
  // By "plural.group" or "version/Kind.group", with " again" behind it if the kind is known to be absent.
  std::map<std::string, KindFound> searched;
  int stale = 0;
};

// One replica's end of one stream. It takes everything at once, and acknowledges it unless `acknowledges` is false.
class FakeReplica : public rpc::AttachSink {
 public:
  FakeReplica(SimTime& time, Loop& loop, rpc::GatewayHandler& gateway, v1::Member self)
      : loop_(loop), self_(std::move(self)), time_(time) {
    session_ = gateway.OnAttach(*this);
  }
  // The sink stays valid until OnClosed.
  ~FakeReplica() override {
    EndSession();
    *exists_ = false;
  }

  v1::Hello Hello() const {
    v1::Hello hello;
    hello.set_cluster("c");
    hello.set_version("1");
    *hello.mutable_protocols() = rpc::RangeOf(rpc::kProtocols);
    hello.set_slot_count(kSlotCount);
    *hello.mutable_self() = self_;
    hello.set_keeps_records(true);
    hello.set_name_secret(fmt::format("the name secret of {}", self_.replica()));
    return hello;
  }
  void SayHello() { SayHello(Hello()); }
  void SayHello(const v1::Hello& hello) {
    v1::AttachRequest request;
    *request.mutable_hello() = hello;
    Say(std::move(request));
  }
  void Say(v1::AttachRequest request) {
    if (session_) session_->OnRequest(std::move(request));
    time_.RunDueTasks();
  }

  void Send(std::string bytes) override {
    v1::AttachBatch batch;
    EXPECT_TRUE(batch.ParseFromString(bytes));
    for (const v1::Item& item : batch.items()) {
      items.push_back(TextOf(item));
      if (item.has_begin()) epochs[item.begin().slot()] = item.begin().epoch();
      if (item.has_end()) ++ends;
      if (item.has_assignment()) assignment = item.assignment();
      if (item.has_session_start()) token = item.session_start().token();
      if (item.has_grant()) grants.push_back(item.grant());
    }
    const int64_t sequence = batch.sequence();
    loop_.Post([this, alive = alive_, sequence] {
      if (!*alive) return;
      session_->OnSent();
      if (!acknowledges) return;
      v1::AttachRequest request;
      request.mutable_ack()->set_sequence(sequence);
      session_->OnRequest(std::move(request));
    });
  }
  bool is_name_proven() const override { return is_certified; }
  void Close(const absl::Status& status) override {
    if (closed) return;
    closed = status;
    *alive_ = false;
    // The transport does the same: OnClosed comes later, on the loop.
    loop_.Post([this, exists = exists_] {
      if (*exists) EndSession();
    });
  }

  // Returns the items without those that only count: the start of the session, begins and ends, progress.
  std::string TakeText() {
    std::string text;
    for (const std::string& item : items) {
      if (item.starts_with("begin") || item.starts_with("end") || item.starts_with("progress") ||
          item.starts_with("session")) {
        continue;
      }
      text += (text.empty() ? "" : " | ") + item;
    }
    items.clear();
    return text;
  }
  v1::Owner OwnerFor(uint32_t slot) const {
    v1::Owner owner;
    owner.set_token(token);
    *owner.mutable_member() = self_;
    owner.set_slot(slot);
    const auto it = epochs.find(slot);
    owner.set_slot_epoch(it == epochs.end() ? 0 : it->second);
    return owner;
  }

  std::string token;          // The token of the session.
  bool is_certified = false;  // A certificate proves the name.
  bool acknowledges = true;
  std::vector<std::string> items;
  std::map<uint32_t, int64_t> epochs;
  int ends = 0;
  v1::Assignment assignment;
  std::vector<v1::SlotGrant> grants;
  std::optional<absl::Status> closed;

 private:
  void EndSession() {
    *alive_ = false;
    if (session_) session_->OnClosed();
    session_.reset();
  }

  Loop& loop_;
  const v1::Member self_;
  SimTime& time_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);   // False once the stream has ended.
  std::shared_ptr<bool> exists_ = std::make_shared<bool>(true);  // False once this object is destroyed.
  std::unique_ptr<rpc::AttachSession> session_;
};

inline v1::Member MemberOf(v1::ServiceKind service, const std::string& replica, const std::string& incarnation = "a") {
  v1::Member member;
  member.set_service(service);
  member.set_replica(replica);
  member.set_incarnation(incarnation);
  return member;
}

// A hub whose watches are listed, and the replicas that attach to it.
template <class Store = MemoryAssignmentStore>
class HubBench : public ::testing::Test {
 protected:
  explicit HubBench(std::vector<std::string> watches = {"jobs.batch.volcano.sh"},
                    HubOptions options = {.cluster = "c", .version = "1"})
      : hub(loop, random, kube, store, *metrics, watches, std::move(options)) {
    for (WatchIndex i = 0; i < watches.size(); ++i) hub.cache().Replace(i, {}, 10);
  }
  ~HubBench() override {
    for (const auto& replica : replicas) replica->Close(absl::OkStatus());
    time.RunDueTasks();
    replicas.clear();
    time.RunDueTasks();
  }
  // The replica has said nothing yet.
  FakeReplica& Connect(const std::string& name, const std::string& incarnation = "a",
                       v1::ServiceKind service = v1::SERVICE_KIND_JOB) {
    replicas.push_back(std::make_unique<FakeReplica>(time, loop, hub, MemberOf(service, name, incarnation)));
    return *replicas.back();
  }
  FakeReplica& Attach(const std::string& name, const std::string& incarnation = "a",
                      v1::ServiceKind service = v1::SERVICE_KIND_JOB) {
    FakeReplica& replica = Connect(name, incarnation, service);
    replica.SayHello();
    return replica;
  }
  // Attaches a replica that has its slots. All replicas have taken what they were sent.
  FakeReplica& Settle(const std::string& name, v1::ServiceKind service = v1::SERVICE_KIND_JOB) {
    FakeReplica& replica = Attach(name, "a", service);
    time.Advance(absl::Seconds(1));
    for (const auto& each : replicas) each->items.clear();
    return replica;
  }

  SimTime time;
  SimLoop loop{time, "gateway"};
  FakeKubeAccess kube;
  std::unique_ptr<obs::Metrics> metrics = obs::MakeMetrics();
  Store store{loop};
  SeededRandom random{1};
  Hub hub;
  std::vector<std::unique_ptr<FakeReplica>> replicas;
};

}  // namespace basalt::gateway::testing
