#include <algorithm>
#include <string>

#include "common/base/json.h"
#include "gateway/translate/fields.h"

namespace basalt::gateway {
namespace {

// No rule reads a text as long as a script or a whole configuration.
constexpr size_t kLongestText = 1024;

constexpr std::string_view kLastApplied = "kubectl.kubernetes.io/last-applied-configuration";

// These parts of a pod template are large, and do not show how its pods belong together.
constexpr std::string_view kLeftOut[] = {"containers",   "initContainers", "ephemeralContainers",  "volumes",
                                         "affinity",     "tolerations",    "volumeClaimTemplates", "env",
                                         "managedFields"};

// These are the names of objects to which a status leads. The rest of a status counts pods, and changes with each of
// them.
constexpr std::string_view kReadOfStatus[] = {"rayClusterName", "activeServiceStatus", "pendingServiceStatus",
                                              "childQueues"};

template <size_t kSize>
bool IsIn(const std::string_view (&names)[kSize], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

void Trim(json::value& value) {
  if (json::object* const object = value.if_object()) {
    for (auto member = object->begin(); member != object->end();) {
      const std::string_view name(member->key());
      const bool is_long = member->value().is_string() && member->value().get_string().size() > kLongestText;
      if (is_long || IsIn(kLeftOut, name)) {
        member = object->erase(member);
        continue;
      }
      Trim(member->value());
      ++member;
    }
  } else if (json::array* const list = value.if_array()) {
    for (json::value& element : *list) Trim(element);
  }
}

void TrimStatus(json::value& value) {
  json::object* const object = value.if_object();
  if (object == nullptr) return;
  for (auto member = object->begin(); member != object->end();) {
    if (!IsIn(kReadOfStatus, member->key())) {
      member = object->erase(member);
      continue;
    }
    TrimStatus(member->value());
    ++member;
  }
}

// Returns an empty object if the text is no JSON, since the parser has checked only the outermost braces.
json::value ParsedOf(std::string_view text) {
  absl::StatusOr<json::value> value = ParseJson(text);
  return value.ok() ? *std::move(value) : json::value(json::object());
}

json::object TextsOf(const StringPairs& pairs) {
  json::object texts;
  for (const auto& [key, value] : pairs) {
    if (key != kLastApplied) texts[key] = value;
  }
  return texts;
}

json::object MetadataOf(const MetaView& meta) {
  json::object metadata{{"name", meta.name}, {"uid", meta.uid}};
  if (!meta.ns.empty()) metadata["namespace"] = meta.ns;
  if (!meta.labels.empty()) metadata["labels"] = TextsOf(meta.labels);
  if (!meta.annotations.empty()) metadata["annotations"] = TextsOf(meta.annotations);
  json::array owners;
  for (const OwnerView& owner : meta.owners) {
    owners.push_back(json::object{{"apiVersion", owner.api_version},
                                  {"kind", owner.kind},
                                  {"name", owner.name},
                                  {"uid", owner.uid},
                                  {"controller", owner.controller}});
  }
  if (!owners.empty()) metadata["ownerReferences"] = std::move(owners);
  return metadata;
}

void SetIdentity(const MetaView& meta, kube::v1::GenericObject& generic) {
  kube::v1::ObjectMeta& identity = *generic.mutable_meta();
  identity.set_namespace_(std::string(meta.ns));
  identity.set_name(std::string(meta.name));
  identity.set_uid(std::string(meta.uid));
  identity.set_resource_version(meta.resource_version);
  identity.set_deletion_ms(meta.deletion_ms);
}

// Returns false if `wants` does not want the object.
bool ReadObject(Reader& reader, Value& value, Envelope& envelope, bool trims, const Wants& wants,
                kube::v1::GenericObject& generic) {
  const MetaView& meta = envelope.meta;
  const auto is_wanted = [&] { return wants == nullptr || meta.name.empty() || wants(meta.ns, meta.name); };
  json::object object;
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    // The API server writes metadata before the parts that are large.
    if ((key != "spec" && key != "status") || !is_wanted()) return;
    json::value part = ParsedOf(reader.RawObject(kRoot / key, member));
    if (key == "spec") {
      if (trims) Trim(part);
    } else {
      TrimStatus(part);
    }
    if (!part.as_object().empty()) object[key] = std::move(part);
  });
  SetIdentity(meta, generic);
  if (!is_wanted()) return false;
  object["metadata"] = MetadataOf(meta);
  generic.set_json(ToText(object));
  return true;
}

}  // namespace

bool ReadOwnerObject(Reader& reader, Value& value, Envelope& envelope, const Wants& wants,
                     kube::v1::GenericObject& generic) {
  return ReadObject(reader, value, envelope, /*trims=*/true, wants, generic);
}

void ReadClusterRule(Reader& reader, Value& value, Envelope& envelope, kube::v1::GenericObject& generic) {
  ReadObject(reader, value, envelope, /*trims=*/false, nullptr, generic);
}

}  // namespace basalt::gateway
