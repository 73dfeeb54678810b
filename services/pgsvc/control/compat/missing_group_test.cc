#include "services/pgsvc/control/compat/missing_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/slots.h"
#include "common/runtime/testing/scripted_context.h"
#include "services/pgsvc/control/pod_group_controller.h"
#include "services/pgsvc/core/testing.h"

namespace basalt::pgsvc {
namespace {

using runtime::testing::Done;
using ::testing::HasSubstr;

constexpr char kKey[] = "default/ext";

class MissingGroupTest : public ::testing::Test {
 protected:
  MissingGroupTest() {
    for (uint32_t slot = 0; slot < kSlotCount; ++slot) EXPECT_TRUE(controller_.OpenSlot(slot).ok());
  }

  // Returns a pod that names the group of a user.
  static kube::v1::Pod PodOf(const std::string& name) {
    kube::v1::Pod pod = testing::OwnedPod();
    pod.set_namespace_("default");
    pod.set_name(name);
    pod.set_uid(name + "-uid");
    pod.set_group_name("ext");
    return pod;
  }
  void Show(const kube::v1::Pod& pod) {
    kube::v1::Object object;
    *object.mutable_pod() = pod;
    controller_.OnState(kKey, "pods/scheduler=volcano", std::move(object));
    Pass();
  }
  void ShowGroup() {
    kube::v1::Object object;
    object.mutable_pod_group()->mutable_meta()->set_uid("pg-1");
    controller_.OnState(kKey, "podgroups", std::move(object));
    Pass();
  }
  void Forget(const std::string& uid) {
    controller_.OnGone(kKey,
                       {.reason = runtime::Gone::Reason::kDeleted, .watch = {}, .uid = uid, .ns = {}, .name = {}});
    Pass();
  }
  void Pass() {
    context_.Wake(kKey);
    context_.RunPasses(controller_);
  }
  void Wait(absl::Duration time) { context_.Advance(time, controller_); }
  // Returns the names of the pods that were warned since the last call. Nothing else was written.
  std::vector<std::string> Warned() {
    std::vector<std::string> warned;
    while (!context_.writes.empty()) {
      const gateway::v1::WriteRequest& request = context_.writes.front().request;
      EXPECT_EQ(request.resource().plural(), "events");
      EXPECT_THAT(request.create().body(), HasSubstr("\"PodGroupMissing\""));
      EXPECT_THAT(request.create().body(), HasSubstr("names pod group ext, which does not exist"));
      for (const char* name : {"a", "b"}) {
        if (request.create().body().find(std::string("\"uid\":\"") + name + "-uid\"") != std::string::npos) {
          warned.emplace_back(name);
        }
      }
      context_.Answer(Done(), controller_);
    }
    return warned;
  }

  runtime::testing::ScriptedContext context_;
  PodGroupController controller_{context_, {}};
};

TEST_F(MissingGroupTest, APodThatNamesAGroupWhichNobodyMakesIsToldOnceAfterAWhile) {
  Show(PodOf("a"));
  Wait(absl::Seconds(29));
  EXPECT_THAT(Warned(), ::testing::IsEmpty());
  Wait(absl::Seconds(1));
  EXPECT_THAT(Warned(), ::testing::ElementsAre("a"));
  Wait(absl::Hours(1));
  Show(PodOf("a"));
  EXPECT_THAT(Warned(), ::testing::IsEmpty());
  Show(PodOf("b"));
  EXPECT_THAT(Warned(), ::testing::IsEmpty()) << "all pods were looked at just now";
  Wait(absl::Seconds(1));
  EXPECT_THAT(Warned(), ::testing::ElementsAre("b")) << "the group has been missing for long";
}

TEST_F(MissingGroupTest, AGroupThatComesInTimeIsNoMatter) {
  Show(PodOf("a"));
  Wait(absl::Seconds(20));
  ShowGroup();
  Wait(absl::Minutes(1));
  EXPECT_THAT(Warned(), ::testing::IsEmpty());
  Forget("pg-1");
  Wait(absl::Seconds(29));
  EXPECT_THAT(Warned(), ::testing::IsEmpty()) << "the time begins anew";
  Wait(absl::Seconds(1));
  EXPECT_THAT(Warned(), ::testing::ElementsAre("a"));
}

TEST_F(MissingGroupTest, APodThatIsOverOrGoesWaitsForNothing) {
  kube::v1::Pod over = PodOf("a");
  over.set_phase(kube::v1::POD_PHASE_SUCCEEDED);
  Show(over);
  kube::v1::Pod leaving = PodOf("b");
  leaving.set_deletion_ms(1);
  Show(leaving);
  Wait(absl::Minutes(1));
  EXPECT_THAT(Warned(), ::testing::IsEmpty());
}

// The group of a pod that runs does not matter any more.
TEST_F(MissingGroupTest, APodThatHasANodeWaitsForNothing) {
  kube::v1::Pod pod = PodOf("a");
  pod.set_node_name("node-1");
  Show(pod);
  Wait(absl::Minutes(1));
  EXPECT_THAT(Warned(), ::testing::IsEmpty());
}

TEST_F(MissingGroupTest, APodThatGoesIsForgotten) {
  Show(PodOf("a"));
  Forget("a-uid");
  Wait(absl::Minutes(1));
  EXPECT_THAT(Warned(), ::testing::IsEmpty());
}

}  // namespace
}  // namespace basalt::pgsvc
