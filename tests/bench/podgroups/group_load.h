#pragma once

// Pods and their owners as the benches of pod groups send them. Pure.
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
// `labels`: members of a JSON object.
actors::ApiRequest CreatePod(const std::string& name, std::string_view scheduler, const PodOwner* owner = nullptr,
                             std::string_view labels = "");
actors::ApiRequest CreateReplicaSet(const std::string& name, std::string_view scheduler, int pods);
// The kind, served with whatever it says.
actors::ApiRequest DefineLeaderWorkerSets();
inline constexpr std::string_view kLeaderWorkerSetsPath =
    "/apis/leaderworkerset.x-k8s.io/v1/namespaces/default/leaderworkersets";
actors::ApiRequest CreateLeaderWorkerSet(const std::string& name, int size);

// What a controller writes for a pod that is new and that nobody owns: a group, and the link to it.
std::vector<actors::ApiRequest> GroupBarePod(Form form, std::string_view pod, std::string_view uid);

}  // namespace basalt::bench
