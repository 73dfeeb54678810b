#include "common/kube/decode/metadata.h"

#include <algorithm>
#include <charconv>

namespace basalt::kube::decode {
namespace {

int64_t ReadResourceVersion(Reader& reader, const Path& path, Value& value) {
  const std::string_view text = reader.String(path, value);
  int64_t version = 0;
  if (text.empty()) return 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (error != std::errc() || end != text.data() + text.size() || version < 0) {
    reader.Fail(path, "expected a decimal number");
    return 0;
  }
  return version;
}

}  // namespace

void MetaView::Clear() {
  ns = name = uid = {};
  resource_version = generation = creation_ms = deletion_ms = 0;
  deletion_grace_seconds = -1;
  finalizers = seen = false;
  owners.clear();
  labels.clear();
  annotations.clear();
}

std::string_view Lookup(const StringPairs& pairs, std::string_view key) {
  for (const auto& [name, value] : pairs) {
    if (name == key) return value;
  }
  return {};
}

bool Has(const StringPairs& pairs, std::string_view key) {
  return std::any_of(pairs.begin(), pairs.end(), [key](const auto& pair) { return pair.first == key; });
}

void ReadStringMap(Reader& reader, const Path& path, Value& value, StringPairs& pairs) {
  pairs.clear();
  reader.Entries(path, value, [&](std::string_view key, Value& entry) {
    pairs.emplace_back(key, reader.String(path / key, entry));
  });
}

OwnerView ReadOwner(Reader& reader, const Path& path, Value& value) {
  OwnerView owner;
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    if (key == "apiVersion") {
      owner.api_version = reader.String(path / key, member);
    } else if (key == "kind") {
      owner.kind = reader.String(path / key, member);
    } else if (key == "name") {
      owner.name = reader.String(path / key, member);
    } else if (key == "uid") {
      owner.uid = reader.String(path / key, member);
    } else if (key == "controller") {
      owner.controller = reader.Bool(path / key, member);
    } else if (key == "blockOwnerDeletion") {
      owner.block_owner_deletion = reader.Bool(path / key, member);
    }
  });
  return owner;
}

void ReadMeta(Reader& reader, const Path& path, Value& value, MetaView& meta) {
  meta.seen = true;
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    if (key == "name") {
      meta.name = reader.String(path / key, member);
    } else if (key == "namespace") {
      meta.ns = reader.String(path / key, member);
    } else if (key == "uid") {
      meta.uid = reader.String(path / key, member);
    } else if (key == "resourceVersion") {
      meta.resource_version = ReadResourceVersion(reader, path / key, member);
    } else if (key == "generation") {
      meta.generation = reader.Int(path / key, member, 0, INT64_MAX).value_or(0);
    } else if (key == "creationTimestamp") {
      meta.creation_ms = reader.Time(path / key, member);
    } else if (key == "deletionTimestamp") {
      meta.deletion_ms = reader.Time(path / key, member);
    } else if (key == "deletionGracePeriodSeconds") {
      meta.deletion_grace_seconds = reader.Int(path / key, member, 0, INT64_MAX).value_or(-1);
    } else if (key == "finalizers") {
      reader.Elements(path / key, member, [&](const Path&, Value&) { meta.finalizers = true; });
    } else if (key == "ownerReferences") {
      meta.owners.clear();
      reader.Elements(path / key, member,
                      [&](const Path& at, Value& item) { meta.owners.push_back(ReadOwner(reader, at, item)); });
    } else if (key == "labels") {
      ReadStringMap(reader, path / key, member, meta.labels);
    } else if (key == "annotations") {
      ReadStringMap(reader, path / key, member, meta.annotations);
    }
  });
}

void SortUnique(KeyValues& pairs) {
  const auto less = [](const kube::v1::KeyValue& a, const kube::v1::KeyValue& b) { return a.key() < b.key(); };
  if (!std::is_sorted(pairs.begin(), pairs.end(), less)) std::stable_sort(pairs.begin(), pairs.end(), less);
  int kept = 0;
  for (int i = 0; i < pairs.size(); ++i) {
    if (i + 1 < pairs.size() && pairs[i].key() == pairs[i + 1].key()) continue;
    if (kept != i) pairs.SwapElements(kept, i);
    ++kept;
  }
  if (kept < pairs.size()) pairs.DeleteSubrange(kept, pairs.size() - kept);
}

void FillPairs(const StringPairs& pairs, KeyValues& out) {
  out.Reserve(static_cast<int>(pairs.size()));
  for (const auto& [key, value] : pairs) {
    kube::v1::KeyValue& pair = *out.Add();
    pair.set_key(key.data(), key.size());
    pair.set_value(value.data(), value.size());
  }
  SortUnique(out);
}

void FillOwner(const OwnerView& owner, kube::v1::OwnerReference& out) {
  out.set_api_version(owner.api_version.data(), owner.api_version.size());
  out.set_kind(owner.kind.data(), owner.kind.size());
  out.set_name(owner.name.data(), owner.name.size());
  out.set_uid(owner.uid.data(), owner.uid.size());
  out.set_controller(owner.controller);
  out.set_block_owner_deletion(owner.block_owner_deletion);
}

void FillMeta(const MetaView& meta, kube::v1::ObjectMeta& out) {
  out.set_namespace_(meta.ns.data(), meta.ns.size());
  out.set_name(meta.name.data(), meta.name.size());
  out.set_uid(meta.uid.data(), meta.uid.size());
  out.set_resource_version(meta.resource_version);
  out.set_generation(meta.generation);
  out.set_creation_ms(meta.creation_ms);
  out.set_deletion_ms(meta.deletion_ms);
  for (const OwnerView& owner : meta.owners) FillOwner(owner, *out.add_owner_references());
  FillPairs(meta.labels, *out.mutable_labels());
  FillPairs(meta.annotations, *out.mutable_annotations());
}

void ReadNetworkTopology(Reader& reader, const Path& path, Value& value, kube::v1::NetworkTopology& out) {
  reader.Members(path, value, [&](std::string_view key, Value& member) {
    if (key == "mode") {
      out.set_mode(std::string(reader.String(path / key, member)));
    } else if (key == "highestTierAllowed") {
      const std::optional<int64_t> tier = reader.Int(path / key, member, INT64_MIN, INT64_MAX);
      if (tier.has_value()) out.set_highest_tier_allowed(*tier);
    } else if (key == "highestTierName") {
      out.set_highest_tier_name(std::string(reader.String(path / key, member)));
    } else {
      reader.Unknown(path / key);
    }
  });
}

bool ReadEnvelopeMember(Reader& reader, std::string_view key, Value& value, Envelope& envelope) {
  if (key == "metadata") {
    ReadMeta(reader, kRoot / key, value, envelope.meta);
  } else if (key == "apiVersion") {
    envelope.api_version = reader.String(kRoot / key, value);
  } else if (key == "kind") {
    envelope.kind = reader.String(kRoot / key, value);
  } else {
    return false;
  }
  return true;
}

}  // namespace basalt::kube::decode
