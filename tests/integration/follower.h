#pragma once

// A client that watches all objects of a service and fails the test if the watch breaks a promise. One thread uses a
// client.
#include <google/protobuf/util/message_differencer.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include "basalt/job/v1/job.grpc.pb.h"
#include "basalt/podgroup/v1/pod_group_query.grpc.pb.h"
#include "basalt/queue/v1/queue.grpc.pb.h"
#include "common/base/slots.h"
#include "common/kube/object_key.h"
#include "tests/integration/replicas.h"

namespace basalt::integration {

// Binds the objects of a service to the stub's method that watches them and to the field of a response that holds one.
template <typename StubType, typename RequestType, typename ResponseType, auto kWatch, auto kObject>
struct FollowedObjects {
  using Stub = StubType;
  using Request = RequestType;
  using Response = ResponseType;
  using Object = std::remove_cvref_t<decltype((std::declval<const Response&>().*kObject)())>;
  static auto Watch(Stub& stub, grpc::ClientContext& context, const Request& request) {
    return (stub.*kWatch)(&context, request);
  }
  static const Object& ObjectOf(const Response& response) { return (response.*kObject)(); }
};

using FollowedJobs = FollowedObjects<job::v1::JobService::Stub, job::v1::WatchJobsRequest, job::v1::WatchJobsResponse,
                                     &job::v1::JobService::Stub::WatchJobs, &job::v1::WatchJobsResponse::job>;
using FollowedPodGroups =
    FollowedObjects<podgroup::v1::PodGroupQueryService::Stub, podgroup::v1::WatchPodGroupsRequest,
                    podgroup::v1::WatchPodGroupsResponse, &podgroup::v1::PodGroupQueryService::Stub::WatchPodGroups,
                    &podgroup::v1::WatchPodGroupsResponse::pod_group>;
using FollowedQueues =
    FollowedObjects<queue::v1::QueueService::Stub, queue::v1::WatchQueuesRequest, queue::v1::WatchQueuesResponse,
                    &queue::v1::QueueService::Stub::WatchQueues, &queue::v1::WatchQueuesResponse::queue>;

// `Followed` is an instance of FollowedObjects.
template <typename Followed>
class Follower {
 public:
  using Response = typename Followed::Response;
  using Object = typename Followed::Object;

  // Opens the watch at that replica, from the newest token if there is one.
  void Open(typename Followed::Stub& stub) {
    Close();
    typename Followed::Request request;
    request.set_token(token_);
    repeated_ = 0;
    versions_ = newest_;
    context_ = std::make_unique<grpc::ClientContext>();
    reader_ = Followed::Watch(stub, *context_, request);
  }
  void Close() {
    if (reader_ == nullptr) return;
    context_->TryCancel();
    reader_->Finish();
    reader_.reset();
    newest_ = versions_;  // The server may repeat states that came after the last token.
  }
  // Reads until the condition holds. Returns false if the limit has passed or the stream has ended.
  bool ReadUntil(const std::function<bool(const Response& newest)>& condition,
                 absl::Duration limit = absl::Seconds(30)) {
    // Another thread cancels the stream at the limit, because a stream's deadline can only be set before the stream
    // begins.
    auto over = std::make_shared<std::atomic<bool>>(false);
    std::thread guard([&, over] {
      if (!Eventually([&] { return over->load(); }, limit)) context_->TryCancel();
    });
    bool held = false;
    Response response;
    while (!held && reader_->Read(&response)) {
      Apply(response);
      held = condition(response);
      response.Clear();
    }
    over->store(true);
    guard.join();
    return held;
  }
  bool ReadUntilSynced() {
    return ReadUntil([](const Response& response) { return response.type() == Response::TYPE_SYNCED; });
  }
  // A token follows each state within a second.
  bool ReadUntilNewestToken() {
    return states_since_token_ == 0 || ReadUntil([this](const Response&) { return states_since_token_ == 0; });
  }

  const std::map<std::string, Object>& objects() const { return objects_; }  // The known objects by name.
  const std::set<uint32_t>& resets() const { return resets_; }
  // The number of states since Open() that repeated a known state.
  int repeated() const { return repeated_; }

 private:
  void Apply(const Response& response) {
    const Object& object = Followed::ObjectOf(response);
    const kube::v1::ObjectMeta& meta = object.object().meta();
    switch (response.type()) {
      case Response::TYPE_STATE: {
        ++states_since_token_;
        if (google::protobuf::util::MessageDifferencer::Equals(objects_[meta.name()], object)) ++repeated_;
        int64_t& version = newest_[meta.uid()];
        EXPECT_GE(meta.resource_version(), version) << meta.name() << ": an older state";
        version = meta.resource_version();
        objects_[meta.name()] = object;
        slots_[meta.name()] = response.slot();
        EXPECT_EQ(response.slot(), SlotOf(kube::ObjectKey(meta.namespace_(), meta.name())));
        break;
      }
      case Response::TYPE_DELETED:
        objects_.erase(meta.name());
        break;
      case Response::TYPE_RESET:
        for (const uint32_t slot : response.slots()) {
          resets_.insert(slot);
          std::erase_if(objects_, [&](const auto& known) { return slots_[known.first] == slot; });
        }
        break;
      default:
        break;
    }
    if (response.token().empty()) return;
    token_ = response.token();
    states_since_token_ = 0;
    versions_ = newest_;
  }

  std::string token_;
  std::map<std::string, Object> objects_;
  std::map<std::string, uint32_t> slots_;
  std::map<std::string, int64_t> versions_;  // Newest versions by UID, as of the last token.
  // Newest versions by UID.
  std::map<std::string, int64_t> newest_;
  std::set<uint32_t> resets_;
  int repeated_ = 0;
  int states_since_token_ = 0;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<Response>> reader_;
};

}  // namespace basalt::integration
