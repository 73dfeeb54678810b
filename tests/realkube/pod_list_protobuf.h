#pragma once

// Reads Kubernetes' protobuf of a PodList straight into the gateway's projection, as a gateway that requested protobuf
// would read it. Only the comparison of encodings uses this decoder. Field numbers are those of
// k8s.io/api/core/v1/generated.proto.
#include <string>
#include <string_view>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"

namespace basalt::gateway {

// Returns an empty list if `bytes` is no such message.
std::vector<kube::v1::Object> DecodePodListProtobuf(std::string_view bytes);

// Returns a text of the fields on which both decoders must agree.
std::string Fingerprint(const kube::v1::Pod& pod);

}  // namespace basalt::gateway
