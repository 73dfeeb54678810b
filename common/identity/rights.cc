#include "common/identity/rights.h"

#include <iterator>

namespace basalt::identity {
namespace {

// Replicas of a service forward calls of people and tools to each other, so rows for readers and operators name the
// service, too.
constexpr uint32_t kServices = Only({Role::kJobsvc, Role::kPgsvc, Role::kQueuesvc});
constexpr uint32_t kReaders = Only({Role::kReader, Role::kOperator});
constexpr uint32_t kOperators = Only({Role::kOperator});
constexpr uint32_t kJobs = Only({Role::kJobsvc});
constexpr uint32_t kGroups = Only({Role::kPgsvc});
constexpr uint32_t kQueues = Only({Role::kQueuesvc});
constexpr uint32_t kAll = kServices | kReaders | Only({Role::kGateway});

constexpr std::string_view kDefaultNamespace = "default";  // The namespace of the Commands of queues.

constexpr UserRight kEveryUser{.kind = UserRight::Kind::kEveryUser};

constexpr UserRight Job(std::string_view verb) {
  return {.kind = UserRight::Kind::kKubernetes, .verb = verb, .group = "batch.volcano.sh", .resource = "jobs"};
}
constexpr UserRight PodGroup(std::string_view verb) {
  return {
      .kind = UserRight::Kind::kKubernetes, .verb = verb, .group = "scheduling.volcano.sh", .resource = "podgroups"};
}
constexpr UserRight Queue(std::string_view verb) {
  return {.kind = UserRight::Kind::kKubernetes, .verb = verb, .group = "scheduling.volcano.sh", .resource = "queues"};
}
constexpr UserRight Command(std::string_view in_namespace = {}) {
  return {.kind = UserRight::Kind::kKubernetes,
          .verb = "create",
          .group = "bus.volcano.sh",
          .resource = "commands",
          .in_namespace = in_namespace};
}

constexpr char kGateway[] = "basalt.gateway.v1.GatewayService";
constexpr char kUser[] = "basalt.gateway.v1.UserService";
constexpr char kJob[] = "basalt.job.v1.JobService";
constexpr char kQuery[] = "basalt.podgroup.v1.PodGroupQueryService";
constexpr char kQueue[] = "basalt.queue.v1.QueueService";

constexpr Right kRights[] = {
    {kGateway, "Attach", kServices, "a replica gets its slots and what is in them"},
    {kGateway, "Write", kServices, "a replica writes to Kubernetes"},
    {kGateway, "Get", kServices, "a replica reads an object from the API server"},
    {kGateway, "GetTopology", kAll, "who leads, and where members are", kEveryUser},
    {kUser, "LogIn", 0, "a user of Kubernetes gets a token of the suite", {.kind = UserRight::Kind::kAnybody}},
    {kUser, "ReviewAccess", kServices, "a replica asks what a user may do"},
    {kJob, "SubmitJob", kOperators | kJobs, "a job is made", Job("create")},
    {kJob, "GetJob", kReaders | kJobs, "a job is read", Job("get")},
    {kJob, "ListJobs", kReaders | kJobs, "jobs are read", Job("list")},
    {kJob, "WatchJobs", kReaders | kJobs, "jobs are watched", Job("watch")},
    {kJob, "GetJobHistory", kReaders | kJobs, "the history of a job is read", Job("get")},
    {kJob, "CommandJob", kOperators | kJobs, "a job is told what to do", Command()},
    {kJob, "ScaleJob", kOperators | kJobs, "replicas of a job are changed", Job("patch")},
    {kJob, "ExplainJob", kReaders | kJobs, "why a job is where it is", Job("get")},
    {kJob, "DeleteJob", kOperators | kJobs, "a job is deleted", Job("delete")},
    {"basalt.job.v1.JobPartService", "*", kJobs, "replicas answer for each other's slots"},
    {kQuery, "GetPodGroup", kReaders | kGroups, "a pod group is read", PodGroup("get")},
    {kQuery, "ListPodGroups", kReaders | kGroups, "pod groups are read", PodGroup("list")},
    {kQuery, "WatchPodGroups", kReaders | kGroups, "pod groups are watched", PodGroup("watch")},
    {kQuery, "GetPodGroupHistory", kReaders | kGroups, "the history of a pod group is read", PodGroup("get")},
    {kQuery, "ListGroupingRules", kReaders | kGroups, "the rules of grouping are read", kEveryUser},
    {kQuery, "TryGrouping", kReaders | kGroups, "rules of grouping are tried on objects of the caller's", kEveryUser},
    {kQuery, "ExplainGrouping", kReaders | kGroups, "why a pod is in its group", PodGroup("get")},
    {"basalt.podgroup.v1.PodGroupPartService", "*", kGroups, "replicas answer for each other's slots"},
    {"basalt.podgroup.v1.PodGroupService", "Call", kJobs, "jobsvc asks for the groups of its jobs"},
    {kQueue, "GetQueue", kReaders | kQueues, "a queue is read", Queue("get")},
    {kQueue, "ListQueues", kReaders | kQueues, "queues are read", Queue("list")},
    {kQueue, "WatchQueues", kReaders | kQueues, "queues are watched", Queue("watch")},
    {kQueue, "GetQueueHistory", kReaders | kQueues, "the history of a queue is read", Queue("get")},
    {kQueue, "CommandQueue", kOperators | kQueues, "a queue is opened or closed", Command(kDefaultNamespace)},
    {kQueue, "CreateQueue", kOperators | kQueues, "a queue is made", Queue("create")},
    {kQueue, "DeleteQueue", kOperators | kQueues, "a queue is deleted", Queue("delete")},
    {kQueue, "ExplainQueue", kReaders | kQueues, "why a queue is where it is", Queue("get")},
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

const Right* FindRightOfRequest(std::string_view request) {
  constexpr std::string_view kEnd = "Request";
  const size_t dot = request.rfind('.');
  if (dot == std::string_view::npos || !request.ends_with(kEnd)) return nullptr;
  const std::string_view package = request.substr(0, dot + 1);
  const std::string_view method = request.substr(dot + 1, request.size() - dot - 1 - kEnd.size());
  for (const Right& right : kRights) {
    if (right.method == method && right.service.starts_with(package)) return &right;
  }
  return nullptr;
}

bool MayCall(Role role, std::string_view path) {
  const Right* const right = FindRight(path);
  return right != nullptr && (right->roles & Only({role})) != 0;
}

}  // namespace basalt::identity
