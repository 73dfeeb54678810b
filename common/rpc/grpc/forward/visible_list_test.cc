// Pages of objects of which a user may list a part, under simulated time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "basalt/podgroup/v1/pod_group_part.grpc.pb.h"
#include "common/kube/kinds.h"
#include "common/kube/object_key.h"
#include "common/rpc/grpc/forward/serve.h"
#include "common/rpc/grpc/user_access_fixture.h"
#include "common/testing/status_matchers.h"

namespace basalt::rpc {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using podgroup::v1::ListPodGroupsRequest;
using podgroup::v1::ListPodGroupsResponse;
using podgroup::v1::PodGroup;
using podgroup::v1::PodGroupPartService;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr char kOfKai[] = " of scheduling.run.ai";

struct ListedGroups {
  using Item = PodGroup;
  using Page = ListPodGroupsResponse;
  using Part = podgroup::v1::ListPartResponse;
  using PartRequest = podgroup::v1::ListPartRequest;
  static auto& Items(Part& part) { return *part.mutable_pod_groups(); }
  static auto& Items(Page& page) { return *page.mutable_pod_groups(); }
  static std::string GroupOf(const Item& group) {
    return group.profile() == podgroup::v1::PROFILE_KAI ? std::string(kube::kKaiPodGroups.group) : "";
  }
  static std::string KeyOf(const Item& group) {
    return kube::ObjectKey(group.object().meta().namespace_(), group.object().meta().name());
  }
};

// Has groups by key, and returns a few at a time.
struct GroupsApi {
  void ListPart(const podgroup::v1::ListPartRequest& part, Done<podgroup::v1::ListPartResponse> done) {
    ++asked;
    if (on_asked) on_asked();
    const ListPodGroupsRequest& request = part.request();
    const size_t size = std::min(PageSizeOf(request.page_size()), part_size);
    done(MakePart<ListedGroups>(groups, request.page_token(), size,
                                [&](const std::string&, const PodGroup& group, podgroup::v1::ListPartResponse& out) {
                                  const std::string& ns = group.object().meta().namespace_();
                                  if (!request.namespace_().empty() && request.namespace_() != ns) return;
                                  *out.add_pod_groups() = group;
                                }));
  }
  void Add(const std::string& ns, const std::string& name, podgroup::v1::Profile profile) {
    auto group = std::make_unique<PodGroup>();
    group->mutable_object()->mutable_meta()->set_namespace_(ns);
    group->mutable_object()->mutable_meta()->set_name(name);
    group->set_profile(profile);
    groups[kube::ObjectKey(ns, name)] = std::move(group);
  }
  std::map<std::string, std::unique_ptr<PodGroup>, std::less<>> groups;
  size_t part_size = 2;
  int asked = 0;
  std::function<void()> on_asked;
};

struct GroupsCore {
  Loop& loop;
  GroupsApi api;
};

class VisibleListTest : public UserAccessFixture {
 protected:
  using List = VisibleList<ListedGroups, GroupsCore, PodGroupPartService, ListPodGroupsRequest>;

  absl::StatusOr<ListPodGroupsResponse> Page(const std::string& user, const ListPodGroupsRequest& request) {
    std::optional<absl::StatusOr<ListPodGroupsResponse>> page;
    const auto list = std::make_shared<List>(
        core, parts, Caller{.deadline = absl::InfiniteFuture(), .forwarded_by = "", .client = User(user)}, request,
        [&page](absl::StatusOr<ListPodGroupsResponse> got) { page = std::move(got); });
    list->Check(TargetOf(request), /*may_refuse=*/!request.namespace_().empty());
    time.RunDueTasks();
    return page.value_or(absl::InternalError("no answer"));
  }
  // Returns the keys of all pages. All pages but the last are full, and the token of each names its own last object.
  std::vector<std::string> AllPages(const std::string& user, int size) {
    std::vector<std::string> keys;
    ListPodGroupsRequest request;
    request.set_page_size(size);
    do {
      const absl::StatusOr<ListPodGroupsResponse> page = Page(user, request);
      EXPECT_THAT(page, IsOk());
      if (!page.ok()) break;
      for (const PodGroup& group : page->pod_groups()) keys.push_back(ListedGroups::KeyOf(group));
      request.set_page_token(page->next_page_token());
      if (request.page_token().empty()) break;
      EXPECT_EQ(page->pod_groups_size(), size);
      EXPECT_EQ(request.page_token(), keys.back());
    } while (keys.size() < 100);
    return keys;
  }

