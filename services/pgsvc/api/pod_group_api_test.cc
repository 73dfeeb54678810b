// The answers of the handlers over two workers.
#include "services/pgsvc/api/pod_group_api.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/slot_set.h"
#include "common/base/slots.h"
#include "common/kube/names.h"
#include "common/rpc/list_part.h"
#include "common/runtime/testing/scripted_context.h"
#include "common/testing/status_matchers.h"
#include "services/pgsvc/api/pod_group_list.h"
#include "services/pgsvc/api/testing.h"
#include "services/pgsvc/core/testing.h"

namespace basalt::pgsvc {
namespace {

using basalt::testing::IsOk;
using basalt::testing::StatusIs;
using podgroup::v1::PodGroupHistoryEntry;

class PodGroupApiTest : public ::testing::Test {
 protected:
  testing::Worker& WorkerOf(const std::string& key) { return workers_.WorkerOf(key); }
  void Put(const std::string& name, const std::string& queue = "default") {
    const std::string key = "default/" + name;
    kube::v1::Object object;
    kube::v1::PodGroup& group = *object.mutable_pod_group();
    group.mutable_meta()->set_namespace_("default");
    group.mutable_meta()->set_name(name);
    group.mutable_meta()->set_uid(name + "-uid");
    group.mutable_spec()->set_queue(queue);
    WorkerOf(key).controller->OnState(key, std::string(kube::kWatchPodGroups), std::move(object));
  }
  void PutOf(podgroup::v1::Profile profile, const std::string& ns, const std::string& name) {
    const std::string key = RoutingKeyOf(profile, ns, name);
    kube::v1::Object object;
    const bool is_kai = profile == podgroup::v1::PROFILE_KAI;
    kube::v1::ObjectMeta& meta =
        is_kai ? *object.mutable_kai_pod_group()->mutable_meta() : *object.mutable_pod_group()->mutable_meta();
    meta.set_namespace_(ns);
    meta.set_name(name);
    meta.set_uid(ns + name + (is_kai ? "-kai" : ""));
    WorkerOf(key).controller->OnState(key, "", std::move(object));
  }
  // Puts a pod without a group, whose group the API server refuses.
  void PutRefused(const std::string& name) {
    const std::string key = "ns/podgroup-" + name;
    testing::Worker& worker = WorkerOf(key);
    kube::v1::Object object;
    *object.mutable_pod() = testing::BarePod();
    object.mutable_pod()->set_uid(name);
    worker.controller->OnState(key, "pods/scheduler=volcano", std::move(object));
    worker.context.Wake(key);
    worker.context.RunPasses(*worker.controller);
    ASSERT_EQ(worker.context.writes.size(), 1U);
    worker.context.Answer(runtime::testing::Refused(403, "Forbidden", "denied by admission"), *worker.controller);
  }
  template <typename Request, typename Response>
  absl::StatusOr<Response> Ask(void (PodGroupApi::*method)(Request, rpc::Done<Response>), Request request) {
    std::optional<absl::StatusOr<Response>> answer;
    (api_.*method)(std::move(request), [&](absl::StatusOr<Response> got) { answer = std::move(got); });
    return answer.value_or(absl::InternalError("no answer"));
  }
  absl::StatusOr<podgroup::v1::PodGroup> Get(const std::string& ns, const std::string& name) {
    podgroup::v1::GetPodGroupRequest request;
    request.set_namespace_(ns);
    request.set_name(name);
    return Ask(&PodGroupApi::Get, request);
  }
  absl::StatusOr<podgroup::v1::PodGroupHistory> History(const std::string& ns, const std::string& name) {
    podgroup::v1::GetPodGroupHistoryRequest request;
    request.set_namespace_(ns);
    request.set_name(name);
    return Ask(&PodGroupApi::History, request);
  }
  // Returns the names on one page and, behind "|", its token.
  std::string List(const podgroup::v1::ListPodGroupsRequest& request, const SlotSet& slots = SlotSet::All()) {
    podgroup::v1::ListPartRequest part;
    *part.mutable_request() = request;
    part.set_slots(slots.ToBytes());
    auto answer = Ask(&PodGroupApi::ListPart, part);
    if (!answer.ok()) return answer.status().ToString();
    const podgroup::v1::ListPodGroupsResponse page = rpc::ToPage<PodGroupList>(*std::move(answer));
    std::string text;
    for (const auto& group : page.pod_groups()) text += group.object().meta().name() + " ";
    return text + "|" + page.next_page_token();
  }

