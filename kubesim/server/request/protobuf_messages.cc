#include "kubesim/server/request/protobuf_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace basalt::kubesim::protobuf {
namespace {

// The types that may be the outermost message of a body. DeleteOptions exist in every group and are not listed.
struct BodyRow {
  const char* api_version;
  const char* kinds;  // Separated by blanks.
};
constexpr BodyRow kBodies[] = {
    {"v1",
     "Binding ConfigMap Endpoints Event LimitRange Namespace Node PersistentVolume PersistentVolumeClaim Pod "
     "ResourceQuota Secret Service ServiceAccount"},
    {"apps/v1", "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet"},
    {"autoscaling/v1", "Scale"},
    {"batch/v1", "CronJob Job"},
    {"coordination.k8s.io/v1", "Lease"},
    {"networking.k8s.io/v1", "NetworkPolicy"},
    {"policy/v1", "Eviction PodDisruptionBudget"},
    {"policy/v1beta1", "Eviction"},
    {"scheduling.k8s.io/v1", "PriorityClass"},
    {"storage.k8s.io/v1", "StorageClass"},
};

std::string_view Cut(std::string_view& text, std::string_view separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view head = text.substr(0, end);
  text.remove_prefix(std::min(end + separator.size(), text.size()));
  return head;
}

bool Drop(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

struct Index {
  std::map<std::string_view, Message> messages;
  std::vector<std::string> faults;
};

// Parses the type of a field. Returns false if no table has `type`.
bool ParseField(const Index& index, std::string_view type, Field* field) {
  static const std::map<std::string_view, Kind>& kinds = *new std::map<std::string_view, Kind>{
      {"text", Kind::kText},           {"bytes", Kind::kBytes},
      {"flag", Kind::kFlag},           {"int", Kind::kInt},
      {"Quantity", Kind::kQuantity},   {"Time", Kind::kTime},
      {"MicroTime", Kind::kMicroTime}, {"IntOrString", Kind::kIntOrString},
      {"FieldsV1", Kind::kFieldsV1},   {"RawExtension", Kind::kRawExtension},
      {"gone", Kind::kGone},
  };
  field->is_inline = field->name == ".";
  if (Drop(type, "*")) {
    field->shape = Shape::kList;
  } else if (Drop(type, "{}")) {
    field->shape = Shape::kMap;
  } else {
    field->zero_shown = Drop(type, "?") || Drop(type, "!");
  }
  const auto message = index.messages.find(type);
  if (message != index.messages.end()) {
    field->kind = Kind::kMessage;
    field->message = &message->second;
    return true;
  }
  const auto kind = kinds.find(type);
  if (kind == kinds.end()) return false;
  field->kind = kind->second;
  return true;
}

void ParseRow(const MessageRow& row, Index& index) {
  for (std::string_view rest = row.fields; !rest.empty();) {
    const std::string_view whole = Cut(rest, ", ");
    std::string_view type = whole;
    const std::string_view digits = Cut(type, " ");
    Field field{.name = Cut(type, " ")};
    uint32_t number = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (number == 0 || field.name.empty() || !ParseField(index, type, &field) ||
        !index.messages.at(row.name).fields.emplace(number, field).second) {
      index.faults.push_back(fmt::format("{}: {}", row.name, whole));
    }
  }
}

Index MakeIndex() {
  const std::span<const MessageRow> tables[] = {MetaMessages(), VolumeMessages(), PodMessages(), CoreMessages(),
                                                WorkloadMessages()};
  Index index;
  for (const auto& table : tables) {
    for (const MessageRow& row : table) {
      if (!index.messages.emplace(row.name, Message{.name = row.name, .fields = {}}).second) {
        index.faults.push_back(fmt::format("{} is listed twice", row.name));
      }
    }
  }
  for (const auto& table : tables) {
    for (const MessageRow& row : table) ParseRow(row, index);
  }
  return index;
}

const Index& TheIndex() {
  static const Index& index = *new Index(MakeIndex());
  return index;
}

}  // namespace

const Message* FindBody(std::string_view api_version, std::string_view kind) {
  bool known = kind == "DeleteOptions";
  for (const BodyRow& row : kBodies) {
    if (row.api_version != api_version) continue;
    for (std::string_view rest = row.kinds; !rest.empty();) known |= Cut(rest, " ") == kind;
  }
  const auto found = TheIndex().messages.find(kind);
  return known && found != TheIndex().messages.end() ? &found->second : nullptr;
}

const std::vector<std::string>& TableFaults() { return TheIndex().faults; }

}  // namespace basalt::kubesim::protobuf
