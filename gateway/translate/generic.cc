#include <string>

#include "gateway/translate/fields.h"

namespace basalt::gateway {

void ReadGeneric(Reader& reader, Value& value, Envelope& envelope, kube::v1::GenericObject& generic) {
  reader.Members(kRoot, value,
                 [&](std::string_view key, Value& member) { ReadEnvelopeMember(reader, key, member, envelope); });
  FillMeta(envelope.meta, *generic.mutable_meta());
  generic.set_api_version(envelope.api_version.data(), envelope.api_version.size());
  generic.set_kind(envelope.kind.data(), envelope.kind.size());
}

void ReadStatus(Reader& reader, Value& value, v1::KubeError& error) {
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    const Path path = kRoot / key;
    if (key == "code") {
      error.set_code(reader.Int32(path, member));
    } else if (key == "reason") {
      error.set_reason(std::string(reader.String(path, member)));
    } else if (key == "message") {
      error.set_message(std::string(reader.String(path, member)));
    } else if (key == "details") {
      reader.Members(path, member, [&](std::string_view name, Value& detail) {
        const Path at = path / name;
        if (name == "retryAfterSeconds") {
          error.set_retry_after_ms(reader.Int(at, detail, 0, 86400).value_or(0) * 1000);
        } else if (name == "causes") {
          reader.Elements(at, detail, [&](const Path& cause_path, Value& cause) {
            reader.Members(cause_path, cause, [&](std::string_view part, Value& text) {
              if (part == "field") error.add_fields(std::string(reader.String(cause_path / part, text)));
            });
          });
        }
      });
    }
  });
}

}  // namespace basalt::gateway
