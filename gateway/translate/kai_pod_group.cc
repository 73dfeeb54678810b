#include <string>
#include <string_view>

#include "common/base/json.h"
#include "gateway/translate/fields.h"

namespace basalt::gateway {
namespace {

std::string QueueOf(std::string_view spec_json) {
  const absl::StatusOr<json::value> spec = ParseJson(spec_json);
  return spec.ok() ? std::string(FindString(*spec, "queue")) : std::string();
}

}  // namespace

// The status is written by KAI's scheduler in every cycle, and no rule reads it.
void ReadKaiPodGroup(Reader& reader, Value& value, Envelope& envelope, bool with_status, kube::v1::KaiPodGroup& group) {
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    if (key == "spec") {
      group.set_spec_json(std::string(reader.RawObject(kRoot / key, member)));
      group.set_queue(QueueOf(group.spec_json()));
    }
    if (key == "status" && with_status) group.set_status_json(std::string(reader.RawObject(kRoot / key, member)));
  });
  FillMeta(envelope.meta, *group.mutable_meta());
}

}  // namespace basalt::gateway
