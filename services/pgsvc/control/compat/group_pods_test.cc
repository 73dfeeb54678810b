#include "services/pgsvc/control/compat/group_pods.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/base/random.h"
#include "services/pgsvc/core/pod_grouping.h"
#include "services/pgsvc/core/testing.h"

namespace basalt::pgsvc {
namespace {

constexpr std::string_view kGroup = "podgroup-rs-uid";

kube::v1::Pod PodOf(const std::string& uid, const std::string& group = "") {
  kube::v1::Pod pod = testing::OwnedPod();
  pod.set_name(uid);
  pod.set_uid(uid);
  pod.set_group_name(group);
  return pod;
}

TEST(GroupPodsTest, APodOfTheRevisionComesBeforeANewerOneOfAnother) {
  const auto made = [](int64_t created_ms, const char* revision) {
    kube::v1::Pod pod = PodOf(std::to_string(created_ms));
    pod.set_creation_ms(created_ms);
    kube::v1::KeyValue& label = *pod.mutable_grouping()->add_labels();
    label.set_key("controller-revision-hash");
    label.set_value(revision);
    return pod;
  };
  EXPECT_TRUE(SpeaksBefore(made(1, "new"), made(2, "old"), "new"));
  EXPECT_FALSE(SpeaksBefore(made(2, "old"), made(1, "new"), "new"));
  EXPECT_TRUE(SpeaksBefore(made(2, "new"), made(1, "new"), "new"));
  EXPECT_TRUE(SpeaksBefore(made(2, "old"), made(1, "older"), "new")) << "none is of the revision";
  EXPECT_TRUE(SpeaksBefore(made(2, "old"), made(1, "new"), "")) << "the owner has no revisions";
}

TEST(GroupPodsTest, WhatIsKnownOfThemEqualsARecountAfterRandomHistories) {
  SeededRandom random(7);
  GroupPods pods;
  for (int step = 0; step < 5'000; ++step) {
    const std::string uid = "u" + std::to_string(random.Uniform(12));
    if (random.OneIn(4)) {
      pods.Erase(kGroup, uid);
    } else {
      kube::v1::Pod pod = PodOf(uid, random.OneIn(2) ? std::string(kGroup) : random.OneIn(3) ? "another" : "");
      pod.set_creation_ms(static_cast<int64_t>(random.Uniform(4)) * 1'000);
      const std::string of = random.OneIn(2) ? "r1" : "r2";
      if (!random.OneIn(3)) {
        kube::v1::KeyValue& label = *pod.mutable_grouping()->add_labels();
        label.set_key("controller-revision-hash");
        label.set_value(of);
      }
      if (random.OneIn(4)) pod.set_phase(kube::v1::POD_PHASE_SUCCEEDED);
      if (random.OneIn(4)) pod.set_deletion_ms(1);
      if (random.OneIn(4)) pod.set_owner_uid("somebody-elses");
      pods.Set(kGroup, std::move(pod));
    }
    const auto any = [&pods](const auto& holds) {
      return std::any_of(pods.all().begin(), pods.all().end(), [&](const auto& pod) { return holds(pod.second); });
    };
    ASSERT_EQ(pods.FirstLacking(kGroup) != nullptr, any([](const auto& pod) { return LacksGroup(pod, kGroup); }));
    ASSERT_EQ(pods.has_unfinished(), any([](const auto& pod) { return !IsOver(pod); }));
    for (const std::string revision : {"", "r1", "r3"}) {
      const kube::v1::Pod* first = nullptr;
      for (const auto& [key, pod] : pods.all()) {
        if (!SaysHowTheGroupIs(kGroup, pod)) continue;
        if (first == nullptr || SpeaksBefore(pod, *first, revision)) first = &pod;
      }
      ASSERT_EQ(pods.Newest(revision), first) << step << " " << revision;
    }
  }
}

}  // namespace
}  // namespace basalt::pgsvc
