#include "tests/realkube/pod_list_protobuf.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

#include "common/kube/names.h"
#include "common/kube/text.h"

namespace basalt::gateway {
namespace {

struct Field {
  uint32_t number = 0;
  uint64_t varint = 0;
  std::string_view bytes;
};

// Iterates over the fields of one message. Ends at bytes that are no valid field.
class Fields {
 public:
  explicit Fields(std::string_view bytes) : rest_(bytes) {}
  bool Next(Field& field) {
    uint64_t tag = 0;
    if (rest_.empty() || !Varint(tag)) return false;
    field.number = static_cast<uint32_t>(tag >> 3);
    switch (tag & 7) {
      case 0:
        return Varint(field.varint);
      case 1:
        return Skip(8);
      case 2: {
        uint64_t size = 0;
        if (!Varint(size) || size > rest_.size()) return false;
        field.bytes = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return true;
      }
      case 5:
        return Skip(4);
      default:
        return false;
    }
  }

 private:
  bool Skip(size_t size) {
    if (size > rest_.size()) return false;
    rest_.remove_prefix(size);
    return true;
  }
  bool Varint(uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(rest_.front());
      rest_.remove_prefix(1);
      out |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  std::string_view rest_;
};

void Assign(std::string* to, std::string_view text) { to->assign(text.data(), text.size()); }

int64_t TimeMs(std::string_view bytes) {
  Fields fields(bytes);
  for (Field field; fields.Next(field);) {
    if (field.number == 1) return static_cast<int64_t>(field.varint) * 1000;
  }
  return 0;
}

std::pair<std::string_view, std::string_view> MapEntry(std::string_view bytes) {
  std::pair<std::string_view, std::string_view> entry;
  Fields fields(bytes);
  for (Field field; fields.Next(field);) (field.number == 1 ? entry.first : entry.second) = field.bytes;
  return entry;
}

template <typename Number>
Number NumberOf(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void ReadOwner(std::string_view bytes, kube::v1::Pod& pod) {
  std::string_view kind, uid, api_version;
  bool controller = false;
  Fields fields(bytes);
  for (Field field; fields.Next(field);) {
    if (field.number == 1) kind = field.bytes;
    if (field.number == 4) uid = field.bytes;
    if (field.number == 5) api_version = field.bytes;
    if (field.number == 6) controller = field.varint != 0;
  }
  if (!controller) return;
  Assign(pod.mutable_owner_kind(), kind);
  Assign(pod.mutable_owner_uid(), uid);
  Assign(pod.mutable_owner_api_version(), api_version);
}

void ReadMeta(std::string_view bytes, kube::v1::Pod& pod) {
  Fields fields(bytes);
  for (Field field; fields.Next(field);) {
    switch (field.number) {
      case 1:
        Assign(pod.mutable_name(), field.bytes);
        break;
      case 3:
        Assign(pod.mutable_namespace_(), field.bytes);
        break;
      case 5:
        Assign(pod.mutable_uid(), field.bytes);
        break;
      case 6:
        pod.set_resource_version(NumberOf<int64_t>(field.bytes));
        break;
      case 8:
        pod.set_creation_ms(TimeMs(field.bytes));
        break;
      case 9:
        pod.set_deletion_ms(TimeMs(field.bytes));
        break;
      case 11: {
        const auto [key, value] = MapEntry(field.bytes);
        if (key == kube::kJobNameKey) Assign(pod.mutable_job_name(), value);
        if (key == kube::kPartitionIdKey) pod.set_partition(NumberOf<int32_t>(value));
        if (key == kube::kJobUidKey) Assign(pod.mutable_job_uid_label(), value);
        break;
      }
      case 12: {
        const auto [key, value] = MapEntry(field.bytes);
        if (key == kube::kGroupNameKey) Assign(pod.mutable_group_name(), value);
        if (key == kube::kTaskSpecKey) Assign(pod.mutable_task(), value);
        if (key == kube::kJobVersionKey) pod.set_job_version(NumberOf<int32_t>(value));
        if (key == kube::kTaskIndexKey) pod.set_index(NumberOf<int32_t>(value));
        break;
      }
      case 13:
        ReadOwner(field.bytes, pod);
        break;
      case 14:
        pod.set_finalizers(true);
        break;
      default:
        break;
    }
  }
}

void ReadSpec(std::string_view bytes, kube::v1::Pod& pod) {
  Fields fields(bytes);
  for (Field field; fields.Next(field);) {
    if (field.number == 10) Assign(pod.mutable_node_name(), field.bytes);
    if (field.number == 19) Assign(pod.mutable_scheduler_name(), field.bytes);
    if (field.number == 24) Assign(pod.mutable_priority_class_name(), field.bytes);
  }
}

void ReadStatus(std::string_view bytes, kube::v1::Pod& pod) {
  int count = 0, ready = 0, restarts = 0;
  Fields fields(bytes);
  for (Field field; fields.Next(field);) {
    if (field.number == 1) {
      pod.set_phase(kube::ParsePodPhase(field.bytes).value_or(kube::v1::POD_PHASE_UNSPECIFIED));
    } else if (field.number == 4) {
      Assign(pod.mutable_reason(), field.bytes);
    } else if (field.number == 8) {
      ++count;
      Fields status(field.bytes);
      for (Field part; status.Next(part);) {
        if (part.number == 4 && part.varint != 0) ++ready;
        if (part.number == 5) restarts += static_cast<int>(part.varint);
      }
    }
  }
  pod.set_all_ready(count > 0 && ready == count);
  pod.set_restarts(restarts);
}

}  // namespace

std::vector<kube::v1::Object> DecodePodListProtobuf(std::string_view bytes) {
  std::vector<kube::v1::Object> out;
  constexpr std::string_view kMagic("k8s\0", 4);
  if (!bytes.starts_with(kMagic)) return out;
  Fields envelope(bytes.substr(kMagic.size()));
  for (Field raw; envelope.Next(raw);) {
    if (raw.number != 2) continue;
    Fields list(raw.bytes);
    for (Field item; list.Next(item);) {
      if (item.number != 2) continue;
      kube::v1::Pod& pod = *out.emplace_back().mutable_pod();
      Fields parts(item.bytes);
      for (Field part; parts.Next(part);) {
        if (part.number == 1) ReadMeta(part.bytes, pod);
        if (part.number == 2) ReadSpec(part.bytes, pod);
        if (part.number == 3) ReadStatus(part.bytes, pod);
      }
    }
  }
  return out;
}

std::string Fingerprint(const kube::v1::Pod& pod) {
  return fmt::format("{}/{} {} {} {} {} {} {} {} {} {} {} {} {}\n", pod.namespace_(), pod.name(), pod.uid(),
                     pod.resource_version(), static_cast<int>(pod.phase()), pod.job_name(), pod.task(), pod.index(),
                     pod.job_version(), pod.group_name(), pod.owner_uid(), pod.node_name(), pod.creation_ms(),
                     pod.all_ready());
}

}  // namespace basalt::gateway
