#pragma once

// A peer of pgsvc over a real socket, and two servers for it: the real one with a handler that holds its answers, and
// one whose behaviour a test defines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "basalt/podgroup/v1/podgroup.grpc.pb.h"
#include "common/base/mutex.h"
#include "common/rpc/grpc/grpc_fixture.h"
#include "common/rpc/grpc/peers/peers.h"
#include "common/rpc/grpc/peers/podgroup.h"
#include "common/rpc/grpc/server.h"

namespace basalt::rpc {

using podgroup::v1::CallAnswers;
using podgroup::v1::CallBatch;
using podgroup::v1::DeletePodGroupRequest;
using podgroup::v1::DeletePodGroupResponse;
using podgroup::v1::EnsurePodGroupRequest;
using podgroup::v1::EnsurePodGroupResponse;
using podgroup::v1::PodGroupService;

// A timeout that no test reaches.
inline constexpr absl::Duration kLong = absl::Minutes(10);

using ScriptedStream = grpc::ServerReaderWriter<CallAnswers, CallBatch>;
using CodeCounts = std::map<absl::StatusCode, int>;

inline CallAnswers::Answer AnswerOf(const CallBatch::Call& call) {
  CallAnswers::Answer answer;
  answer.set_id(call.id());
  answer.mutable_ensured()->mutable_pod_group()->mutable_meta()->set_name(call.ensure().name());
  return answer;
}

// A server of the test's own, with a thread for each stream.
class ScriptedGroups final : public PodGroupService::Service {
 public:
  // Handles a stream; gets the stream's number.
  using Script = std::function<grpc::Status(ScriptedStream&, int)>;

  grpc::Status Call(grpc::ServerContext*, ScriptedStream* stream) override {
    const int number = ++streams;
    Script script;
    {
      MutexLock lock(mutex_);
      script = script_;
    }
    return script ? script(*stream, number) : AnswerAll(*stream);
  }
  void SetScript(Script script) BASALT_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    script_ = std::move(script);
  }

  // Answers until the client ends its side. Answers the last call of a message first.
  grpc::Status AnswerAll(ScriptedStream& stream) {
    stream.SendInitialMetadata();
    CallBatch batch;
    while (stream.Read(&batch)) {
      ++messages;
      CallAnswers answers;
      for (int i = batch.calls_size() - 1; i >= 0; --i) *answers.add_answers() = AnswerOf(batch.calls(i));
      stream.Write(answers);
    }
    return grpc::Status::OK;
  }

  std::atomic<int> streams = 0;
  std::atomic<int> messages = 0;

 private:
  Mutex mutex_;
  Script script_ BASALT_GUARDED_BY(mutex_);
};

// Answers when the test requests it. Used on the loop of the server.
struct HoldingGroups final : PodGroupHandler {
  void EnsurePodGroup(EnsurePodGroupRequest request, Done<EnsurePodGroupResponse> done) override {
    if (request.name() == "busy") return done(absl::FailedPreconditionError("an older version is still going"));
    if (hold) {
      held.push_back(std::move(done));
      most_held = std::max(most_held, held.size());
      return;
    }
    EnsurePodGroupResponse response;
    response.mutable_pod_group()->mutable_meta()->set_name(request.name());
    done(std::move(response));
  }
  void DeletePodGroup(DeletePodGroupRequest request, Done<DeletePodGroupResponse> done) override {
    DeletePodGroupResponse response;
    response.mutable_pod_group()->mutable_meta()->set_uid(request.uid());
    response.set_gone(true);
    done(std::move(response));
  }
  void AnswerHeld() {
    for (auto& done : std::exchange(held, {})) done(EnsurePodGroupResponse());
  }

  bool hold = false;
  std::vector<Done<EnsurePodGroupResponse>> held;
  size_t most_held = 0;
};

// The results of the calls 0, 1, 2 … of a test. Used on the loop of the client.
class CallTally {
 public:
  explicit CallTally(size_t calls) : statuses_(calls), names_(calls), times_(calls) {}
  Done<EnsurePodGroupResponse> Expect(size_t call) {
    return [this, call](absl::StatusOr<EnsurePodGroupResponse> answer) {
      ++times_[call];
      statuses_[call] = answer.status();
      if (answer.ok()) names_[call] = answer->pod_group().meta().name();
      if (++answered_ == times_.size()) all_.set_value();
    };
  }
  // Requires: not on the loop.
  void Wait(Loop& client) {
    all_.get_future().get();
    On(client, [] {});  // The task of the last answer has ended.
  }
  // Requires: Wait has returned.
  CodeCounts CountCodes() const {
    CodeCounts counts;
    for (const absl::Status& status : statuses_) ++counts[status.code()];
    return counts;
  }
  bool EachOnce() const {
    return std::all_of(times_.begin(), times_.end(), [](int times) { return times == 1; });
  }
  const absl::Status& status(size_t call) const { return statuses_[call]; }
  const std::string& name(size_t call) const { return names_[call]; }

 private:
  std::vector<absl::Status> statuses_;
  std::vector<std::string> names_;
  std::vector<int> times_;
  size_t answered_ = 0;
  std::promise<void> all_;
};

