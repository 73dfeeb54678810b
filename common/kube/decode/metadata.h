#pragma once

// Reads the parts that every object has, as views into the parser's buffer, and fills messages from them. For .cc files
// that project objects. Pure; the views are valid until the parser reads its next text.
#include <string_view>
#include <utility>
#include <vector>

#include "basalt/kube/v1/kube.pb.h"
#include "common/kube/decode/json_reader.h"

namespace basalt::kube::decode {

using StringPairs = std::vector<std::pair<std::string_view, std::string_view>>;

struct OwnerView {
  std::string_view api_version;
  std::string_view kind;
  std::string_view name;
  std::string_view uid;
  bool controller = false;
  bool block_owner_deletion = false;
};

// Metadata as views into the parser's buffer. The caller reuses the object, so that its lists keep their memory.
struct MetaView {
  std::string_view ns;
  std::string_view name;
  std::string_view uid;
  int64_t resource_version = 0;
  int64_t generation = 0;
  int64_t creation_ms = 0;
  int64_t deletion_ms = 0;
  int64_t deletion_grace_seconds = -1;
  bool finalizers = false;
  bool seen = false;
  std::vector<OwnerView> owners;
  StringPairs labels;
  StringPairs annotations;

  void Clear();
};

// Returns the value of that key. The view's data() is null if the key is absent.
std::string_view Lookup(const StringPairs& pairs, std::string_view key);
bool Has(const StringPairs& pairs, std::string_view key);

void ReadMeta(Reader& reader, const Path& path, Value& value, MetaView& meta);
OwnerView ReadOwner(Reader& reader, const Path& path, Value& value);
void ReadStringMap(Reader& reader, const Path& path, Value& value, StringPairs& pairs);

using KeyValues = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;
void FillPairs(const StringPairs& pairs, KeyValues& out);
void FillOwner(const OwnerView& owner, kube::v1::OwnerReference& out);
void FillMeta(const MetaView& meta, kube::v1::ObjectMeta& out);
// Sorts by key, and keeps the last of equal keys.
void SortUnique(KeyValues& pairs);
void ReadNetworkTopology(Reader& reader, const Path& path, Value& value, kube::v1::NetworkTopology& out);

// The members at the top of every object.
struct Envelope {
  std::string_view api_version;
  std::string_view kind;
  MetaView meta;
};

// Returns true if the member is apiVersion, kind or metadata, which it reads.
bool ReadEnvelopeMember(Reader& reader, std::string_view key, Value& value, Envelope& envelope);

}  // namespace basalt::kube::decode
