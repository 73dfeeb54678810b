#include "services/jobsvc/core/plugins/registry.h"

#include <gtest/gtest.h>

#include "services/jobsvc/core/plugins/plugin_test_util.h"

namespace basalt::jobsvc {
namespace {

TEST(RegistryTest, WorksInTheFixedOrderWhateverTheManifestsOrder) {
  kube::v1::JobSpec spec;
  for (const char* name : {"zzz", "hcclrank", "mpi", "aaa", "ssh", "svc", "env"}) spec.add_plugins()->set_name(name);
  const PluginSet set = MakePlugins(spec);
  ASSERT_EQ(set.plugins.size(), 3u);
  EXPECT_EQ(set.plugins[0]->Name(), "env");
  EXPECT_EQ(set.plugins[1]->Name(), "svc");
  EXPECT_EQ(set.plugins[2]->Name(), "ssh");
  EXPECT_EQ(set.unsupported, (std::vector<std::string>{"mpi", "hcclrank"}));
  EXPECT_EQ(set.unknown, (std::vector<std::string>{"aaa", "zzz"}));
}

TEST(RegistryTest, KnowsEightNamesOfWhichThreeWork) {
  EXPECT_EQ(KnownPlugins().size(), 8u);
  for (const char* name : {"env", "svc", "ssh"}) EXPECT_EQ(SupportOf(name), PluginSupport::kSupported) << name;
  for (const char* name : {"tensorflow", "mpi", "pytorch", "ray", "hcclrank"}) {
    EXPECT_EQ(SupportOf(name), PluginSupport::kKnown) << name;
    EXPECT_EQ(MakePlugin(name, {}), nullptr);
  }
  EXPECT_EQ(SupportOf("nvlink"), PluginSupport::kUnknown);
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

TEST(RegistryTest, EachPluginThatWorksIsOneThatAJobHas) {
  for (const std::string_view name : KnownPlugins()) {
    kube::v1::JobSpec spec;
    spec.add_plugins()->set_name(std::string(name));
    const PluginSet set = MakePlugins(spec);
    const bool works = SupportOf(name) == PluginSupport::kSupported;
    EXPECT_EQ(set.plugins.size(), works ? 1u : 0u) << name;
    EXPECT_EQ(set.unsupported.size(), works ? 0u : 1u) << name;
    EXPECT_TRUE(set.unknown.empty()) << name;
    if (works) {
      EXPECT_EQ(set.plugins[0]->Name(), name);
    }
  }
}

TEST(RegistryTest, ObjectsComeInOrderOfCreation) {
  kube::v1::Job job = TestJob("j", {{"t"}});
  for (const char* name : {"ssh", "svc", "env"}) job.mutable_spec()->add_plugins()->set_name(name);
  std::vector<std::string> kinds;
  for (const WantedObject& object : WantedObjects(MakePlugins(job.spec()), TestView(job))) kinds.push_back(object.kind);
  EXPECT_EQ(kinds, (std::vector<std::string>{"ConfigMap", "Service", "NetworkPolicy", "Secret"}));
}

TEST(PodEditTest, AnExistingMemberStaysWhereItIs) {
  json::object pod = {{"apiVersion", "v1"}, {"kind", "Pod"}};
  ObjectMember(pod, "spec");
  json::object& metadata = ObjectMember(pod, "metadata");
  ObjectMember(pod, "spec");
  ArrayMember(ObjectMember(pod, "spec"), "containers");
  EXPECT_EQ(&metadata, &ObjectMember(pod, "metadata"));
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