  const std::shared_ptr<GroupsCore> core = std::make_shared<GroupsCore>(GroupsCore{loop, {}});
  const std::shared_ptr<Forwarder<PodGroupPartService>> parts =
      std::make_shared<Forwarder<PodGroupPartService>>(loop, members);
};

// For all rights and page sizes, the pages have each object that the user may list once, in order, and no other.
TEST_F(VisibleListTest, PagesHaveWhatTheUserMayListOnceAndNothingElse) {
  const std::string namespaces[] = {"a", "b", "c"};
  for (const std::string& ns : namespaces) {
    for (const char* name : {"1", "2", "3"}) core->api.Add(ns, name, podgroup::v1::PROFILE_UNSPECIFIED);
    core->api.Add(ns, "2-kai", podgroup::v1::PROFILE_KAI);
  }
  // A bit for each namespace, one for Volcano's groups everywhere, and one for KAI's in the namespace "b".
  for (int rights = 0; rights < 32; ++rights) {
    const auto has = [rights](int bit) { return (rights >> bit & 1) != 0; };
    allowed.clear();
    for (int i = 0; i < 3; ++i) {
      if (has(i)) allowed.insert("list " + namespaces[i] + "/");
    }
    if (has(3)) allowed.insert("list /");
    if (has(4)) allowed.insert(std::string("list b/") + kOfKai);
    std::vector<std::string> visible;
    for (const auto& [key, group] : core->api.groups) {
      const std::string& ns = group->object().meta().namespace_();
      const bool is_kai = group->profile() == podgroup::v1::PROFILE_KAI;
      if (is_kai ? has(4) && ns == "b" : has(3) || allowed.contains("list " + ns + "/")) visible.push_back(key);
    }
    for (const int size : {1, 2, 3, 5, 0}) {
      asked.clear();
      EXPECT_THAT(AllPages(fmt::format("user-{}-{}", rights, size), size), ElementsAreArray(visible))
          << rights << " in pages of " << size;
      std::vector<std::string> once = asked;
      std::sort(once.begin(), once.end());
      EXPECT_EQ(std::unique(once.begin(), once.end()), once.end()) << "a question is asked once for all pages";
    }
  }
}

TEST_F(VisibleListTest, OnePageAsksOnceAboutEachNamespaceHoweverManyObjectsItHas) {
  valid = absl::ZeroDuration();  // A page cannot use the reviews of another page.
  for (int i = 0; i < 50; ++i) {
    core->api.Add("a", fmt::to_string(i), podgroup::v1::PROFILE_UNSPECIFIED);
    core->api.Add("b", fmt::to_string(i), podgroup::v1::PROFILE_UNSPECIFIED);
  }
  allowed = {"list b/"};
  const auto page = Page("ann", {});
  ASSERT_THAT(page, IsOk());
  EXPECT_EQ(page->pod_groups_size(), 50);
  EXPECT_EQ(page->next_page_token(), "");
  EXPECT_THAT(asked, ElementsAre("list /", "list a/", "list b/"));
  core->api.part_size = 1000;
  asked.clear();
  reviews = 0;
  ASSERT_THAT(Page("ann", {}), IsOk());
  EXPECT_THAT(asked, UnorderedElementsAre("list /", "list a/", "list b/"));
  EXPECT_EQ(reviews, 2) << "namespaces that are found together are reviewed together";
}

TEST_F(VisibleListTest, AUserWhoMayListEverythingIsReviewedOnce) {
  for (const char* ns : {"a", "b", "c"}) core->api.Add(ns, "1", podgroup::v1::PROFILE_UNSPECIFIED);
  allowed = {"list /"};
  EXPECT_THAT(AllPages("ann", 1), ElementsAre("a/1", "b/1", "c/1"));
  EXPECT_EQ(reviews, 1);
}

TEST_F(VisibleListTest, ANamespaceThatTheUserMayNotListIsRefusedBeforeAnythingIsLookedAt) {
  core->api.Add("a", "1", podgroup::v1::PROFILE_UNSPECIFIED);
  allowed = {"list b/"};
  ListPodGroupsRequest request;
  request.set_namespace_("a");
  EXPECT_THAT(Page("ann", request), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("in namespace 'a'")));
  EXPECT_EQ(core->api.asked, 0);
}

TEST_F(VisibleListTest, APageOfWhichAReviewFailsIsNoPage) {
  core->api.Add("a", "1", podgroup::v1::PROFILE_UNSPECIFIED);
  core->api.on_asked = [this] { answer = absl::UnavailableError("no gateway"); };
  EXPECT_THAT(Page("ann", {}), StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no gateway")));
}

TEST_F(VisibleListTest, TheSearchForWhatIsVisibleEnds) {
  core->api.part_size = 1;
  for (int i = 0; i < 300; ++i) core->api.Add("a", fmt::to_string(i), podgroup::v1::PROFILE_UNSPECIFIED);
  EXPECT_THAT(Page("ann", {}), StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("name a namespace")));
  EXPECT_EQ(core->api.asked, List::kMostRounds);
  EXPECT_EQ(reviews, 2);
}

}  // namespace
}  // namespace basalt::rpc
