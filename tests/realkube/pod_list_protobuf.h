#pragma once

// For the comparison of encodings only: Kubernetes' protobuf of a PodList, read straight into the gateway's projection
// as a gateway that asked for protobuf would. Field numbers are those of k8s.io/api/core/v1/generated.proto.
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::gateway {

// Empty where it is none.
std::vector<kube::v1::Object> DecodePodListProtobuf(std::string_view bytes);

// What both decoders must agree on.
std::string Fingerprint(const kube::v1::Pod& pod);

}  // namespace basalt::gateway
