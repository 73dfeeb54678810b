#include <algorithm>
#include <string>

#include "gateway/translate/fields.h"

namespace basalt::gateway {
namespace {

// Other annotations can be large (kubectl keeps a whole manifest in one), and nobody reads them.
bool IsOfVolcano(std::string_view key) {
  const std::string_view domain = key.substr(0, key.find('/'));
  return domain == "volcano.sh" || domain.ends_with(".volcano.sh");
}

// Reads spec.template.spec.schedulerName.
void ReadTemplate(Reader& reader, const Path& path, Value& value, kube::v1::Workload& workload) {
  reader.Members(path, value, [&](std::string_view key, Value& spec) {
    if (key != "spec") return;
    const Path at = path / key;
    reader.Members(at, spec, [&](std::string_view name, Value& member) {
      if (name == "schedulerName") workload.set_scheduler_name(std::string(reader.String(at / name, member)));
    });
  });
}

void ReadSpec(Reader& reader, const Path& path, Value& spec, kube::v1::Workload& workload) {
  reader.Members(path, spec, [&](std::string_view name, Value& part) {
    if (name == "replicas") {
      const auto replicas = reader.OptionalInt32(path / name, part);
      if (replicas.has_value()) workload.set_replicas(*replicas);
    } else if (name == "parallelism") {
      const auto parallelism = reader.OptionalInt32(path / name, part);
      if (parallelism.has_value()) workload.set_parallelism(*parallelism);
    } else if (name == "suspend") {
      workload.set_suspended(reader.Bool(path / name, part));
    } else if (name == "template") {
      ReadTemplate(reader, path / name, part, workload);
    }
  });
}

void ReadCondition(Reader& reader, const Path& path, Value& condition, kube::v1::Workload& workload) {
  std::string_view type;
  std::string_view status;
  reader.Members(path, condition, [&](std::string_view name, Value& part) {
    if (name == "type") type = reader.String(path / name, part);
    if (name == "status") status = reader.String(path / name, part);
  });
  if ((type == "Complete" || type == "Failed") && status == "True") workload.set_finished(true);
}

void ReadStatus(Reader& reader, const Path& path, Value& status, kube::v1::Workload& workload) {
  reader.Members(path, status, [&](std::string_view name, Value& part) {
    const Path at = path / name;
    if (name == "updateRevision") {
      workload.set_update_revision(std::string(reader.String(at, part)));
    } else if (name == "conditions") {
      reader.Elements(at, part,
                      [&](const Path& item, Value& condition) { ReadCondition(reader, item, condition, workload); });
    }
  });
}

}  // namespace

void ReadWorkload(Reader& reader, Value& value, Envelope& envelope, kube::v1::Workload& workload) {
  reader.Members(kRoot, value, [&](std::string_view key, Value& member) {
    if (ReadEnvelopeMember(reader, key, member, envelope)) return;
    if (key == "spec") return ReadSpec(reader, kRoot / key, member, workload);
    if (key == "status") return ReadStatus(reader, kRoot / key, member, workload);
  });
  MetaView& meta = envelope.meta;
  meta.labels.clear();
  meta.annotations.erase(std::remove_if(meta.annotations.begin(), meta.annotations.end(),
                                        [](const auto& annotation) { return !IsOfVolcano(annotation.first); }),
                         meta.annotations.end());
  FillMeta(meta, *workload.mutable_meta());
  workload.set_api_version(std::string(envelope.api_version));
  workload.set_kind(std::string(envelope.kind));
}

}  // namespace basalt::gateway
