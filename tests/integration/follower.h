#pragma once

// A client that follows all objects of a service, and complains about what no watch may do. Used by one thread.
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

// Objects of a service: the method of its stub that watches them, and the object of a response.
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

// `Followed` is one of them.
template <typename Followed>
class Follower {
 public:
  using Response = typename Followed::Response;
  using Object = typename Followed::Object;

  // Begins or goes on, by the newest token, at that replica.
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
    newest_ = versions_;  // What came after the last token may come again.
  }
  // Reads until the condition holds; false: the limit has passed or the stream has ended.
  bool ReadUntil(const std::function<bool(const Response& newest)>& condition,
                 absl::Duration limit = absl::Seconds(30)) {
    // Cut off from another thread: a stream's deadline is set before it begins.
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

  const std::map<std::string, Object>& objects() const { return objects_; }  // By name.
  const std::set<uint32_t>& resets() const { return resets_; }
  // States read since Open that say nothing new.
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
  std::map<std::string, int64_t> versions_;  // By UID, as of the last token.
  std::map<std::string, int64_t> newest_;
  std::set<uint32_t> resets_;
  int repeated_ = 0;
  int states_since_token_ = 0;
  std::unique_ptr<grpc::ClientContext> context_;
  std::unique_ptr<grpc::ClientReader<Response>> reader_;
};

}  // namespace basalt::integration
