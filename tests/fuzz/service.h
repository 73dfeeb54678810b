#pragma once

// A replica of a service as an input makes it live: records that a process before it has left, batches of the gateway,
// answers to writes and reads, calls of clients, and time. Whatever comes, the replica goes on. One thread.
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/kv/kv_store.h"
#include "common/rpc/feed.h"
#include "common/rpc/peers.h"
#include "common/rpc/request_bounds.h"
#include "common/runtime/replica.h"
#include "common/runtime/replica_fixture.h"
#include "common/time/sim_time.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/objects.h"

namespace basalt::fuzz {

class ServiceRun {
 public:
  enum class Begins { kEmpty, kWithRecords };

  virtual ~ServiceRun();
  // Until the input is used up.
  void Run(Begins begins);

 protected:
  ServiceRun(Input& input, gateway::v1::ServiceKind service);

  // ---- of the service ----
  virtual std::unique_ptr<runtime::Controller> MakeController(runtime::Context& context) = 0;
  // Once the replica is there, which the handlers call.
  virtual void MakeApi(runtime::Replica& replica) = 0;
  virtual void Call() = 0;
  // A record of the slot, of one of the kinds that the service has. `key`: of an object in that slot.
  virtual void PutRecord(uint32_t slot, const std::string& key, kv::WriteBatch& batch) = 0;
  // Ends before the replica does.
  virtual void DropApi() = 0;

  Input& input() { return input_; }
  SimLoop& loop() { return loop_; }
  // A request within the bounds that whatever carries requests keeps; where it is not, an empty one.
  template <typename Request>
  Request Asked() {
    auto request = input_.Make<Request>();
    return rpc::CheckRequest(request).ok() ? request : Request();
  }
  // The token of the user who calls; empty in half of the calls, which a tool makes then.
  std::string AnyUserToken() { return input_.OneIn(2) ? input_.Text() : std::string(); }
  // Whatever the answer is.
  template <typename Response>
  static rpc::Done<Response> Ignored() {
    return [](const absl::StatusOr<Response>&) {};
  }
  // A client reads some of the feed, and goes.
  template <typename Response>
  void Drain(std::unique_ptr<rpc::Feed<Response>> feed) {
    for (int i = 0; i < 8 && !feed->End(); ++i) {
      Response response;
      while (feed->Take(&response)) {
      }
      feed->Tick();
      time_.RunDueTasks();
    }
  }

 private:
  class Peers;

  void PutRecords();
  void Step();
  // Where the records are what the target is about, messages are not counted.
  void CountMessage() {
    if (begins_ == Begins::kEmpty) CountRun();
  }
  void Send(gateway::v1::Item item);
  void BeginStream();
  void Open(uint32_t slot);
  kube::v1::Object& AnyObject();
  void Show(kube::v1::Object object);
  void Hide();
  void SendTo(const kube::v1::Object& object, const std::string& watch, bool gone);
  void Answer();
  kube::v1::Object Written(const gateway::v1::WriteRequest& request);

  Input& input_;
  const gateway::v1::ServiceKind service_;
  Begins begins_ = Begins::kEmpty;
  SimTime time_;
  SimLoop loop_{time_, "service"};
  SeededRandom random_{1};
  const std::unique_ptr<kv::KvStore> store_;
  runtime::ScriptedGateway gateway_;
  const std::unique_ptr<Peers> peers_;
  std::unique_ptr<runtime::Replica> replica_;

  ObjectMaker makes_{input_};
  std::map<std::string, kube::v1::Object> objects_;  // In Kubernetes, by watch and key.
  std::set<uint32_t> open_;                          // Slots.
  std::map<std::string, int64_t> marks_;             // By watch.
  int64_t version_ = 100;
  int streams_ = 0;
};

}  // namespace basalt::fuzz
