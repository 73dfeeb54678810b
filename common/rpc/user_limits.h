#pragma once

#include "common/time/token_bucket.h"

namespace basalt::rpc {

// How much users of Kubernetes may ask of one process. 0 calls a second: no limit.
struct UserLimits {
  TokenBucketOptions user = {.per_second = 20, .burst = 100};             // Calls of one user.
  TokenBucketOptions per_namespace = {.per_second = 200, .burst = 1000};  // Calls of users to objects of one namespace.
};

}  // namespace basalt::rpc
