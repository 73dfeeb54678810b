#include <algorithm>
#include <string>

#include "gateway/translate/fields.h"

namespace basalt::gateway {

// The status is written by KAI's scheduler in every cycle, and no rule reads it.
void ReadKaiPodGroup(Reader& reader, Value& value, Envelope& envelope, bool with_status, kube::v1::KaiPodGroup& group) {
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    if (key == "spec") group.set_spec_json(std::string(reader.RawObject(kRoot / key, member)));
    if (key == "status" && with_status) group.set_status_json(std::string(reader.RawObject(kRoot / key, member)));
  });
  FillMeta(envelope.meta, *group.mutable_meta());
}

}  // namespace basalt::gateway
