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

TEST(RegistryTest, AFlagOfAPortTakesNothingButPorts) {
  struct Row {
    const char* plugin;
    const char* flag;
    const char* usual;
  };
  for (const Row& row :
       {Row{"ssh", "ssh-port", "22"}, Row{"tensorflow", "port", "2222"}, Row{"mpi", "port", "22"},
        Row{"pytorch", "port", "23456"}, Row{"ray", "port", "6379"}, Row{"ray", "dashboardPort", "8265"},
        Row{"ray", "clientPort", "10001"}, Row{"ray", "clientServerPort", "10001"}}) {
    SCOPED_TRACE(std::string(row.plugin) + " --" + row.flag);
    const std::string flag = row.flag;
    for (const char* const bad : {"0", "-1", "65536", "70000", "x", ""}) {
      const std::unique_ptr<Plugin> plugin = MakePlugin(row.plugin, Words({"--" + flag + "=" + bad}));
      EXPECT_NE(plugin->ArgumentComplaint().find("flag '" + flag + "'"), std::string::npos) << bad;
      EXPECT_EQ(FlagValue(*plugin, flag), row.usual) << bad;
    }
    for (const auto& [word, port] : {std::pair("1", "1"), std::pair("65535", "65535"), std::pair("0x50", "80")}) {
      const std::unique_ptr<Plugin> plugin = MakePlugin(row.plugin, Words({"--" + flag + "=" + word}));
      EXPECT_EQ(plugin->ArgumentComplaint(), "");
      EXPECT_EQ(FlagValue(*plugin, flag), port);
    }
  }
}

// The pod of one task is told where the pod of another task is found.
TEST(RegistryTest, AddressesFollowTheHostnameAndSubdomainOfTheTemplate) {
  struct Row {
    const char* plugin;
    const char* told;
    const char* found;
    std::string before;  // The text before the address.
    std::string behind;
  };
  for (const Row& row :
       {Row{"mpi", "master", "worker", R"("value":")", "\""}, Row{"pytorch", "worker", "master", R"("value":")", "\""},
        Row{"ray", "worker", "head", "--address=", ":6379"}, Row{"tensorflow", "worker", "ps", R"([\")", ":2222"}}) {
    for (const auto& [members, host] : {std::pair<std::string, std::string>(R"("hostname":"h")", "h.j"),
                                        {R"("subdomain":"s")", std::string("j-") + row.found + "-0.s"},
                                        {R"("hostname":"h","subdomain":"s")", "h.s"}}) {
      const JobView job = JobWith({{row.told, 2, R"({"spec":{"containers":[{"name":"worker"}]}})"},
                                   {row.found, 1, R"({"spec":{)" + members + R"(,"containers":[]}})"}});
      const std::string pod = EditedPod(*MakePlugin(row.plugin), job, 0);
      EXPECT_NE(pod.find(row.before + host + row.behind), std::string::npos) << row.plugin << " " << pod;
    }
  }
}

TEST(RegistryTest, OnlyHcclrankHasNoMarker) {
  for (const std::string_view name : KnownPlugins())
    EXPECT_EQ(MakePlugin(name)->HasMarker(), name != "hcclrank") << name;
}

// A job is warned of variables that its template sets itself: the names are those that the plugin sets.
TEST(RegistryTest, EveryPluginNamesTheVariablesThatItSets) {
  const JobView job = JobWith({{"master", 1}, {"worker", 2}, {"head", 1}, {"ps", 1}, {"other", 1}});
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

// Kubernetes resolves a reference to an earlier variable: those of a plugin stand before those of the template.
TEST(RegistryTest, AVariableOfTheTemplateKeepsItsValueAndIsNotDoubled) {
  const JobView usual = JobWith({{"master", 1}, {"worker", 2}, {"head", 1}, {"ps", 1}, {"other", 1}});
  int variables = 0;
  for (const std::string_view name : KnownPlugins()) {
    const std::unique_ptr<Plugin> plugin = MakePlugin(name);
    for (const PodVariable& variable : plugin->Variables(usual)) {
      SCOPED_TRACE(std::string(name) + " " + variable.name);
      ++variables;
      const size_t task = variable.task == "worker" ? 1 : 0;
      JobView job = usual;
      job.tasks[task].pod_template =
          json::parse(R"({"spec":{"containers":[{"name":"c","env":[{"name":"X","value":"1"},{"name":")" +
                      variable.name + R"(","value":"mine"}]}]}})")
              .as_object();
      const json::value pod = json::parse(EditedPod(*plugin, job, task, 0));
      const json::array& env = pod.at("spec").at("containers").as_array().at(0).at("env").as_array();
      ASSERT_GE(env.size(), 2u);
      for (size_t i = 0; i + 2 < env.size(); ++i) EXPECT_NE(FindString(env[i], "name"), variable.name);
      EXPECT_EQ(FindString(env[env.size() - 2], "name"), "X");
      EXPECT_EQ(FindString(env[env.size() - 1], "name"), variable.name);
      EXPECT_EQ(FindString(env[env.size() - 1], "value"), "mine");
    }
  }
  EXPECT_EQ(variables, 2 + 2 * 5 + 1 + 1 + 5) << "of env, svc, tensorflow, mpi and pytorch";
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
  kube::v1::Job job = TestJob("j", {{"master", 1}, {"worker", 2}, {"ps", 1}});
  for (const std::string_view name : KnownPlugins()) job.mutable_spec()->add_plugins()->set_name(std::string(name));
  std::vector<std::string> objects;
  for (const WantedObject& object : WantedObjects(MakePlugins(job.spec()), TestView(job))) {
    objects.push_back(object.plugin + " " + object.Key());
  }
  EXPECT_EQ(objects, (std::vector<std::string>{"svc configmaps/j-svc", "svc services/j", "svc networkpolicies/j",
                                               "ssh secrets/j-ssh", "ray services/j-head-svc"}));
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

// Kubernetes refuses a container with two ports of one name.
TEST(PodEditTest, APortIsExposedOnce) {
  struct Row {
    const char* before;
    const char* after;
  };
  for (const Row& row : {
           Row{"{}", R"({"ports":[{"name":"a","containerPort":80}]})"},
           Row{R"({"ports":null})", R"({"ports":[{"name":"a","containerPort":80}]})"},
           Row{R"({"ports":[{"containerPort":81}]})",
               R"({"ports":[{"containerPort":81},{"name":"a","containerPort":80}]})"},
           Row{R"({"ports":[{"name":"b","containerPort":80,"protocol":"TCP"}]})",
               R"({"ports":[{"name":"b","containerPort":80,"protocol":"TCP"}]})"},
           Row{R"({"ports":[{"name":"a","containerPort":81}]})",
               R"({"ports":[{"name":"a","containerPort":81},{"containerPort":80}]})"},
       }) {
    json::object container = json::parse(row.before).as_object();
    for (int times = 0; times < 2; ++times) PodEdit::AddPort(container, "a", 80);
    ExpectJson(ToText(container), row.after);
  }
}

TEST(JobViewTest, ATaskIsFoundByItsName) {
  const JobView job = JobWith({{"a", 3}, {"b", 0}});
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
    const JobView job = JobWith({{"t", row.replicas, R"({"spec":)" + row.spec + "}"}});
    EXPECT_EQ(HostsOf(job, job.tasks[0]), row.hosts) << row.spec;
  }
}

}  // namespace
}  // namespace basalt::jobsvc
