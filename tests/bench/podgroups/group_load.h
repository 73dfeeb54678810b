#pragma once

// Requests that create pods and their owners for the benches of pod groups. Pure.
#include <string>
#include <string_view>
#include <vector>

#include "kubesim/actors/client/api.h"
#include "tests/bench/jobs/bed.h"

namespace basalt::bench {

enum class Form { kVolcano, kKai };

std::string_view SchedulerOf(Form form);

struct PodOwner {
  std::string api_version, kind, name, uid;
};
// `labels` are the members of a JSON object, without its braces.
actors::ApiRequest CreatePod(const std::string& name, std::string_view scheduler, const PodOwner* owner = nullptr,
                             std::string_view labels = "");
actors::ApiRequest CreateReplicaSet(const std::string& name, std::string_view scheduler, int pods);
// Defines the kind with a schema that accepts every field.
actors::ApiRequest DefineLeaderWorkerSets();
inline constexpr std::string_view kLeaderWorkerSetsPath =
    "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets";
actors::ApiRequest CreateLeaderWorkerSet(const std::string& name, int size);

// Returns the writes of a controller for a new pod without an owner: a group, and the link to the group.
std::vector<actors::ApiRequest> GroupBarePod(Form form, std::string_view pod, std::string_view uid);

}  // namespace basalt::bench
