// What the handlers answer over two workers.
#include "services/pgsvc/api/pod_group_api.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

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
  // A pod without a group; the API server refuses its group.
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
  // Names of one page and, behind "|", its token.
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

TEST_F(PodGroupApiTest, NothingIsToldOfSlotsThatAreStarting) {
  Put("train");
  for (testing::Worker& worker : workers_.workers) worker.context.ready = false;
  EXPECT_THAT(Get("default", "train"), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(History("default", "train"), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_THAT(List({}), ::testing::HasSubstr("1024 of its 1024 slots are still starting"));
}

}  // namespace
}  // namespace basalt::pgsvc
