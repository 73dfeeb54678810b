#pragma once

// Runs a replica of a service by an input: records of an earlier process, batches of the gateway, answers to writes and
// reads, calls of clients, and time. No input may stop the replica. For one thread.
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
  // Runs until the input is used up.
  void Run(Begins begins);

 protected:
  ServiceRun(Input& input, gateway::v1::ServiceKind service);

  // ---- implemented by the service ----
  virtual std::unique_ptr<runtime::Controller> MakeController(runtime::Context& context) = 0;
  // Called once the replica exists. The API's handlers call the replica.
  virtual void MakeApi(runtime::Replica& replica) = 0;
  virtual void Call() = 0;
  // Adds a record of the slot, of any kind that the service has. `key` is the key of an object in the slot.
  virtual void PutRecord(uint32_t slot, const std::string& key, kv::WriteBatch& batch) = 0;
  // Destroys the API, before the replica is destroyed.
  virtual void DropApi() = 0;

  Input& input() { return input_; }
  SimLoop& loop() { return loop_; }
  // Returns a request within the limits that every transport enforces. Returns an empty one if the input's request
  // exceeds them.
  template <typename Request>
  Request Asked() {
    auto request = input_.Make<Request>();
    return rpc::CheckRequest(request).ok() ? request : Request();
  }
  // Returns the token of the calling user. Empty in half of the calls, which then come from a tool.
  std::string AnyUserToken() { return input_.OneIn(2) ? input_.Text() : std::string(); }
  // Returns a callback that ignores the answer.
  template <typename Response>
  static rpc::Done<Response> Ignored() {
    return [](const absl::StatusOr<Response>&) {};
  }
  // Reads some of the feed as a client does, and then drops the feed.
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
  // Messages are not counted if the records are the target's subject.
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
  std::map<std::string, kube::v1::Object> objects_;  // The objects in Kubernetes, by watch and key.
  std::set<uint32_t> open_;                          // The open slots.
  std::map<std::string, int64_t> marks_;             // By watch.
  int64_t version_ = 100;
  int streams_ = 0;
};

}  // namespace basalt::fuzz
