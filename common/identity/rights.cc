#include "common/identity/rights.h"

#include <iterator>

namespace basalt::identity {
namespace {

// Replicas of a service hand calls of people and tools on to each other: rows for readers and operators name the
// service, too.
constexpr uint32_t kServices = Only({Role::kJobsvc, Role::kPgsvc, Role::kQueuesvc});
constexpr uint32_t kReaders = Only({Role::kReader, Role::kOperator});
constexpr uint32_t kOperators = Only({Role::kOperator});
constexpr uint32_t kJobs = Only({Role::kJobsvc});
constexpr uint32_t kGroups = Only({Role::kPgsvc});
constexpr uint32_t kQueues = Only({Role::kQueuesvc});
constexpr uint32_t kAll = kServices | kReaders | Only({Role::kGateway});

constexpr char kGateway[] = "basalt.gateway.v1.GatewayService";
constexpr char kJob[] = "basalt.job.v1.JobService";
constexpr char kQuery[] = "basalt.podgroup.v1.PodGroupQueryService";
constexpr char kQueue[] = "basalt.queue.v1.QueueService";

constexpr Right kRights[] = {
    {kGateway, "Attach", kServices, "a replica gets its slots and what is in them"},
    {kGateway, "Write", kServices, "a replica writes to Kubernetes"},
    {kGateway, "Get", kServices, "a replica reads an object from the API server"},
    {kGateway, "GetTopology", kAll, "who leads, and where members are"},
    {kJob, "SubmitJob", kOperators | kJobs, "a job is made"},
    {kJob, "GetJob", kReaders | kJobs, "a job is read"},
    {kJob, "ListJobs", kReaders | kJobs, "jobs are read"},
    {kJob, "WatchJobs", kReaders | kJobs, "jobs are watched"},
    {kJob, "GetJobHistory", kReaders | kJobs, "the history of a job is read"},
    {kJob, "CommandJob", kOperators | kJobs, "a job is told what to do"},
    {kJob, "ScaleJob", kOperators | kJobs, "replicas of a job are changed"},
    {kJob, "ExplainJob", kReaders | kJobs, "why a job is where it is"},
    {kJob, "DeleteJob", kOperators | kJobs, "a job is deleted"},
    {"basalt.job.v1.JobPartService", "*", kJobs, "replicas answer for each other's slots"},
    {kQuery, "GetPodGroup", kReaders | kGroups, "a pod group is read"},
    {kQuery, "ListPodGroups", kReaders | kGroups, "pod groups are read"},
    {kQuery, "WatchPodGroups", kReaders | kGroups, "pod groups are watched"},
    {kQuery, "GetPodGroupHistory", kReaders | kGroups, "the history of a pod group is read"},
    {kQuery, "ListGroupingRules", kReaders | kGroups, "the rules of grouping are read"},
    {kQuery, "TryGrouping", kReaders | kGroups, "rules of grouping are tried on objects of the caller's"},
    {kQuery, "ExplainGrouping", kReaders | kGroups, "why a pod is in its group"},
    {"basalt.podgroup.v1.PodGroupPartService", "*", kGroups, "replicas answer for each other's slots"},
    {"basalt.podgroup.v1.PodGroupService", "Call", kJobs, "jobsvc asks for the groups of its jobs"},
    {kQueue, "GetQueue", kReaders | kQueues, "a queue is read"},
    {kQueue, "ListQueues", kReaders | kQueues, "queues are read"},
    {kQueue, "WatchQueues", kReaders | kQueues, "queues are watched"},
    {kQueue, "GetQueueHistory", kReaders | kQueues, "the history of a queue is read"},
    {kQueue, "CommandQueue", kOperators | kQueues, "a queue is opened or closed"},
    {kQueue, "CreateQueue", kOperators | kQueues, "a queue is made"},
    {kQueue, "DeleteQueue", kOperators | kQueues, "a queue is deleted"},
    {kQueue, "ExplainQueue", kReaders | kQueues, "why a queue is where it is"},
    {"basalt.queue.v1.QueuePartService", "*", kQueues, "replicas answer for each other's slots"},
    {"basalt.replica.v1.ReplicaService", "ExportRecords", kServices, "records move with their slots"},
    {"grpc.health.v1.Health", "*", kAll, "whether a process serves"},
    {"grpc.reflection.v1alpha.ServerReflection", "*", kOperators, "which services there are"},
    {"grpc.channelz.v1.Channelz", "*", kOperators, "which connections there are"},
};

}  // namespace

std::span<const Right> AllRights() { return kRights; }

const Right* FindRight(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (!path.starts_with('/') || slash == 0) return nullptr;
  const std::string_view service = path.substr(1, slash - 1);
  const std::string_view method = path.substr(slash + 1);
  for (const Right& right : kRights) {
    if (right.service == service && (right.method == "*" || right.method == method)) return &right;
  }
  return nullptr;
}

bool MayCall(Role role, std::string_view path) {
  const Right* const right = FindRight(path);
  return right != nullptr && (right->roles & Only({role})) != 0;
}

}  // namespace basalt::identity
