#pragma once

// Reduces an answer of the API server to the fields that the replica's service reads. Pure.
#include "absl/status/status.h"
#include "basalt/gateway/v1/gateway.pb.h"

namespace basalt::gateway {

// Reduces objects that have no message of their own (Secrets, ConfigMaps, Services, NetworkPolicies, claims, workloads,
// Events) to their identity and version. For a job, the references to that job as an owner stay; for a group, Volcano's
// annotations; of an Event, its count.
void ReduceObject(const v1::Owner& owner, const v1::Resource& resource, kube::v1::Object& object);

// Reduces a pod that is not the job's to its identity and its controller. A job learns that much of a pod that holds
// one of its names.
void ReduceForeign(kube::v1::Object& object);

// Keeps only code and reason of an error about a Secret: the API server's message may quote the Secret.
void ReduceError(const v1::Resource& resource, v1::KubeError& error);
absl::Status ReduceStatus(const v1::Resource& resource, absl::Status status);

}  // namespace basalt::gateway