  testing::TwoWorkers workers_;
  PodGroupApi api_{workers_, std::make_shared<watch::WatchHub>()};
};

TEST_F(PodGroupApiTest, AGroupIsToldAsKubernetesHasIt) {
  Put("train");
  const auto group = Get("", "train");
  ASSERT_THAT(group, IsOk());
  EXPECT_EQ(group->object().meta().uid(), "train-uid");
  EXPECT_FALSE(group->has_failing_since_time());
  EXPECT_THAT(Get("default", "none"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(History("default", "none"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(PodGroupApiTest, AGroupThatIsRefusedIsToldWithItsNextTryAndItsHistoryWithTheWords) {
  PutRefused("web");
  const auto group = Get("ns", "podgroup-web");
  ASSERT_THAT(group, IsOk());
  EXPECT_EQ(group->object().meta().uid(), "");
  EXPECT_EQ(group->pods(), 1);
  EXPECT_TRUE(group->has_failing_since_time());
  EXPECT_TRUE(group->has_retry_time());
  const auto history = History("ns", "podgroup-web");
  ASSERT_THAT(history, IsOk());
  ASSERT_EQ(history->entries_size(), 1);
  const PodGroupHistoryEntry& entry = history->entries(0);
  EXPECT_EQ(entry.decision(), PodGroupHistoryEntry::DECISION_REFUSED);
  EXPECT_EQ(entry.message(), "denied by admission");
  EXPECT_EQ(entry.asked_by(), "pod p");
  EXPECT_TRUE(entry.has_time());
  EXPECT_FALSE(history->has_gone_time());
}

TEST_F(PodGroupApiTest, ListsAreSortedFilteredAndPaged) {
  for (const char* name : {"d", "b", "a", "c"}) Put(name, name == std::string("b") ? "research" : "default");
  PutRefused("web");
  podgroup::v1::ListPodGroupsRequest request;
  EXPECT_EQ(List(request), "a b c d podgroup-web |");
  request.set_namespace_("default");
  EXPECT_EQ(List(request), "a b c d |");
  request.set_page_size(3);
  EXPECT_EQ(List(request), "a b c |default/c");
  request.set_page_token("default/c");
  EXPECT_EQ(List(request), "d |");
  request.Clear();
  request.set_queue("research");
  EXPECT_EQ(List(request), "b |");
  SlotSet one;
  one.Insert(SlotOf("default/b"));
  EXPECT_EQ(List({}, one), "b |");
}

// Includes all names that one of the profiles orders in its own way.
TEST_F(PodGroupApiTest, PagesOfAllProfilesTellEachGroupOnceInOrder) {
  std::vector<std::string> all;
  for (const char* ns : {"n", "n-x", "n.y"}) {
    for (const char* name : {"a", "a-b", "a.c", "kai"}) {
      for (const auto profile : {podgroup::v1::PROFILE_COMPAT, podgroup::v1::PROFILE_RICH, podgroup::v1::PROFILE_KAI}) {
        // A group of Volcano's has one of the two profiles.
        if ((profile == podgroup::v1::PROFILE_RICH) == (*ns == 'n' && ns[1] == '\0')) continue;
        PutOf(profile, ns, name);
        podgroup::v1::PodGroup listed;
        listed.mutable_object()->mutable_meta()->set_namespace_(ns);
        listed.mutable_object()->mutable_meta()->set_name(name);
        listed.set_profile(profile);
        all.push_back(PodGroupList::KeyOf(listed));
      }
    }
  }
  std::sort(all.begin(), all.end());
  for (int page_size = 1; page_size <= 7; ++page_size) {
    podgroup::v1::ListPartRequest part;
    part.set_slots(SlotSet::All().ToBytes());
    part.mutable_request()->set_page_size(page_size);
    std::vector<std::string> keys;
    do {
      auto answer = Ask(&PodGroupApi::ListPart, part);
      ASSERT_THAT(answer, IsOk());
      const podgroup::v1::ListPodGroupsResponse page = rpc::ToPage<PodGroupList>(*std::move(answer));
      for (const auto& group : page.pod_groups()) keys.push_back(PodGroupList::KeyOf(group));
      part.mutable_request()->set_page_token(page.next_page_token());
    } while (!part.request().page_token().empty());
    EXPECT_EQ(keys, all) << "pages of " << page_size;
  }
}

TEST_F(PodGroupApiTest, AGroupIsAskedForByItsProfile) {
  Put("train");
  PutOf(podgroup::v1::PROFILE_KAI, "default", "train");
  podgroup::v1::GetPodGroupRequest request;
  request.set_name("train");
  for (const auto profile : {podgroup::v1::PROFILE_COMPAT, podgroup::v1::PROFILE_KAI}) {
    request.set_profile(profile);
    const auto group = Ask(&PodGroupApi::Get, request);
    ASSERT_THAT(group, IsOk());
    EXPECT_EQ(group->profile(), profile);
  }
  request.set_profile(podgroup::v1::PROFILE_RICH);
  EXPECT_THAT(Ask(&PodGroupApi::Get, request), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(PodGroupApiTest, NothingIsToldOfSlotsThatAreStarting) {
  Put("train");
  for (testing::Worker& worker : workers_.workers) worker.context.ready = false;
  EXPECT_THAT(Get("default", "train"), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(History("default", "train"), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(List({}), ::testing::HasSubstr("1024 of its 1024 slots are still starting"));
}

}  // namespace
}  // namespace basalt::pgsvc
