// Manifests that people run, from the file to the pods.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "common/base/yaml.h"
#include "common/kube/resources/min_resources.h"
#include "common/kube/resources/pod_group.h"
#include "services/jobsvc/core/plugins/plugin_test_util.h"
#include "services/jobsvc/core/render/effective_spec.h"
#include "services/jobsvc/core/render/pod.h"
#include "services/jobsvc/core/render/pod_group.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {
namespace {

const json::array& ListAt(const json::value& value, std::string_view name) {
  static const auto& kNone = *new json::array();
  const json::value* found = Find(value, name);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

// Reads only the fields that the manifests below use; the full decoder belongs to another layer.
kube::v1::Job ReadJob(const json::value& manifest) {
  kube::v1::Job job;
  job.mutable_meta()->set_namespace_("default");
  job.mutable_meta()->set_name(std::string(FindString(*Find(manifest, "metadata"), "name")));
  job.mutable_meta()->set_uid("u-1");
  const json::value& in = *Find(manifest, "spec");
  kube::v1::JobSpec& spec = *job.mutable_spec();
  spec.set_scheduler_name(std::string(FindString(in, "schedulerName")));
  spec.set_queue(std::string(FindString(in, "queue")));
  spec.set_min_available(static_cast<int32_t>(FindInt(in, "minAvailable")));
  if (Find(in, "maxRetry") != nullptr) spec.set_max_retry(static_cast<int32_t>(FindInt(in, "maxRetry")));
  for (const json::value& policy : ListAt(in, "policies")) {
    spec.add_policies()->set_action(std::string(FindString(policy, "action")));
    spec.mutable_policies()->rbegin()->add_events(std::string(FindString(policy, "event")));
  }
  if (const json::value* plugins = Find(in, "plugins")) {
    for (const json::key_value_pair& plugin : plugins->get_object()) {
      kube::v1::JobPlugin* out = spec.add_plugins();
      out->set_name(std::string(plugin.key()));
      for (const json::value& word : plugin.value().as_array()) out->add_arguments(std::string(word.as_string()));
    }
  }
  for (const json::value& task : ListAt(in, "tasks")) {
    kube::v1::TaskSpec* out = spec.add_tasks();
    out->set_name(std::string(FindString(task, "name")));
    out->set_replicas(static_cast<int32_t>(FindInt(task, "replicas")));
    out->set_template_json(ToText(*Find(task, "template")));
    if (const json::value* depends_on = Find(task, "dependsOn")) {
      for (const json::value& name : ListAt(*depends_on, "name")) {
        out->mutable_depends_on()->add_names(std::string(name.as_string()));
      }
    }
  }
  return job;
}

class ExamplesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::is_directory(BASALT_EXAMPLES)) {
      GTEST_SKIP() << "no example manifests at " << BASALT_EXAMPLES;
    }
  }
  static kube::v1::Job Load(const std::string& file) {
    std::ifstream in(std::string(BASALT_EXAMPLES) + "/" + file);
    const std::string text(std::istreambuf_iterator<char>(in), {});
    const auto documents = ParseYamlDocuments(text);
    EXPECT_TRUE(documents.ok()) << documents.status();
    return documents.ok() && !documents->empty() ? ReadJob(documents->front()) : kube::v1::Job();
  }
};

