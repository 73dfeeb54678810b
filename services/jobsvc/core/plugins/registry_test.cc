#include "services/jobsvc/core/plugins/registry.h"

#include <gtest/gtest.h>

#include <tuple>

#include "services/jobsvc/core/plugins/plugin_test_util.h"

namespace basalt::jobsvc {
namespace {

std::vector<std::string> NamesOf(const Plugins& plugins) {
  std::vector<std::string> names;
  for (const std::unique_ptr<Plugin>& plugin : plugins) names.emplace_back(plugin->Name());
  return names;
}

TEST(RegistryTest, WorksInTheFixedOrderWhateverTheManifestsOrder) {
  kube::v1::JobSpec spec;
  for (const char* name : {"zzz", "hcclrank", "ray", "pytorch", "mpi", "aaa", "tensorflow", "ssh", "svc", "env"}) {
    spec.add_plugins()->set_name(name);
  }
  EXPECT_EQ(NamesOf(MakePlugins(spec)),
            (std::vector<std::string>{"env", "svc", "ssh", "tensorflow", "mpi", "pytorch", "ray", "hcclrank"}));
}

TEST(RegistryTest, KnowsEightNamesAndEachOfThemWorks) {
  EXPECT_EQ(KnownPlugins(),
            (std::vector<std::string_view>{"env", "svc", "ssh", "tensorflow", "mpi", "pytorch", "ray", "hcclrank"}));
  for (const std::string_view name : KnownPlugins()) {
    const std::unique_ptr<Plugin> plugin = MakePlugin(name);
    ASSERT_NE(plugin, nullptr) << name;
    EXPECT_EQ(plugin->Name(), name);
    EXPECT_EQ(plugin->ArgumentComplaint(), "");
  }
  EXPECT_EQ(MakePlugin("nvlink"), nullptr);
  EXPECT_EQ(MakePlugin(""), nullptr);
}

TEST(RegistryTest, EachPluginIsOneThatAJobHas) {
  EXPECT_TRUE(MakePlugins({}).empty());
  for (const std::string_view name : KnownPlugins()) {
    kube::v1::JobSpec spec;
    spec.add_plugins()->set_name(std::string(name));
    EXPECT_EQ(NamesOf(MakePlugins(spec)), std::vector<std::string>{std::string(name)});
  }
}

TEST(RegistryTest, APluginReadsTheArgumentsOfItsOwnName) {
  kube::v1::JobSpec spec;
  for (const char* name : {"pytorch", "mpi"}) {
    kube::v1::JobPlugin* const plugin = spec.add_plugins();
    plugin->set_name(name);
    plugin->add_arguments(std::string("--master=of-") + name);
    plugin->add_arguments("--nonsense");
  }
  const Plugins plugins = MakePlugins(spec);
  ASSERT_EQ(NamesOf(plugins), (std::vector<std::string>{"mpi", "pytorch"}));
  for (const std::unique_ptr<Plugin>& plugin : plugins) {
    EXPECT_EQ(FlagValue(*plugin, "master"), "of-" + std::string(plugin->Name()));
    EXPECT_EQ(plugin->ArgumentComplaint(), "flag 'nonsense' is unknown");
  }
}

// Job spec 11.2, and the other name of ray's clientPort (11.9).
TEST(RegistryTest, EveryFlagHasTheDefaultOfTheSpecification) {
  using Row = std::tuple<std::string, std::string, std::string>;
  std::vector<Row> flags;
  for (const std::string_view name : KnownPlugins()) {
    for (const FlagDescription& flag : MakePlugin(name)->Flags()) {
      flags.emplace_back(std::string(name), flag.name, flag.default_value);
    }
  }
  EXPECT_EQ(flags, (std::vector<Row>{{"svc", "publish-not-ready-addresses", "false"},
                                     {"svc", "disable-network-policy", "false"},
                                     {"svc", "inject-hosts-env", "true"},
                                     {"ssh", "ssh-key-file-path", "/root/.ssh"},
                                     {"ssh", "ssh-private-key", ""},
                                     {"ssh", "ssh-public-key", ""},
                                     {"ssh", "ssh-port", "22"},
                                     {"tensorflow", "ps", "ps"},
                                     {"tensorflow", "worker", "worker"},
                                     {"tensorflow", "chief", "chief"},
                                     {"tensorflow", "evaluator", "evaluator"},
                                     {"tensorflow", "port", "2222"},
                                     {"mpi", "master", "master"},
                                     {"mpi", "worker", "worker"},
                                     {"mpi", "port", "22"},
                                     {"pytorch", "master", "master"},
                                     {"pytorch", "worker", "worker"},
                                     {"pytorch", "port", "23456"},
                                     {"pytorch", "wait-master-enabled", "false"},
                                     {"pytorch", "wait-master-timeout", "300"},
                                     {"pytorch", "wait-master-image", "busybox:1.36.1"},
                                     {"ray", "head", "head"},
                                     {"ray", "headContainer", "head"},
                                     {"ray", "worker", "worker"},
                                     {"ray", "workerContainer", "worker"},
                                     {"ray", "port", "6379"},
                                     {"ray", "dashboardPort", "8265"},
                                     {"ray", "clientPort", "10001"},
                                     {"ray", "clientServerPort", "10001"},
                                     {"hcclrank", "master", "master"},
                                     {"hcclrank", "worker", "worker"}}));
}

TEST(RegistryTest, EveryPluginSaysWhatItIsForAndWhatItsFlagsMean) {
  for (const std::string_view name : KnownPlugins()) {
    const std::unique_ptr<Plugin> plugin = MakePlugin(name);
    EXPECT_GT(plugin->Summary().size(), 10u) << name;
    EXPECT_TRUE(plugin->Summary().ends_with(".")) << plugin->Summary();
    for (const FlagDescription& flag : plugin->Flags()) {
      EXPECT_GT(flag.text.size(), 5u) << name << " " << flag.name;
      EXPECT_FALSE(flag.text.ends_with(".")) << flag.text;
    }
  }
}

TEST(RegistryTest, OnlyHcclrankHasNoMarker) {
  for (const std::string_view name : KnownPlugins())
    EXPECT_EQ(MakePlugin(name)->HasMarker(), name != "hcclrank") << name;
}

// A job is warned of variables that its template sets itself: the names are those that the plugin sets.
TEST(RegistryTest, EveryPluginNamesTheVariablesThatItSets) {
  const JobView job = TestView(TestJob("j", {{"master", 1}, {"worker", 2}, {"head", 1}, {"ps", 1}, {"other", 1}}));
  for (const std::string_view name : KnownPlugins()) {
    const std::unique_ptr<Plugin> plugin = MakePlugin(name);
    const std::vector<PodVariable> variables = plugin->Variables(job);
    for (size_t task = 0; task < job.tasks.size(); ++task) {
      const json::value pod = json::parse(EditedPod(*plugin, job, task, 0));
      for (const char* const list : {"containers", "initContainers"}) {
        std::vector<std::string> named;
        for (const PodVariable& variable : variables) {
          const bool in_list =
              list == std::string_view("containers") || variable.containers == PodEdit::Containers::kNormalAndInit;
          if (in_list && (variable.task.empty() || variable.task == job.tasks[task].name))
            named.push_back(variable.name);
        }
        std::vector<std::string> set;
        const json::value* const env = Find(pod.at("spec").at(list).as_array().at(0), "env");
        if (env != nullptr) {
          for (const json::value& variable : env->as_array()) set.emplace_back(FindString(variable, "name"));
        }
        EXPECT_EQ(named, set) << name << " " << job.tasks[task].name << " " << list;
      }
    }
  }
}

TEST(RegistryTest, NoTextIsKeptOfAnObjectThatIsTooLarge) {
  for (const int32_t replicas : {3, 50'000}) {
    kube::v1::Job job = TestJob("j", {{"t", replicas}});
    job.mutable_spec()->add_plugins()->set_name("svc");
    const std::vector<WantedObject> objects = WantedObjects(MakePlugins(job.spec()), TestView(job));
    ASSERT_FALSE(objects.empty());
    const WantedObject& hosts = objects.front();
    const bool fits = replicas == 3;
    EXPECT_EQ(hosts.data_bytes <= kMostDataBytes, fits);
    EXPECT_EQ(hosts.json.empty(), !fits);
    EXPECT_EQ(hosts.patch.empty(), !fits);
    EXPECT_LT(hosts.json.capacity() + hosts.patch.capacity(), 10'000u);
    EXPECT_FALSE(objects.back().json.empty()) << "the others are";
  }
}

TEST(RegistryTest, ObjectsComeInOrderOfCreation) {
  kube::v1::Job job = TestJob("j", {{"t"}});
  for (const std::string_view name : KnownPlugins()) job.mutable_spec()->add_plugins()->set_name(std::string(name));
  std::vector<std::string> keys;
  for (const WantedObject& object : WantedObjects(MakePlugins(job.spec()), TestView(job))) keys.push_back(object.Key());
  EXPECT_EQ(keys, (std::vector<std::string>{"configmaps/j-svc", "services/j", "networkpolicies/j", "secrets/j-ssh",
                                            "services/j-head-svc"}));
}

TEST(PluginTest, AVariableIsAtMost128KiBLessTheByteThatEndsIt) {
  const std::string_view name = "NAME";
  const size_t rest = (size_t{128} << 10) - 1 - name.size() - 1;
  EXPECT_TRUE(CheckVariable(name, 0, "advice").ok());
  EXPECT_TRUE(CheckVariable(name, rest, "advice").ok());
  ExpectInvalid(CheckVariable(name, rest + 1, "advice"),
                "sets the variable NAME of 131072 bytes, and Linux starts no program with more than 131071; advice");
}

TEST(PodEditTest, AnExistingMemberStaysWhereItIs) {
  json::object pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  ObjectMember(pod, "spec");
  json::object& metadata = ObjectMember(pod, "metadata");
  ObjectMember(pod, "spec");
  ArrayMember(ObjectMember(pod, "spec"), "containers");
  EXPECT_EQ(&metadata, &ObjectMember(pod, "metadata"));
}

TEST(PodEditTest, APortIsExposedOnce) {
  json::object container;
  container["name"] = "c";
  for (const char* name : {"a", "b"}) PodEdit::AddPort(container, name, 80);
  PodEdit::AddPort(container, "c", 81);
  ExpectJson(ToText(container),
             R"({"name":"c","ports":[{"name":"a","containerPort":80},{"name":"c","containerPort":81}]})");
}

TEST(JobViewTest, ATaskIsFoundByItsName) {
  const JobView job = TestView(TestJob("j", {{"a", 3}, {"b", 0}}));
  EXPECT_EQ(FindTask(job, "b"), &job.tasks[1]);
  EXPECT_EQ(FindTask(job, "c"), nullptr);
  EXPECT_EQ(ReplicasOf(job, "a"), 3);
  EXPECT_EQ(ReplicasOf(job, "b"), 0);
  EXPECT_EQ(ReplicasOf(job, "c"), 0);
  EXPECT_EQ(HostOf(job, job.tasks[1], 4), "j-b-4.j") << "whether or not there is such a pod";
}

TEST(JobViewTest, ABadTemplateIsNamedByItsTask) {
  struct Row {
    std::string pod_template;
    std::string message;
  };
  for (const Row& row :
       {Row{"{", "spec.tasks[1].template"}, Row{"[]", "spec.tasks[1].template: is not an object"},
        Row{"{}", "spec.tasks[1].template.spec: is not an object"},
        Row{R"({"spec":{"containers":{}}})", "template.spec.containers: is not a list of objects"},
        Row{R"({"spec":{"containers":[{"env":1}]}})", "template.spec.containers[].env: is not a list"},
        Row{R"({"spec":{},"metadata":{"labels":[]}})", "template.metadata.labels: is not an object"}}) {
    const kube::v1::Job job = TestJob("j", {{"a"}, {"b", 1, row.pod_template}});
    const auto view = MakeJobView(job, job.spec());
    ASSERT_FALSE(view.ok()) << row.pod_template;
    EXPECT_EQ(view.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(view.status().message()).find(row.message), std::string::npos) << view.status();
  }
}

TEST(JobViewTest, HostsFollowTemplateHostnameAndSubdomain) {
  struct Row {
    std::string spec;
    int32_t replicas;
    std::vector<std::string> hosts;
  };
  for (const Row& row : {Row{"{}", 2, {"j-t-0.j", "j-t-1.j"}}, Row{R"({"subdomain":"s"})", 1, {"j-t-0.s"}},
                         Row{R"({"hostname":"h"})", 3, {"h.j"}}, Row{R"({"hostname":"h","subdomain":"s"})", 3, {"h.s"}},
                         Row{R"({"hostname":"h"})", 0, {}}, Row{"{}", 0, {}}}) {
    const JobView job = TestView(TestJob("j", {{"t", row.replicas, R"({"spec":)" + row.spec + "}"}}));
    EXPECT_EQ(HostsOf(job, job.tasks[0]), row.hosts) << row.spec;
  }
}

}  // namespace
}  // namespace basalt::jobsvc
