#include "services/jobsvc/core/plugins/plugin.h"

#include <fmt/format.h>

#include "absl/strings/escaping.h"
#include "common/base/status.h"

namespace basalt::jobsvc {

void Plugin::Read(const PluginArguments& arguments) {
  Arguments flags;
  Define(flags);
  complaint_ = flags.Parse(arguments);
}

std::vector<FlagDescription> Plugin::Flags() {
  Arguments flags;
  Define(flags);
  return flags.Describe();
}

absl::Status CheckVariable(std::string_view name, size_t value_bytes, std::string_view advice) {
  const size_t bytes = name.size() + 1 + value_bytes;
  if (bytes <= kMostVariableBytes) return absl::OkStatus();
  return Invalid(fmt::format("sets the variable {} of {} bytes, and Linux starts no program with more than {}; {}",
                             name, bytes, kMostVariableBytes, advice));
}

std::string PluginMarkerKey(std::string_view plugin) { return fmt::format("plugin-{}", plugin); }

json::object OwnedObject(const JobView& job, std::string_view api_version, std::string_view kind,
                         std::string_view name) {
  return {{"apiVersion", ToJson(api_version)},
          {"kind", ToJson(kind)},
          {"metadata",
           {{"name", ToJson(name)}, {"namespace", job.job_namespace}, {"ownerReferences", OwnerReferencesTo(job)}}}};
}

std::string WithSshKeys(const WantedObject& object, const SshKeyPair& keys) {
  json::value secret = json::parse(object.json);
  json::object& data = ObjectMember(secret.as_object(), "data");
  const std::string public_text = absl::Base64Escape(ToAbsl(keys.public_openssh));
  data["id_rsa"] = absl::Base64Escape(ToAbsl(keys.private_pem));
  data["id_rsa.pub"] = public_text;
  data["authorized_keys"] = public_text;
  return ToText(secret);
}

}  // namespace basalt::jobsvc