TEST_F(ExamplesTest, JobWithAllThreePlugins) {
  const kube::v1::Job job = Load("job.yaml");
  const kube::v1::JobSpec spec = EffectiveSpec(job);
  const Validation validation = ValidateJob(spec, job.meta().name(), "default");
  EXPECT_TRUE(validation.ok());
  EXPECT_TRUE(validation.warnings.empty());

  const auto compiler = PodCompiler::Create(job, spec);
  ASSERT_TRUE(compiler.ok()) << compiler.status();
  const auto task = compiler->Compile(0);
  ASSERT_TRUE(task.ok()) << task.status();
  const std::string group = job.meta().name() + "-" + job.meta().uid();
  ExpectJson(task->Build(5, {.pod_group_name = group}), R"({"apiVersion":"v1","kind":"Pod","metadata":{
    "name":"test-job-default-nginx-5","namespace":"default",
    "ownerReferences":[{"apiVersion":"batch.volcano.sh/v1alpha1","kind":"Job","name":"test-job","uid":"u-1",
      "controller":true,"blockOwnerDeletion":true}],
    "annotations":{"volcano.sh/task-index":"5","volcano.sh/task-spec":"default-nginx",
      "scheduling.k8s.io/group-name":"test-job-u-1","scheduling.volcano.sh/group-name":"test-job-u-1",
      "volcano.sh/job-name":"test-job","volcano.sh/queue-name":"default","volcano.sh/job-version":"0",
      "volcano.sh/template-uid":"test-job-default-nginx","volcano.sh/pod-template-key":"test-job-default-nginx",
      "volcano.sh/job-retry-count":"0"},
    "labels":{"volcano.sh/task-index":"5","volcano.sh/job-name":"test-job","volcano.sh/task-spec":"default-nginx",
      "volcano.sh/job-namespace":"default","volcano.sh/queue-name":"default","basalt.dev/job-uid":"u-1",
      "basalt.dev/job-version":"0"}},
    "spec":{"restartPolicy":"OnFailure","schedulerName":"volcano","hostname":"test-job-default-nginx-5",
      "subdomain":"test-job",
      "volumes":[{"name":"test-job-svc","configMap":{"name":"test-job-svc"}},
        {"name":"test-job-ssh","secret":{"secretName":"test-job-ssh","defaultMode":384,"items":[
          {"key":"id_rsa","path":".ssh/id_rsa"},{"key":"id_rsa.pub","path":".ssh/id_rsa.pub"},
          {"key":"authorized_keys","path":".ssh/authorized_keys"},{"key":"config","path":".ssh/config"}]}}],
      "containers":[{"image":"nginx","imagePullPolicy":"IfNotPresent","name":"nginx",
        "resources":{"requests":{"cpu":"1"}},
        "env":[{"name":"VK_TASK_INDEX","value":"5"},{"name":"VC_TASK_INDEX","value":"5"},
          {"name":"VC_DEFAULT_NGINX_HOSTS","valueFrom":{"configMapKeyRef":{"name":"test-job-svc",
            "key":"VC_DEFAULT_NGINX_HOSTS"}}},
          {"name":"VC_DEFAULT_NGINX_NUM","valueFrom":{"configMapKeyRef":{"name":"test-job-svc",
            "key":"VC_DEFAULT_NGINX_NUM"}}}],
        "volumeMounts":[{"name":"test-job-svc","mountPath":"/etc/volcano"},
          {"name":"test-job-ssh","mountPath":"/root/.ssh","subPath":".ssh"}]}]}})");

  std::vector<std::string> objects;
  for (const WantedObject& object : WantedObjects(compiler->plugins(), compiler->view())) {
    objects.push_back(object.plural + "/" + object.name);
  }
  EXPECT_EQ(objects, (std::vector<std::string>{"configmaps/test-job-svc", "services/test-job",
                                               "networkpolicies/test-job", "secrets/test-job-ssh"}));
  const auto resources = kube::MinResources(spec, [](std::string_view) { return 0; });
  ASSERT_TRUE(resources.ok());
  ExpectJson(ToText(kube::PodGroupSpecJson(WantedPodGroup(spec, *resources))),
             R"({"minMember":3,"minTaskMember":{"default-nginx":6},"queue":"default",
      "minResources":{"count/pods":"3","cpu":"3","pods":"3","requests.cpu":"3"}})");
}

TEST_F(ExamplesTest, PluginArgumentsAreUnderstood) {
  const kube::v1::Job job = Load("job-plugin.yaml");
  const kube::v1::JobSpec spec = EffectiveSpec(job);
  const Validation validation = ValidateJob(spec, job.meta().name(), "default");
  EXPECT_TRUE(validation.ok());
  EXPECT_TRUE(validation.warnings.empty()) << validation.warnings.front().message;
  const auto task = CompileTask(job, spec, 0);
  ASSERT_TRUE(task.ok()) << task.status();
  const json::value pod = json::parse(task->Build(0, {.pod_group_name = "g"}));
  const json::value& mounts = pod.at("spec").at("containers").as_array()[0].at("volumeMounts");
  EXPECT_EQ(FindString(mounts.as_array()[1], "mountPath"), "/home/user/.ssh");
}

TEST_F(ExamplesTest, DependentTasksAreAValidChain) {
  const kube::v1::Job job = Load("task-dependency.yaml");
  ASSERT_EQ(job.spec().tasks_size(), 3);
  const kube::v1::JobSpec spec = EffectiveSpec(job);
  EXPECT_EQ(spec.tasks(2).depends_on().names(0), "job-nginx2");
  EXPECT_EQ(spec.tasks(1).min_available(), 5);
  EXPECT_TRUE(ValidateJob(spec, job.meta().name(), "default").ok());
  for (int i = 0; i < spec.tasks_size(); ++i) EXPECT_TRUE(CompileTask(job, spec, i).ok());
}

}  // namespace
}  // namespace basalt::jobsvc
