// A person makes mistakes in an installation. Each pod names its problem, and jobs go on.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "common/base/json.h"
#include "tests/pods/installed.h"

namespace basalt::pods {
namespace {

using e2e::Eventually;
using e2e::JudgeJob;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr absl::Duration kLimit = absl::Seconds(90);

class BadInputTest : public InstalledTest {
 protected:
  // Creates a pod like those of jobsvc, with an emptyDir as its volume, and with the one change that `spoil` makes.
  void MakePod(const std::string& name, const std::function<void(json::object& spec, json::object& container)>& spoil) {
    const json::value set = suite_->Object("statefulset", "basalt-jobsvc");
    json::object spec = FindPath(set, {"spec", "template", "spec"})->as_object();
    spec["restartPolicy"] = "Never";
    spec["volumes"].as_array().push_back({{"name", "data"}, {"emptyDir", json::object()}});
    spoil(spec, spec["containers"].as_array()[0].as_object());
    suite_->Apply(ToText(json::value{{"apiVersion", "v1"},
                                     {"kind", "Pod"},
                                     {"metadata", {{"name", name}, {"namespace", kNamespace}}},
                                     {"spec", spec}}));
  }
  // Waits until the process has ended, and returns its log.
  std::string EndOf(const std::string& pod) {
    EXPECT_TRUE(Eventually(kLimit, [&] {
      return suite_->Kubectl({"get", "pod", pod, "-n", kNamespace, "-o", "jsonpath={.status.phase}"}) == "Failed";
    })) << suite_->Kubectl({"describe", "pod", pod, "-n", kNamespace});
    return suite_->Kubectl({"logs", pod, "-n", kNamespace});
  }
  std::string EventsOf(const std::string& object) {
    return suite_->Kubectl({"get", "events", "-n", kNamespace, "--field-selector", "involvedObject.name=" + object,
                            "-o", "jsonpath={.items[*].message}"});
  }
  static void WithoutMount(json::object& container, std::string_view name) {
    json::array& mounts = container["volumeMounts"].as_array();
    mounts.erase(std::find_if(mounts.begin(), mounts.end(),
                              [&](const json::value& mount) { return FindString(mount, "name") == name; }));
  }
};

TEST_F(BadInputTest, APodSaysWhyItCannotKeepItsStore) {
  MakePod("no-volume", [](json::object&, json::object& container) { WithoutMount(container, "data"); });
  MakePod("read-only", [](json::object&, json::object& container) {
    for (json::value& mount : container["volumeMounts"].as_array()) mount.as_object()["readOnly"] = true;
  });
  // The folder of a new volume belongs to root. kubelet gives the folder to the group that fsGroup names.
  suite_->Apply(
      "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: spoiled, namespace: basalt-system}\nspec:\n"
      "  accessModes: [ReadWriteOnce]\n  resources: {requests: {storage: 1Gi}}\n");
  MakePod("wrong-group", [](json::object& spec, json::object&) {
    spec["securityContext"].as_object().erase("fsGroup");
    spec["volumes"].as_array().back() = {{"name", "data"}, {"persistentVolumeClaim", {{"claimName", "spoiled"}}}};
  });
  MakePod("full-disk", [](json::object& spec, json::object&) {
    spec["volumes"].as_array().back() = {{"name", "data"}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", "16Ki"}}}};
  });
  EXPECT_THAT(EndOf("no-volume"),
              AllOf(HasSubstr("error: "), HasSubstr("/var/lib/basalt"), HasSubstr("Read-only file system")));
  EXPECT_THAT(EndOf("read-only"),
              AllOf(HasSubstr("error: "), HasSubstr("/var/lib/basalt"), HasSubstr("Read-only file system")));
  EXPECT_THAT(EndOf("wrong-group"),
              AllOf(HasSubstr("error: "), HasSubstr("/var/lib/basalt"), HasSubstr("Permission denied")));
  EXPECT_THAT(EndOf("full-disk"), AllOf(HasSubstr("error: "), HasSubstr("No space left on device")));
}

TEST_F(BadInputTest, APodNamesTheSecretThatIsMissingAndTheFlagThatIsWrong) {
  MakePod("no-secret", [](json::object& spec, json::object&) {
    for (json::value& volume : spec["volumes"].as_array()) {
      if (FindString(volume, "name") == "basalt-tls")
        volume.as_object()["secret"] = {{"secretName", "basalt-nobody-tls"}};
    }
  });
  MakePod("wrong-flag", [](json::object&, json::object& container) {
    container["args"].as_array().push_back("--metrics_idle_timeout=0s");
  });
  EXPECT_THAT(EndOf("wrong-flag"), HasSubstr("--metrics_idle_timeout has to be between 1s and 24h"));
  EXPECT_TRUE(Eventually(kLimit, [&] {
    return EventsOf("no-secret").find("secret \"basalt-nobody-tls\" not found") != std::string::npos;
  })) << EventsOf("no-secret");
  suite_->Kubectl({"delete", "pod", "-n", kNamespace, "no-secret", "wrong-flag", "--grace-period=1"});
}

TEST_F(BadInputTest, JobsOutliveReplicasThatAreScaledToNothing) {
  suite_->Apply(JobManifest("patient", "minAvailable: 2", {RealTask("t", 2, "sleep 6")}));
  ASSERT_TRUE(Eventually(kLimit, [&] { return suite_->JobPhase("patient") == "Running"; }));
  suite_->Kubectl({"scale", "statefulset", "-n", kNamespace, "--all", "--replicas=0"});
  EXPECT_TRUE(Eventually(kLimit, [&] {
    return suite_->Kubectl({"get", "pods", "patient-t-0", "-o", "jsonpath={.status.phase}"}) == "Succeeded";
  }));
  EXPECT_EQ(suite_->JobPhase("patient"), "Running");
  suite_->Kubectl({"scale", "statefulset", "-n", kNamespace, "--all", "--replicas=3"});
  EXPECT_TRUE(Eventually(kLimit, [&] { return suite_->JobPhase("patient") == "Completed"; }));
  EXPECT_THAT(JudgeJob(*suite_, "patient"), IsEmpty());
}

TEST_F(BadInputTest, JobsOutliveTheSuiteAndANewInstallationTakesThemOver) {
  suite_->Apply(JobManifest("survivor", "minAvailable: 2", {RealTask("t", 2, "sleep 25")}));
  ASSERT_TRUE(Eventually(kLimit, [&] { return suite_->JobPhase("survivor") == "Running"; }));
  const std::string begun =
      suite_->Kubectl({"get", "pods", "survivor-t-0", "survivor-t-1", "-o", "jsonpath={.items[*].metadata.uid}"});
  suite_->Kubectl({"delete", "namespace", kNamespace, "--timeout=60s"}, absl::Seconds(70));
  suite_->Install();
  EXPECT_TRUE(suite_->IsReadyWithin(kLimit));
  EXPECT_TRUE(Eventually(kLimit, [&] { return suite_->JobPhase("survivor") == "Completed"; }))
      << suite_->JobPhase("survivor");
  EXPECT_EQ(suite_->Kubectl({"get", "pods", "survivor-t-0", "survivor-t-1", "-o", "jsonpath={.items[*].metadata.uid}"}),
            begun);
}

}  // namespace
}  // namespace basalt::pods