// Its clock and its timers stand still until the test moves them. Tasks run on the inner loop.
class StoppedLoop final : public Loop {
 public:
  explicit StoppedLoop(Loop& inner) : inner_(inner) {}
  absl::Time Now() const override { return absl::UnixEpoch() + absl::Milliseconds(ms_.load()); }
  TimerId RunAt(absl::Time when, Task task) override {
    timers_.emplace(std::pair(when, ++last_id_), std::move(task));
    return last_id_;
  }
  void Cancel(TimerId id) override {
    std::erase_if(timers_, [id](const auto& timer) { return timer.first.second == id; });
  }
  void Post(Task task) override { inner_.Post(std::move(task)); }
  bool IsCurrent() const override { return inner_.IsCurrent(); }
  // Any thread but that of the inner loop.
  void Move(absl::Duration by) {
    On(inner_, [&] {
      ms_ += absl::ToInt64Milliseconds(by);
      while (!timers_.empty() && timers_.begin()->first.first <= Now()) {
        Task task = std::move(timers_.begin()->second);
        timers_.erase(timers_.begin());
        task();
      }
    });
  }

 private:
  Loop& inner_;
  std::atomic<int64_t> ms_ = 0;
  TimerId last_id_ = kNoTimer;
  std::map<std::pair<absl::Time, TimerId>, Task> timers_;
};

class GroupCallsTest : public ::testing::Test {
 protected:
  ~GroupCallsTest() override {
    peer_.reset();
    directory_.reset();
    server_.reset();
    server_loop_.reset();
    client_loop_.reset();
  }

  void Start(std::unique_ptr<GrpcService> service, Loop* client = nullptr) {
    std::vector<std::unique_ptr<GrpcService>> services;
    services.push_back(std::move(service));
    server_ = *GrpcServer::Start({}, std::move(services));
    directory_ = MakeGrpcPeerDirectory(client == nullptr ? *client_loop_ : *client);
    peer_ = On(*client_loop_, [&] { return PeerOf(gateway::v1::SERVICE_KIND_POD_GROUP); });
  }
  // Returns the peer at the server's address. On the loop of the client.
  std::shared_ptr<PodGroupPeer> PeerOf(gateway::v1::ServiceKind service) {
    gateway::v1::Member member;
    member.set_service(service);
    member.set_address(address());
    return std::static_pointer_cast<PodGroupPeer>(directory_->Services(member));
  }
  ScriptedGroups& StartScripted(Loop* client = nullptr) {
    auto scripted = std::make_unique<ScriptedGroups>();
    ScriptedGroups& server = *scripted;
    Start(WrapService(std::move(scripted)), client);
    return server;
  }
  void StartReal(Loop* client = nullptr) { Start(MakePodGroupService(*server_loop_, handler_, limiter_), client); }
  // Destroys the client before the loop that it was given.
  void StopClient() {
    peer_.reset();
    directory_.reset();
    On(*client_loop_, [] {});
  }
  std::string address() const { return fmt::format("127.0.0.1:{}", server_->port()); }

  static constexpr size_t kValueBytes = 256 << 10;
  // Makes all calls in one turn of the loop.
  void Ask(CallTally& tally, size_t first, size_t last, absl::Duration timeout = kLong, size_t bytes = 0) {
    On(*client_loop_, [&] {
      for (size_t call = first; call < last; ++call) {
        EnsurePodGroupRequest request;
        request.set_name(fmt::format("group-{}", call));
        for (size_t left = bytes; left > 0; left -= std::min(left, kValueBytes)) {
          request.add_annotations()->set_value(std::string(std::min(left, kValueBytes), 'x'));
        }
        peer_->EnsurePodGroup(std::move(request), timeout, tally.Expect(call));
      }
    });
  }
  absl::Status AskOne() {
    CallTally tally(1);
    Ask(tally, 0, 1);
    tally.Wait(*client_loop_);
    return tally.status(0);
  }
  // Asks for the group that no handler makes.
  absl::Status AskBusy() {
    CallTally tally(1);
    On(*client_loop_, [&] {
      EnsurePodGroupRequest request;
      request.set_name("busy");
      peer_->EnsurePodGroup(request, kLong, tally.Expect(0));
    });
    tally.Wait(*client_loop_);
    return tally.status(0);
  }
  void WaitUntilHeld(size_t calls) {
    while (On(*server_loop_, [&] { return handler_.held.size(); }) < calls) std::this_thread::yield();
  }
  void Hold() {
    On(*server_loop_, [&] { handler_.hold = true; });
  }

  std::unique_ptr<Loop> server_loop_ = MakeThreadLoop("server");
  std::unique_ptr<Loop> client_loop_ = MakeThreadLoop("client");
  HoldingGroups handler_;
  const std::shared_ptr<InflightLimiter> limiter_ = std::make_shared<InflightLimiter>();
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<PeerDirectory> directory_;
  std::shared_ptr<PodGroupPeer> peer_;
};

}  // namespace basalt::rpc
