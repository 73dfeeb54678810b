#pragma once

#include "common/time/token_bucket.h"

namespace basalt::rpc {

// How many calls users of Kubernetes may make to one process. 0 calls a second means no limit.
struct UserLimits {
  TokenBucketOptions user = {.per_second = 20, .burst = 100};             // Calls of one user.
  TokenBucketOptions per_namespace = {.per_second = 200, .burst = 1000};  // Users' calls to objects of one namespace.
};

}  // namespace basalt::rpc
