#pragma once

// What a replica is told of what the API server answers: no more than its service reads. Pure.
#include "absl/status/status.h"
#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::gateway {

// Of objects that have no message of their own (Secrets, ConfigMaps, Services, NetworkPolicies, claims, workloads,
// Events): who they are and their version; for a job, that it owns them; for a group, Volcano's annotations; of an
// Event, how often it was seen.
void ReduceObject(const v1::Owner& owner, const v1::Resource& resource, kube::v1::Object& object);

// Of a pod that is not the job's: who it is, and who controls it. A job is told that much of what has a name of its
// own.
void ReduceForeign(kube::v1::Object& object);

// The API server's words about a Secret may quote it: code and reason remain.
void ReduceError(const v1::Resource& resource, v1::KubeError& error);
absl::Status ReduceStatus(const v1::Resource& resource, absl::Status status);

}  // namespace basalt::gateway
