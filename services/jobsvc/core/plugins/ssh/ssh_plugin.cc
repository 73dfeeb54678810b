#include "services/jobsvc/core/plugins/ssh/ssh_plugin.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "services/jobsvc/core/plugins/stable_text.h"

namespace basalt::jobsvc {
namespace {

constexpr std::string_view kRootPath = "/root/.ssh";
constexpr int kPrivateMode = 0600;
constexpr int kReadableMode = 0644;
constexpr size_t kKeyBytes = 4096;  // The most bytes of a key pair and a second copy of one key.

std::string SecretName(const JobView& job) { return fmt::format("{}-ssh", job.name); }

std::string SshConfig(const JobView& job, int64_t port) {
  std::string text = "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\n";
  for (const TaskView& task : job.tasks) {
    for (const std::string& domain : HostsOf(job, task)) {
      // A host name is a DNS label, so that the first dot ends it.
      const std::string_view host = std::string_view(domain).substr(0, domain.find('.'));
      text += fmt::format("Host {}\n  HostName {}\n  Port {}\n", host, domain, port);
    }
  }
  return text;
}

}  // namespace

void SshPlugin::Define(Arguments& arguments) {
  arguments.Flag("ssh-key-file-path", &key_file_path_, "The folder of the keys in every container");
  arguments.Flag("ssh-private-key", &private_key_, "The private key, as the text of its file; empty: a pair is made");
  arguments.Flag("ssh-public-key", &public_key_, "The public key that belongs to it, as one line");
  arguments.Port("ssh-port", &port_, "The port on which the pods listen for ssh");
}

std::vector<std::string> SshPlugin::Doubts(const JobView&) const {
  std::vector<std::string> doubts;
  if (private_key_.empty() != public_key_.empty()) {
    doubts.push_back(private_key_.empty()
                         ? "has --ssh-public-key without --ssh-private-key: a pair is made, and that key is not used"
                         : "has --ssh-private-key without --ssh-public-key: nobody can log in");
  } else if (!private_key_.empty() && !private_key_.starts_with("-----BEGIN ")) {
    doubts.emplace_back("has an --ssh-private-key that is no key in PEM: ssh refuses it");
  } else if (private_key_.starts_with("-----BEGIN OPENSSH PRIVATE KEY-----") && !private_key_.ends_with('\n')) {
    doubts.emplace_back("has an --ssh-private-key without the newline at its end: ssh refuses it");
  }
  return doubts;
}

std::vector<WantedObject> SshPlugin::Objects(const JobView& job) const {
  WantedObject wanted{.plugin = "ssh", .version = "v1", .plural = "secrets", .kind = "Secret"};
  wanted.object_namespace = job.job_namespace;
  wanted.name = SecretName(job);
  wanted.on_change = WantedObject::OnChange::kPatch;
  wanted.needs_ssh_keys = private_key_.empty();
  const std::string config = SshConfig(job, port_);
  wanted.data_bytes = config.size() + kKeyBytes;
  const std::string config_data = absl::Base64Escape(ToAbsl(config));
  wanted.hash = ContentHash(config);
  wanted.patch = ToText(json::object{{"data", {{"config", config_data}}}});
  json::object object = OwnedObject(job, "v1", wanted.kind, wanted.name);
  json::object& data = ObjectMember(object, "data");
  data["config"] = config_data;
  object["type"] = "Opaque";
  wanted.json = ToText(object);
  if (!wanted.needs_ssh_keys) wanted.json = WithSshKeys(wanted, {private_key_, public_key_});
  return {std::move(wanted)};
}

absl::Status SshPlugin::OnPod(PodEdit& pod) const {
  const std::string volume = SecretName(pod.job());
  json::array items;
  for (const std::string_view key : {"id_rsa", "id_rsa.pub", "authorized_keys", "config"}) {
    items.push_back({{"key", ToJson(key)}, {"path", fmt::format(".ssh/{}", key)}});
  }
  json::object secret;
  secret["secretName"] = volume;
  secret["items"] = std::move(items);
  secret["defaultMode"] = key_file_path_ == kRootPath ? kPrivateMode : kReadableMode;
  json::object wanted;
  wanted["name"] = volume;
  wanted["secret"] = std::move(secret);
  pod.AddVolume(std::move(wanted));
  pod.AddMount(PodEdit::Containers::kNormalAndInit,
               {{"name", volume}, {"mountPath", key_file_path_}, {"subPath", ".ssh"}});
  return absl::OkStatus();
}

}  // namespace basalt::jobsvc
