#include "services/jobsvc/core/render/pod.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/names.h"
#include "services/jobsvc/core/render/volumes.h"

namespace basalt::jobsvc {
namespace {

using kube::v1::Job;
using kube::v1::JobSpec;
using kube::v1::TaskSpec;

constexpr size_t kDigits = 4;  // Digits of a mark, behind its prefix.

const std::string* FindKey(const google::protobuf::RepeatedPtrField<kube::v1::KeyValue>& map, std::string_view key) {
  for (const kube::v1::KeyValue& entry : map) {
    if (entry.key() == key) return &entry.value();
  }
  return nullptr;
}

// Returns a prefix that occurs in no text of the pod, so that every mark is ours. Plugins also put the host names of
// other tasks into a pod.
std::string UnusedPrefix(const Job& job, const JobSpec& spec, const JobView& view, const json::object& pod_template) {
  std::string texts = fmt::format("{}{}{}", ToText(pod_template), job.SerializeAsString(), spec.SerializeAsString());
  for (const TaskView& task : view.tasks) texts += fmt::format("{} {} ", task.hostname, task.subdomain);
  for (int i = 0;; ++i) {
    std::string prefix = fmt::format("basalt{}mark", i);
    if (texts.find(prefix) == texts.npos) return prefix;
  }
}

void SetText(json::object& map, std::string_view key, std::string_view value) { map[ToJson(key)] = ToJson(value); }

void SetIfEmpty(json::object& spec, std::string_view key, std::string_view value) {
  if (!value.empty() && FindString(spec, key).empty()) SetText(spec, key, value);
}

void AddVolumes(PodEdit& pod, const std::vector<JobVolume>& volumes) {
  for (const JobVolume& volume : volumes) {
    pod.AddVolume({{"name", volume.pod_volume}, {"persistentVolumeClaim", {{"claimName", volume.claim}}}});
    pod.AddMount(PodEdit::Containers::kNormal, {{"name", volume.pod_volume}, {"mountPath", volume.mount_path}});
  }
}

struct Marks {
  std::string version;
  std::string retry_count;
  std::string group_name;
};

// Applies job spec 10, steps 5 and 6.
void Annotate(json::object& annotations, const Job& job, const JobSpec& spec, const TaskSpec& task, PodEdit& pod,
              const Marks& marks) {
  const std::string template_uid = fmt::format("{}-{}", job.meta().name(), task.name());
  SetText(annotations, kube::kTaskIndexKey, pod.Index());
  SetText(annotations, kube::kTaskSpecKey, task.name().empty() ? "default" : task.name());
  SetText(annotations, kube::kGroupNameKey, marks.group_name);
  SetText(annotations, kube::kVolcanoGroupNameKey, marks.group_name);
  SetText(annotations, kube::kJobNameKey, job.meta().name());
  SetText(annotations, kube::kQueueNameKey, spec.queue());
  SetText(annotations, kube::kJobVersionKey, marks.version);
  SetText(annotations, kube::kTemplateUidKey, template_uid);
  SetText(annotations, kube::kPodTemplateKeyKey, template_uid);
  SetText(annotations, kube::kJobRetryCountKey, marks.retry_count);
  if (!task.topology_policy().empty()) SetText(annotations, kube::kNumaTopologyPolicyKey, task.topology_policy());
  const auto copy = [&](std::string_view key) {
    const std::string* value = FindKey(job.meta().annotations(), key);
    if (value != nullptr) SetText(annotations, key, *value);
    return value != nullptr;
  };
  copy(kube::kPreemptableKey);
  copy(kube::kCooldownTimeKey);
  copy(kube::kRevocableZoneKey);
  if (!copy(kube::kJdbMinAvailableKey)) copy(kube::kJdbMaxUnavailableKey);
}

// Applies steps 7 and 9, and sets our own labels.
void Label(json::object& labels, const Job& job, const JobSpec& spec, const TaskSpec& task, PodEdit& pod,
           const Marks& marks) {
  SetText(labels, kube::kTaskIndexKey, pod.Index());
  SetText(labels, kube::kJobNameKey, job.meta().name());
  SetText(labels, kube::kTaskSpecKey, task.name().empty() ? "default" : task.name());
  SetText(labels, kube::kJobNamespaceKey, job.meta().namespace_());
  SetText(labels, kube::kQueueNameKey, spec.queue());
  for (const std::string_view key : {kube::kPreemptableKey, kube::kCooldownTimeKey}) {
    const std::string* value = FindKey(job.meta().labels(), key);
    if (value != nullptr) SetText(labels, key, *value);
  }
  if (task.has_partition_policy()) {
    const int32_t size = task.partition_policy().partition_size();
    const std::string partition =
        pod.PerPod([size](int32_t index) { return fmt::format("{}", PartitionOf(index, size)); });
    SetText(labels, kube::kPartitionIdKey, partition);
    SetText(labels, kube::kTaskPartitionIdKey, partition);
  }
  SetText(labels, kube::kJobUidKey, job.meta().uid());
  SetText(labels, kube::kBasaltVersionKey, marks.version);
}

}  // namespace

int32_t PartitionOf(int32_t index, int32_t partition_size) { return partition_size <= 0 ? 0 : index / partition_size; }

std::string CompiledTask::Build(int32_t index, const PodContext& context) const {
  const Form& form = forms_[context.forwarding ? 1 : 0];
  std::string pod;
  pod.reserve(form.size + form.pieces.size() * (context.pod_group_name.size() / 4 + 8));
  // Each text is made once per pod, not once per place.
  std::vector<std::string> texts(functions_.size());
  for (const Piece& piece : form.pieces) {
    pod += piece.text;
    switch (piece.value) {
      case Value::kNone:
        break;
      case Value::kIndexed: {
        std::string& text = texts[piece.function];
        if (text.empty()) text = functions_[piece.function](index);
        pod += text;
        break;
      }
      case Value::kVersion:
        fmt::format_to(std::back_inserter(pod), "{}", context.version);
        break;
      case Value::kRetryCount:
        fmt::format_to(std::back_inserter(pod), "{}", context.retry_count);
        break;
      case Value::kGroupName:
        pod += context.pod_group_name;
        break;
    }
  }
  return pod;
}

absl::StatusOr<PodCompiler> PodCompiler::Create(const Job& job, const JobSpec& spec) {
  PodCompiler compiler;
  *compiler.job_.mutable_meta() = job.meta();
  compiler.spec_ = spec;
  // The view holds the templates parsed.
  for (TaskSpec& task : *compiler.spec_.mutable_tasks()) task.clear_template_json();
  BASALT_ASSIGN_OR_RETURN(compiler.view_, MakeJobView(job, spec));
  compiler.plugins_ = MakePlugins(spec);
  return compiler;
}

absl::StatusOr<CompiledTask> PodCompiler::Compile(int task_index) const {
  const TaskSpec& task = spec_.tasks(task_index);
  const TaskView& view = view_.tasks[task_index];
  json::object object = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  object["spec"] = view.pod_template.at("spec");
  PodEdit pod(view_, view, object, UnusedPrefix(job_, spec_, view_, view.pod_template));
  // The marks are made in the order of CompiledTask::Value, so that the first ones are known by their number.
  const auto stands_in = [](int32_t) { return std::string(); };
  const Marks marks = {pod.PerPod(stands_in), pod.PerPod(stands_in), pod.PerPod(stands_in)};

  json::object& metadata = pod.metadata();
  metadata["name"] = pod.PodName();
  metadata["namespace"] = view_.job_namespace;
  metadata["ownerReferences"] = OwnerReferencesTo(view_);
  const json::value* own = view.pod_template.if_contains("metadata");
  for (const std::string_view map : {"annotations", "labels"}) {
    const json::value* found = own == nullptr ? nullptr : Find(*own, map);
    if (found != nullptr) metadata[ToJson(map)] = *found;
  }
  json::object& spec = pod.spec();
  SetIfEmpty(spec, "schedulerName", spec_.scheduler_name());
  SetIfEmpty(spec, "priorityClassName", spec_.priority_class_name());
  const json::value* host_network = spec.if_contains("hostNetwork");
  if (host_network != nullptr && host_network->is_bool() && host_network->get_bool()) {
    SetIfEmpty(spec, "dnsPolicy", "ClusterFirstWithHostNet");
  }
  AddVolumes(pod, VolumesOf(view_, spec_));
  Annotate(ObjectMember(metadata, "annotations"), job_, spec_, task, pod, marks);
  Label(ObjectMember(metadata, "labels"), job_, spec_, task, pod, marks);
  for (const std::unique_ptr<Plugin>& plugin : plugins_) {
    const absl::Status edited = plugin->OnPod(pod);
    if (!edited.ok()) return basalt::Annotate(edited, fmt::format("plugin {}, task {}", plugin->Name(), task.name()));
  }

  CompiledTask compiled;
  compiled.task_ = task.name();
  compiled.functions_ = pod.functions();
  const auto cut = [&](const std::string& text) {
    using Value = CompiledTask::Value;
    CompiledTask::Form form{.size = text.size()};
    for (size_t from = 0;;) {
      const size_t at = text.find(pod.mark_prefix(), from);
      if (at == text.npos) {
        form.pieces.push_back({text.substr(from)});
        return form;
      }
      const size_t digits = at + pod.mark_prefix().size();
      const uint32_t number = static_cast<uint32_t>(std::stoul(text.substr(digits, kDigits)));
      const Value value = number == 0   ? Value::kVersion
                          : number == 1 ? Value::kRetryCount
                          : number == 2 ? Value::kGroupName
                                        : Value::kIndexed;
      form.pieces.push_back({text.substr(from, at - from), value, number});
      from = digits + kDigits;
    }
  };
  compiled.forms_[0] = cut(ToText(object));
  // Job spec 10, step 8.
  for (const std::string_view map : {"annotations", "labels"}) {
    SetText(ObjectMember(pod.metadata(), map), kube::kJobForwardingKey, "true");
  }
  compiled.forms_[1] = cut(ToText(object));
  return compiled;
}

absl::StatusOr<CompiledTask> CompileTask(const Job& job, const JobSpec& spec, int task) {
  BASALT_ASSIGN_OR_RETURN(const PodCompiler compiler, PodCompiler::Create(job, spec));
  return compiler.Compile(task);
}

}  // namespace basalt::jobsvc
