#pragma once

// A Kubernetes for the tests of one controller: kubesim's API server in memory, which gets requests as from the
// gateway, and its changes, which are projected as by the gateway. A small script of faults stands in front of the
// server. Simulated time, one thread.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/base/json.h"
#include "common/base/random.h"
#include "common/exec/sim_loop.h"
#include "common/http/http.h"
#include "common/kube/kinds.h"
#include "gateway/translate/decoder.h"
#include "kubesim/server/api_server.h"

namespace basalt::testing {

// The server's loop. Its clock can be set, and `after_task` runs after each of its tasks, to find the changes.
class ServerLoop final : public SimLoop {
 public:
  explicit ServerLoop(SimTime& time) : SimLoop(time, "kube") {}
  absl::Time Now() const override { return SimLoop::Now() + ahead; }
  TimerId RunAt(absl::Time when, Task task) override { return SimLoop::RunAt(when - ahead, Followed(std::move(task))); }
  void Post(Task task) override { SimLoop::Post(Followed(std::move(task))); }

  absl::Duration ahead;  // The lead of this clock over simulated time.
  std::function<void()> after_task;

 private:
  Task Followed(Task task) {
    return [this, task = std::move(task)]() mutable {
      task();
      if (after_task) after_task();
    };
  }
};

class RigKube {
 public:
  // A change of one object. The references are valid during the call.
  struct Change {
    const std::string& resource;     // "pods", "jobs.batch.volcano.sh"; for an owner of pods the id of its watch.
    const kube::v1::Object& object;  // If `gone`, the last state, with the version of the object's end.
    bool gone = false;
    std::shared_ptr<const json::value> stored;
  };
  using Listener = std::function<void(const Change& change)>;
  // A write of the controller under test, and its answer.
  struct Logged {
    std::string verb;    // Is create, patch, delete or deletecollection.
    std::string plural;  // Ends in "/status" for that sub-resource.
    std::string name;
    int code = 0;  // 0 if the write was accepted.
    bool dry_run = false;
  };
  using Refuse = std::function<bool(const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error)>;
  using RefuseGet = std::function<bool(const gateway::v1::GetRequest& request, gateway::v1::KubeError& error)>;

  explicit RigKube(SimTime& time);

  kubesim::ApiServer& server() { return *server_; }
  ServerLoop& loop() { return loop_; }
  absl::Time Now() const { return loop_.Now(); }

  // Calls `listener` for each change in the order of versions, once the change is stored, at the latest when time goes
  // on.
  void Follow(Listener listener) { listeners_.push_back(std::move(listener)); }
  // Notifies the listeners of all changes until now.
  void Sync();
  // From now on, listeners also get changes of the owners of pods of that watch, "objects/apps/v1/ReplicaSet".
  void FollowOwners(std::string_view watch);
  // Returns the object in the form in which the gateway sends it to a replica with an interest by that watch.
  std::optional<kube::v1::Object> ReadOwner(std::string_view watch, std::string_view ns, std::string_view name);

  // ---- the script of faults: if a function returns true, its error replaces the server's answer ----
  Refuse refuse;
  RefuseGet refuse_get;

  // ---- requests of the controller under test, which get the gateway's answers ----
  gateway::v1::WriteResponse Write(const gateway::v1::WriteRequest& request);
  gateway::v1::GetResponse Get(const gateway::v1::GetRequest& request);
  const std::vector<Logged>& log() const { return log_; }
  void Log(Logged entry) { log_.push_back(std::move(entry)); }
  void ClearLog() { log_.clear(); }
  // Counts accepted writes that are no dry runs. Empty arguments match everything.
  int Count(std::string_view verb, std::string_view plural = {}, std::string_view name = {}) const;
  int WritesButEvents() const;
  int gets() const { return gets_; }

  // ---- requests of users and other programs, which pass by the script and the log ----
  gateway::v1::WriteResponse WriteAsUser(const gateway::v1::WriteRequest& request);
  http::Response Ask(http::Request request);
  // Change an object of a kind with namespaces. A refusal of the server fails the test.
  void Create(const kube::Kind& kind, json::value body);
  void Replace(const kube::Kind& kind, std::string_view ns, std::string_view name, const json::value& body);
  void Merge(const kube::Kind& kind, std::string_view ns, std::string_view name, const json::value& patch,
             std::string_view subresource = {});
  void Delete(const kube::Kind& kind, std::string_view ns, std::string_view name, const json::object& options = {});

  static std::string ResourceOf(const kube::Kind& kind);

 private:
  struct Followed {
    std::string resource;
    gateway::ObjectKind kind;
    int64_t seen = 0;
    std::string watch = {};  // Is set for owners of pods.
  };
  gateway::v1::WriteResponse Carry(const gateway::v1::WriteRequest& request);
  void Must(std::string_view method, const std::string& target, const json::value& body,
            std::string_view type = "application/json");
  gateway::Decoder& DecoderOf(gateway::ObjectKind kind);
  kube::v1::Object Project(gateway::ObjectKind kind, const std::string& text);

  ServerLoop loop_;
  SeededRandom random_{7};
  std::unique_ptr<kubesim::ApiServer> server_;
  std::map<gateway::ObjectKind, gateway::Decoder> decoders_;
  std::vector<Followed> followed_;
  std::map<std::string, std::string, std::less<>> owner_watches_;  // Has the resource of each watch of owners.
  int64_t synced_ = 0;
  std::vector<Listener> listeners_;
  std::vector<Logged> log_;
  int gets_ = 0;
};

}  // namespace basalt::testing
