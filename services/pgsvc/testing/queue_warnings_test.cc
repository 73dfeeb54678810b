// Queues that place nothing: pods are warned, and Explain states why.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/kube/group_profile.h"
#include "common/kube/kinds.h"
#include "services/pgsvc/testing/namespace_rig.h"

namespace basalt::pgsvc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kMissing[] = "queue team does not exist: no group of it is placed until it does";
constexpr char kOrphan[] =
    "queue team is below queue dept, which does not exist: no group of it is placed until that does";
constexpr char kHasChildren[] = "queue team has queues below it: only queues that have none place groups";

// The same life of a queue for each scheduler and profile.
class QueueLife {
 public:
  explicit QueueLife(kube::GroupProfile profile) : profile_(profile), rig_({}, profile) {
    MakeQueue("default", "");
    rig_.Start();
    const bool is_kai = profile == kube::GroupProfile::kKai;
    rig_.Make(kube::kPods, fmt::format("metadata: {{name: a, {}}}\n"
                                       "spec: {{schedulerName: {}, containers: [{{name: c, image: i}}]}}",
                                       is_kai ? "labels: {kai.scheduler/queue: team}"
                                              : "annotations: {scheduling.volcano.sh/queue-name: team}",
                                       is_kai ? "kai-scheduler" : "volcano"));
    rig_.Run(absl::Seconds(5));
  }
  void MakeQueue(const std::string& name, const std::string& parent) {
    const bool is_kai = profile_ == kube::GroupProfile::kKai;
    rig_.server().Create(is_kai ? kube::kKaiQueues : kube::kQueues,
                         json::object{{"metadata", json::object{{"name", name}}},
                                      {"spec", json::object{{is_kai ? "parentQueue" : "parent", parent}}}});
    rig_.Run(absl::Seconds(1));
  }
  // KAI's own controller writes whether a queue has queues below it.
  void MakeChild() {
    MakeQueue("child", "team");
    if (profile_ != kube::GroupProfile::kKai) return;
    rig_.server().Merge(kube::kKaiQueues, "", "team", *ParseJson(R"({"status":{"childQueues":["child"]}})"), "status");
    rig_.Run(absl::Seconds(1));
  }
  std::string Problem() {
    auto& controller = dynamic_cast<PodGroupController&>(rig_.any_controller());
    const std::string key = profile_ == kube::GroupProfile::kCompat
                                ? fmt::format("default/podgroup-{}", rig_.UidOf(kube::kPods, "a"))
                                : kube::NamespaceKey("default", profile_);
    const auto explanation = controller.ScopesOf(key).Explain(key, "a");
    EXPECT_TRUE(explanation);
    return explanation ? explanation->queue_problem : "";
  }
  NamespaceRig& rig() { return rig_; }

 private:
  const kube::GroupProfile profile_;
  NamespaceRig rig_;
};

TEST(QueueWarningsTest, AQueueThatPlacesNothingIsReportedOnceWhereThatLasts) {
  for (const kube::GroupProfile profile :
       {kube::GroupProfile::kCompat, kube::GroupProfile::kRich, kube::GroupProfile::kKai}) {
    SCOPED_TRACE(static_cast<int>(profile));
    QueueLife life(profile);
    EXPECT_EQ(life.Problem(), kMissing);
    EXPECT_THAT(life.rig().Events(), IsEmpty()) << "the queue may be on its way";
    life.rig().Run(absl::Minutes(3));
    EXPECT_THAT(life.rig().Events(), ElementsAre(fmt::format("a PodGroupWarning: {}", kMissing)));
    life.MakeQueue("team", "dept");
    EXPECT_EQ(life.Problem(), kOrphan);
    life.MakeQueue("dept", "");
    EXPECT_EQ(life.Problem(), "");
    life.rig().Run(absl::Minutes(1));
    EXPECT_THAT(life.rig().Events(), ElementsAre(fmt::format("a PodGroupWarning: {}", kMissing)));
    life.MakeChild();
    EXPECT_EQ(life.Problem(), kHasChildren);
    life.rig().Run(absl::Minutes(1));
    EXPECT_THAT(life.rig().Events(), ElementsAre(fmt::format("a PodGroupWarning: {}", kMissing),
                                                 fmt::format("a PodGroupWarning: {}", kHasChildren)));
    EXPECT_EQ(life.rig().server().Count("patch", "events"), 0) << "each is reported once";
  }
}

// The definition of queues may be missing.
TEST(QueueWarningsTest, NothingIsSaidOfVolcanosQueuesWhereThereAreNone) {
  RichRig rig;
  rig.Start();
  rig.MakePod("a");
  rig.Run(absl::Minutes(2));
  EXPECT_THAT(rig.Events(), IsEmpty());
}

}  // namespace
}  // namespace basalt::pgsvc
