#pragma once

// There is one function for each kind that the gateway projects. Jobs come from common/kube/decode. For the .cc files
// of this folder only.
#include "basalt/gateway/v1/gateway.pb.h"
#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/decode/json_reader.h"
#include "common/kube/decode/metadata.h"
#include "gateway/translate/decoder.h"

namespace basalt::gateway {

using kube::decode::Envelope;
using kube::decode::FillPairs;
using kube::decode::Has;
using kube::decode::kRoot;
using kube::decode::Lookup;
using kube::decode::MetaView;
using kube::decode::OwnerView;
using kube::decode::Path;
using kube::decode::Reader;
using kube::decode::SortUnique;
using kube::decode::StringPairs;
using kube::decode::Value;

// Reads a map of resources to quantities: sorted, in their canonical texts.
void ReadResources(Reader& reader, const Path& path, Value& value,
                   google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& resources);

// Each of the following functions reads one whole object, with its members in any order.
void ReadPod(Reader& reader, Value& value, Envelope& envelope, kube::v1::Pod& pod);
void ReadPodGroup(Reader& reader, Value& value, Envelope& envelope, kube::v1::PodGroup& group);
void ReadQueue(Reader& reader, Value& value, Envelope& envelope, kube::v1::Queue& queue);
void ReadCommand(Reader& reader, Value& value, Envelope& envelope, kube::v1::Command& command);
void ReadPriorityClass(Reader& reader, Value& value, Envelope& envelope, kube::v1::PriorityClass& priority_class);
void ReadWorkload(Reader& reader, Value& value, Envelope& envelope, kube::v1::Workload& workload);
void ReadKaiPodGroup(Reader& reader, Value& value, Envelope& envelope, bool with_status, kube::v1::KaiPodGroup& group);
void ReadKaiQueue(Reader& reader, Value& value, Envelope& envelope, kube::v1::KaiQueue& queue);
// Returns false if `wants` does not want the object, of which only the identity was read. A null `wants` wants
// everything.
bool ReadOwnerObject(Reader& reader, Value& value, Envelope& envelope, const Wants& wants,
                     kube::v1::GenericObject& generic);
void ReadClusterRule(Reader& reader, Value& value, Envelope& envelope, kube::v1::GenericObject& generic);
void ReadGeneric(Reader& reader, Value& value, Envelope& envelope, kube::v1::GenericObject& generic);
void ReadStatus(Reader& reader, Value& value, v1::KubeError& error);

}  // namespace basalt::gateway
