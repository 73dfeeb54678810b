// The three forms of deploy/ render the same objects, and a real API server accepts each object. scripts/deploy renders
// the forms with kustomize and helm.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/json.h"
#include "common/base/version.h"
#include "common/base/yaml.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "tests/e2e/harness.h"
#include "tests/realkube/cluster.h"

namespace basalt {
namespace {

using e2e::Ran;
using ::testing::HasSubstr;

constexpr absl::Duration kLimit = absl::Minutes(10);  // The first run builds the tools.
constexpr char kScript[] = BASALT_SOURCE_DIR "/scripts/deploy";

using Objects = std::map<std::string, json::value>;

class RenderTest : public ::testing::Test {
 protected:
  static Ran Run(const std::vector<std::string>& command) { return e2e::RunToEnd(command, dir_->path(), kLimit); }
  static std::string Out(const std::vector<std::string>& command) {
    Ran ran = Run(command);
    EXPECT_EQ(ran.exit_code, 0) << command[0] << ": " << ran.err;
    ran.out.erase(ran.out.find_last_not_of('\n') + 1);
    return ran.out;
  }
  static void SetUpTestSuite() {
    dir_ = new testing::TempDir();
    helm_ = Out({kScript, "tools"}) + "/helm";
    Out({kScript, "chart", *dir_ / "chart"});
  }
  static void TearDownTestSuite() { delete dir_; }

  static std::string Kustomized(const std::vector<std::string>& components) {
    std::vector<std::string> command = {kScript, "install"};
    command.insert(command.end(), components.begin(), components.end());
    return Out(command);
  }
  static std::vector<std::string> Template(const std::string& values) {
    std::vector<std::string> command = {helm_, "template", "basalt", *dir_ / "chart", "-n", "basalt-system"};
    if (!values.empty()) command.insert(command.end(), {"--set", values});
    return command;
  }

  // Returns the objects by kind, namespace and name. Namespaces are left out, because helm creates the namespace
  // itself.
  static Objects Parsed(const std::string& text) {
    Objects objects;
    const auto documents = ParseYamlDocuments(text);
    EXPECT_THAT(documents, testing::IsOk());
    if (!documents.ok()) return objects;
    for (const json::value& object : *documents) {
      const std::string kind(FindString(object, "kind"));
      if (kind == "Namespace") continue;
      const std::string key = fmt::format("{} {}/{}", kind, FindString(object.at("metadata"), "namespace"),
                                          FindString(object.at("metadata"), "name"));
      EXPECT_TRUE(objects.emplace(key, object).second) << key << " is there twice";
    }
    return objects;
  }
  static void ExpectSame(const Objects& kustomized, const Objects& chart) {
    for (const auto& [name, object] : kustomized) {
      const auto found = chart.find(name);
      EXPECT_TRUE(found != chart.end() && found->second == object)
          << name << "\n"
          << ToText(object) << "\n"
          << (found == chart.end() ? "is not in the chart" : ToText(found->second));
    }
    for (const auto& [name, object] : chart) EXPECT_TRUE(kustomized.contains(name)) << name << " is in the chart alone";
  }

