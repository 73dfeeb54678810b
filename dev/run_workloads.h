#pragma once

// Plain workloads, such as a Deployment, which the API server's own controllers turn into pods.
#include <string>
#include <vector>

#include "common/base/json.h"
#include "common/http/curl/curl_client.h"

namespace basalt::dev {

// Creates the objects, waits until each has all the pods that it wants (a Job: until it is complete), and shows the pod
// groups of the pods. Returns exit code 0 when each object got there within 50 seconds, else basaltctl's. Blocks; any
// thread but a loop's.
int RunWorkloads(const std::vector<std::string>& ctl_flags, const http::CurlOptions& kube,
                 const std::vector<json::value>& objects);

}  // namespace basalt::dev
