#include <string>
#include <string_view>

#include "gateway/translate/fields.h"

namespace basalt::gateway {

// KAI's scheduler writes the status in every cycle, and no rule reads it.
void ReadKaiPodGroup(Reader& reader, Value& value, Envelope& envelope, bool with_status, kube::v1::KaiPodGroup& group) {
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    if (key == "spec") {
      const Path at = kRoot / key;
      group.set_spec_json(std::string(reader.RawObject(at, member, [&](std::string_view name, Value& field) {
        if (name == "queue") group.set_queue(std::string(reader.String(at / name, field)));
      })));
    }
    if (key == "status" && with_status) group.set_status_json(std::string(reader.RawObject(kRoot / key, member)));
  });
  FillMeta(envelope.meta, *group.mutable_meta());
}

}  // namespace basalt::gateway
