#include "tests/bench/queues/queue_load.h"

#include <fmt/format.h>

#include "common/kube/command.h"
#include "common/kube/kinds.h"
#include "common/kube/names.h"
#include "tests/bench/jobs/bed.h"
#include "tests/bench/jobs/workload.h"

namespace basalt::bench {

std::string QueueName(int number) { return fmt::format("queue-{}", number); }

std::string GroupName(std::string_view queue, int number) { return fmt::format("{}-g-{}", queue, number); }

actors::ApiRequest CreateQueue(const std::string& name, std::string_view parent) {
  return {"POST", std::string(kQueuesPath),
          fmt::format(R"({{"apiVersion":"{}","kind":"Queue","metadata":{{"name":"{}"}},"spec":{{"weight":1,)"
                      R"("parent":"{}"}}}})",
                      kube::kSchedulingApiVersion, name, parent)};
}

std::vector<actors::ApiRequest> CreateGroups(std::string_view queue, int count) {
  std::vector<actors::ApiRequest> requests;
  for (int i = 0; i < count; ++i) {
    requests.push_back(
        {"POST", std::string(kGroupsPath),
         fmt::format(R"({{"apiVersion":"{}","kind":"PodGroup","metadata":{{"name":"{}"}},"spec":{{"minMember":1,)"
                     R"("minResources":{{"cpu":"10m"}},"queue":"{}"}},"status":{{"phase":"Pending"}}}})",
                     kube::kSchedulingApiVersion, GroupName(queue, i), queue)});
  }
  return requests;
}

actors::ApiRequest SetPhase(const std::string& group, std::string_view phase) {
  return {"PATCH", fmt::format("{}/{}", kGroupsPath, group), fmt::format(R"({{"status":{{"phase":"{}"}}}})", phase),
          actors::kMergePatchType};
}

std::vector<actors::ApiRequest> ChangePhases(std::string_view queue, int groups, int from, int count) {
  std::vector<actors::ApiRequest> requests;
  for (int i = from; i < from + count; ++i) {
    requests.push_back(SetPhase(GroupName(queue, i % groups), i / groups % 2 == 0 ? "Running" : "Pending"));
  }
  return requests;
}

actors::ApiRequest OperateQueue(const std::string& name, const std::string& uid, std::string_view action) {
  return CreateCommand(name, action,
                       kube::ControllerReference(kube::kSchedulingApiVersion, kube::kQueues.name, name, uid,
                                                 /*blocks_deletion=*/false));
}

}  // namespace basalt::bench
