#pragma once

// Checks what the plugins of a job have added to its pods and made beside them, as programs in the pods find it. Each
// function adds failures to the test that calls it.
#include <string>
#include <string_view>

#include "common/base/json.h"
#include "tests/examples/scene.h"

namespace basalt::examples {

// Returns an environment variable of the pod's first container, or null.
json::value EnvOf(const Scene& scene, const std::string& pod, std::string_view name);
// Returns the path at which the pod's first container mounts the volume, or "".
std::string MountOf(const Scene& scene, const std::string& pod, std::string_view volume);

// Checks the plugin env: each container has its index under both names.
void ExpectIndices(const Scene& scene, std::string_view task, int replicas);
// Checks the plugin ssh: all pods have the same pair of keys from a Secret at the path where ssh looks for them, and
// ssh connects to the job's hosts without a question.
void ExpectKeys(const Scene& scene, const std::string& job, const std::string& pod, std::string_view path);
// Checks the plugin svc: hosts are found by name, and files below /etc/volcano list them, one a line without a line
// break after the last.
void ExpectHosts(const Scene& scene, const std::string& job, std::string_view task, int replicas);

}  // namespace basalt::examples