  static testing::TempDir* dir_;
  static std::string helm_;
};
testing::TempDir* RenderTest::dir_ = nullptr;
std::string RenderTest::helm_;

TEST_F(RenderTest, TheChartHasTheObjectsOfTheManifests) {
  struct Case {
    std::vector<std::string> components;
    std::string values;
  };
  for (const Case& c : std::vector<Case>{
           {{}, ""},
           {{"kai", "rich-grouping", "prometheus", "admission", "guard", "impersonation", "owner-references",
             "cert-manager"},
            "kai.enabled=true,richGrouping.enabled=true,prometheus.enabled=true,admission.enabled=true,guard.enabled="
            "true,"
            "impersonation.enabled=true,ownerReferences.enabled=true,certificates.source=cert-manager"},
           {{"pod-certificates", "replicas"},
            "certificates.source=pod-certificates,gateway.replicas=3,jobsvc.replicas=5,pgsvc.replicas=5"}}) {
    SCOPED_TRACE(c.values);
    const std::string kustomized = Kustomized(c.components);
    ExpectSame(Parsed(kustomized), Parsed(Out(Template(c.values))));
    EXPECT_EQ(kustomized, Kustomized(c.components)) << "nothing in a render is random";
  }
}

TEST_F(RenderTest, HelmKeepsTheDefinitions) {
  int count = 0;
  for (const auto& [name, object] : Parsed(Out(Template("")))) {
    if (!name.starts_with("CustomResourceDefinition")) continue;
    ++count;
    EXPECT_EQ(ToText(*FindPath(object, {"metadata", "annotations"})), R"({"helm.sh/resource-policy":"keep"})") << name;
  }
  EXPECT_EQ(count, 4);
}

TEST_F(RenderTest, ValuesChangeWhatTheyName) {
  const Objects objects = Parsed(
      Out(Template("cluster=blue,image.repository=registry.example.com/basalt,jobsvc.replicas=0,"
                   "jobsvc.volume.storageClass=fast,gateway.args={--kube_qps=50},gateway.pod.nodeSelector.disk=ssd")));
  const auto at = [&](const std::string& name, std::initializer_list<std::string_view> path) {
    const json::value* const found = FindPath(objects.at(name), path);
    return found == nullptr ? "" : ToText(*found);
  };
  const std::string gateway = at("Deployment basalt-system/basalt-gateway", {"spec", "template", "spec"});
  EXPECT_THAT(gateway, HasSubstr(R"("--cluster=blue","--kube_qps=50")"));
  EXPECT_THAT(gateway, HasSubstr(fmt::format(R"("image":"registry.example.com/basalt:{}")", Version())));
  EXPECT_THAT(gateway, HasSubstr(R"("nodeSelector":{"disk":"ssd"})"));
  EXPECT_EQ(at("StatefulSet basalt-system/basalt-jobsvc", {"spec", "replicas"}), "0");
  EXPECT_THAT(at("StatefulSet basalt-system/basalt-jobsvc", {"spec", "volumeClaimTemplates"}),
              HasSubstr(R"("storageClassName":"fast")"));
}

TEST_F(RenderTest, AValueThatTheSchemaRefusesIsNamed) {
  struct Case {
    std::string values, error;
  };
  for (const Case& c :
       std::vector<Case>{{"jobsvc.replicas=x", "'/jobsvc/replicas': got string, want integer"},
                         {"jobsvc.replica=4", "'/jobsvc': additional properties 'replica' not allowed"},
                         {"certificates.source=none", "'/certificates/source': value must be one of"},
                         {"gateway.args={-x}", "'/gateway/args/0': '-x' does not match pattern"},
                         {"cluster=A_b", "'/cluster': 'A_b' does not match pattern"},
                         {"jobsvc.volume.size=big", "'/jobsvc/volume/size': 'big' does not match pattern"}}) {
    const Ran ran = Run(Template(c.values));
    EXPECT_NE(ran.exit_code, 0) << c.values;
    EXPECT_THAT(ran.err, HasSubstr(c.error));
  }
}

TEST_F(RenderTest, ARealServerTakesEachObject) {
  // Kubernetes 1.37 serves pod certificates.
  const auto cluster = realkube::Cluster::Start({.kubernetes = "1.37", .nodes = 0, .kwok = false});
  ASSERT_THAT(cluster, testing::IsOk());
  for (const auto& definitions :
       {realkube::DefinitionsOf("cert-manager"), realkube::DefinitionsOf("prometheus-operator")}) {
    ASSERT_THAT(definitions, testing::IsOk());
    ASSERT_THAT((*cluster)->Kubectl({"apply", "--server-side", "-f", *definitions}), testing::IsOk());
  }
  for (const std::vector<std::string>& components :
       std::vector<std::vector<std::string>>{{"kai", "rich-grouping", "prometheus", "admission", "guard",
                                              "impersonation", "owner-references", "cert-manager"},
                                             {"pod-certificates", "replicas"}}) {
    const std::string file = *dir_ / "install.yaml";
    e2e::WriteFile(file, Kustomized(components));
    const auto answer = (*cluster)->Kubectl(
        {"apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", file});
    ASSERT_THAT(answer, testing::IsOk());
    EXPECT_THAT(*answer, HasSubstr("statefulset.apps/basalt-queuesvc serverside-applied (server dry run)"));
  }
}

}  // namespace
}  // namespace basalt
