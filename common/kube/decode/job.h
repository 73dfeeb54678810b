#pragma once

// Reads a whole Job (job spec 1.3-1.6) from a value of the parser, for .cc files that project objects. Members may have
// any order. Pure.
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/decode/metadata.h"

namespace basalt::kube::decode {

void ReadJob(Reader& reader, Value& value, Envelope& envelope, kube::v1::Job& job);

}  // namespace basalt::kube::decode
