#pragma once

// The watches of the services: for each kind of object the service, its messages, and how a call begins.
#include <grpcpp/client_context.h>
#include <grpcpp/completion_queue.h>

#include <string_view>

#include "basalt/job/v1/job.grpc.pb.h"
#include "basalt/podgroup/v1/pod_group_query.grpc.pb.h"
#include "basalt/queue/v1/queue.grpc.pb.h"

namespace basalt::cli {

struct WatchedJobs {
  using Service = job::v1::JobService;
  using Request = job::v1::WatchJobsRequest;
  using Response = job::v1::WatchJobsResponse;
  using Object = job::v1::Job;
  static constexpr std::string_view kService = "jobsvc";

  static const Object& ObjectOf(const Response& response) { return response.job(); }
  static Object& ObjectOf(Response& response) { return *response.mutable_job(); }
  static auto Begin(Service::Stub& stub, grpc::ClientContext& context, const Request& request,
                    grpc::CompletionQueue& queue, void* tag) {
    return stub.AsyncWatchJobs(&context, request, &queue, tag);
  }
};

struct WatchedPodGroups {
  using Service = podgroup::v1::PodGroupQueryService;
  using Request = podgroup::v1::WatchPodGroupsRequest;
  using Response = podgroup::v1::WatchPodGroupsResponse;
  using Object = podgroup::v1::PodGroup;
  static constexpr std::string_view kService = "pgsvc";

  static const Object& ObjectOf(const Response& response) { return response.pod_group(); }
  static Object& ObjectOf(Response& response) { return *response.mutable_pod_group(); }
  static auto Begin(Service::Stub& stub, grpc::ClientContext& context, const Request& request,
                    grpc::CompletionQueue& queue, void* tag) {
    return stub.AsyncWatchPodGroups(&context, request, &queue, tag);
  }
};

struct WatchedQueues {
  using Service = queue::v1::QueueService;
  using Request = queue::v1::WatchQueuesRequest;
  using Response = queue::v1::WatchQueuesResponse;
  using Object = queue::v1::Queue;
  static constexpr std::string_view kService = "queuesvc";

  static const Object& ObjectOf(const Response& response) { return response.queue(); }
  static Object& ObjectOf(Response& response) { return *response.mutable_queue(); }
  static auto Begin(Service::Stub& stub, grpc::ClientContext& context, const Request& request,
                    grpc::CompletionQueue& queue, void* tag) {
    return stub.AsyncWatchQueues(&context, request, &queue, tag);
  }
};

}  // namespace basalt::cli
