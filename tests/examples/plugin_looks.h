#pragma once

// What plugins of a job are to have made of its pods and beside them, as those who run in the pods find it. Each adds
// failures to the test that calls it.
#include <string>
#include <string_view>

#include "common/base/json.h"
#include "tests/examples/scene.h"

namespace basalt::examples {

// Of the pod's first container: an environment variable, or null; where a volume is mounted, or nothing.
json::value EnvOf(const Scene& scene, const std::string& pod, std::string_view name);
std::string MountOf(const Scene& scene, const std::string& pod, std::string_view volume);

// env: each container knows its index by both names.
void ExpectIndices(const Scene& scene, std::string_view task, int replicas);
// ssh: a pair of keys in a Secret, the same for all, where ssh looks for them, and hosts that it connects to unasked.
void ExpectKeys(const Scene& scene, const std::string& job, const std::string& pod, std::string_view path);
// svc: hosts that are found by name, also below /etc/volcano, a line each and none after the last.
void ExpectHosts(const Scene& scene, const std::string& job, std::string_view task, int replicas);

}  // namespace basalt::examples
