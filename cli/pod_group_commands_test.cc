// Arguments and output of the commands of pod groups.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <deque>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "basalt/podgroup/v1/pod_group_query.grpc.pb.h"
#include "cli/commands.h"
#include "cli/connect/served_fixture.h"
#include "common/base/mutex.h"
#include "common/testing/temp_dir.h"

namespace basalt::cli {
namespace {

using podgroup::v1::WatchPodGroupsRequest;
using podgroup::v1::WatchPodGroupsResponse;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

WatchPodGroupsResponse GroupChange(WatchPodGroupsResponse::Type type, const std::string& name,
                                   const std::string& phase = "Running") {
  WatchPodGroupsResponse response;
  response.set_type(type);
  if (name.empty()) return response;
  kube::v1::PodGroup& group = *response.mutable_pod_group()->mutable_object();
  group.mutable_meta()->set_namespace_("default");
  group.mutable_meta()->set_name(name);
  group.mutable_meta()->set_uid("uid-" + name);
  group.mutable_spec()->set_queue("research");
  group.mutable_spec()->set_min_member(3);
  group.set_phase(phase);
  return response;
}

WatchPodGroupsResponse GroupState(const std::string& name, const std::string& phase = "Running") {
  return GroupChange(WatchPodGroupsResponse::TYPE_STATE, name, phase);
}

const WatchPodGroupsResponse kGroupsSynced = GroupChange(WatchPodGroupsResponse::TYPE_SYNCED, "");

// A pgsvc whose watches send the streams of the test, one stream for each call. The last stream is repeated.
class ScriptedPodGroups final : public podgroup::v1::PodGroupQueryService::Service {
 public:
  struct Stream {
    std::vector<WatchPodGroupsResponse> responses;
    grpc::StatusCode end = grpc::StatusCode::ABORTED;
  };
  void SetStreams(std::deque<Stream> streams) {
    const MutexLock lock(mutex_);
    streams_ = std::move(streams);
    asked_.clear();
  }
  // Returns "namespace/name@token" of each call.
  std::vector<std::string> asked() {
    const MutexLock lock(mutex_);
    return asked_;
  }

  grpc::Status ListGroupingRules(grpc::ServerContext*, const podgroup::v1::ListGroupingRulesRequest*,
                                 podgroup::v1::ListGroupingRulesResponse* response) override {
    auto& rule = *response->add_rules();
    rule.set_kind("JobSet");
    rule.set_group("jobset.x-k8s.io");
    rule.set_version("v1alpha2");
    rule.set_summary("a subgroup for each replicated job");
    return grpc::Status::OK;
  }
  // Answers a group for each object. The group is named after the place of the object.
  grpc::Status TryGrouping(grpc::ServerContext*, const podgroup::v1::TryGroupingRequest* request,
                           podgroup::v1::TryGroupingResponse* response) override {
    for (const std::string& object : request->objects()) {
      if (object.find("Bad") != std::string::npos) {
        auto& pod = *response->add_pods();
        pod.set_name("p");
        pod.set_verdict(podgroup::v1::TriedPod::VERDICT_FAILED);
        pod.set_error("its owner is missing");
        continue;
      }
      auto& group = *response->add_groups();
      group.set_name(fmt::format("g{}", response->groups_size()));
      group.set_manifest(object);
    }
    return grpc::Status::OK;
  }
  grpc::Status WatchPodGroups(grpc::ServerContext*, const WatchPodGroupsRequest* request,
                              grpc::ServerWriter<WatchPodGroupsResponse>* writer) override {
    Stream stream;
    {
      const MutexLock lock(mutex_);
      asked_.push_back(fmt::format("{}/{}@{}", request->namespace_(), request->name(), request->token()));
      stream = streams_.front();
      if (streams_.size() > 1) streams_.pop_front();
    }
    for (const WatchPodGroupsResponse& response : stream.responses) writer->Write(response);
    return {stream.end, "that was all"};
  }

 private:
  Mutex mutex_;
  std::deque<Stream> streams_ BASALT_GUARDED_BY(mutex_);
  std::vector<std::string> asked_ BASALT_GUARDED_BY(mutex_);
};

class PodGroupCommandsTest : public ServedTest {
 protected:
  PodGroupCommandsTest() {
    auto groups = std::make_unique<ScriptedPodGroups>();
    groups_ = groups.get();
    gateway_ = ServeTopology(gateway::v1::SERVICE_KIND_POD_GROUP, "pgsvc-0", Serve(std::move(groups)));
  }
  Ran Watch(const std::vector<std::string>& words) { return Run("watch", words); }
  Ran Run(const char* command, const std::vector<std::string>& words) {
    std::vector<const char*> arguments = {"basaltctl", "--gateway", gateway_.c_str(), "podgroup", command};
    for (const std::string& word : words) arguments.push_back(word.c_str());
    return Captured([&] { return Main(static_cast<int>(arguments.size()), arguments.data()); });
  }

  ScriptedPodGroups* groups_ = nullptr;
  std::string gateway_;
};

TEST_F(PodGroupCommandsTest, RulesAreListed) {
  const Ran ran = Run("rules", {});
  EXPECT_EQ(ran.out,
            "KIND     API                        GROUPED\n"
            "JobSet   jobset.x-k8s.io/v1alpha2   a subgroup for each replicated job\n");
  EXPECT_EQ(ran.exit_code, kExitDone);
  EXPECT_THAT(Run("rules", {"-o", "json"}).out, HasSubstr("\"JobSet\""));
}

TEST_F(PodGroupCommandsTest, RulesAreTriedOnEveryObjectOfAFile) {
  const basalt::testing::TempDir dir;
  const std::string file = dir / "objects.yaml";
  std::ofstream(file) << "kind: Pod\n---\nkind: List\nitems:\n- kind: Job\n- kind: ReplicaSet\n";
  const Ran ran = Run("rules", {"--try", file});
  EXPECT_EQ(ran.exit_code, kExitDone) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("Pod group /g3\n"));
  EXPECT_THAT(Run("rules", {"--try", file, "-o", "yaml"}).out,
              HasSubstr("items:\n- kind: Pod\n- kind: Job\n- kind: ReplicaSet\n"));
}

TEST_F(PodGroupCommandsTest, APodThatCannotBeGroupedFailsTheCommand) {
  const basalt::testing::TempDir dir;
  std::ofstream(dir / "objects.yaml") << "kind: Bad\n";
  const Ran table = Run("rules", {"--try", dir / "objects.yaml"});
  EXPECT_EQ(table.exit_code, kExitRefused);
  EXPECT_THAT(table.out, HasSubstr("its owner is missing"));
  const Ran yaml = Run("rules", {"--try", dir / "objects.yaml", "-o", "yaml"});
  EXPECT_EQ(yaml.exit_code, kExitRefused);
  EXPECT_THAT(yaml.err, HasSubstr("its owner is missing"));
}

TEST_F(PodGroupCommandsTest, AFileWithoutObjectsToTryTheRulesOnIsBadInput) {
  const basalt::testing::TempDir dir;
  std::ofstream(dir / "empty.yaml") << "---\n";
  const Ran empty = Run("rules", {"--try", dir / "empty.yaml"});
  EXPECT_EQ(empty.exit_code, kExitBadInput);
  EXPECT_THAT(empty.err, HasSubstr("holds no document"));
  EXPECT_THAT(Run("rules", {"--try", dir / "missing.yaml"}).err, HasSubstr("cannot be read"));
}

TEST_F(PodGroupCommandsTest, AWatchTellsChangesAndDeletionsALineEach) {
  groups_->SetStreams({{{GroupState("a", "Pending"), kGroupsSynced, GroupState("a"), GroupState("a"),
                         GroupChange(WatchPodGroupsResponse::TYPE_DELETED, "a")}}});
  const Ran ran = Watch({});
  EXPECT_EQ(ran.out,
            "default/a  Pending  queue research, min member 3\n"
            "default/a  Running  queue research, min member 3\n"
            "default/a  deleted\n");
  EXPECT_EQ(ran.exit_code, kExitRefused) << "the stream has ended with an error";
  EXPECT_THAT(groups_->asked(), ElementsAre("default/@"));
}

TEST_F(PodGroupCommandsTest, ThatAGroupWentOfWhichNoLineWasPrintedIsNoLine) {
  const WatchPodGroupsResponse gone = GroupChange(WatchPodGroupsResponse::TYPE_DELETED, "a");
  WatchPodGroupsResponse with_token = kGroupsSynced;
  with_token.set_token("1");
  groups_->SetStreams({{{gone, GroupState("a"), with_token, gone}, grpc::StatusCode::UNAVAILABLE},
                       {{gone, kGroupsSynced, GroupState("a", "Pending"), gone}}});
  EXPECT_EQ(Watch({}).out,
            "default/a  Running  queue research, min member 3\n"
            "default/a  deleted\n"
            "default/a  Pending  queue research, min member 3\n"
            "default/a  deleted\n");
}

TEST_F(PodGroupCommandsTest, AWatchInJsonIsADocumentForEachChange) {
  groups_->SetStreams({{{GroupState("a"), kGroupsSynced, GroupChange(WatchPodGroupsResponse::TYPE_DELETED, "a"),
                         GroupChange(WatchPodGroupsResponse::TYPE_DELETED, "never-told")}}});
  const std::string out = Watch({"-o", "json"}).out;
  EXPECT_THAT(out, HasSubstr("\"TYPE_STATE\""));
  EXPECT_THAT(out, HasSubstr("\"research\""));
  EXPECT_THAT(out, HasSubstr("\"TYPE_DELETED\""));
  EXPECT_THAT(out, HasSubstr("\"never-told\""));
  EXPECT_THAT(out, Not(HasSubstr("SYNCED")));
}

TEST_F(PodGroupCommandsTest, AWatchOfAllOrOfOneAsksForThese) {
  groups_->SetStreams({{{kGroupsSynced}}});
  Watch({"-A"});
  EXPECT_THAT(groups_->asked(), ElementsAre("/@"));
  groups_->SetStreams({{{GroupState("a"), kGroupsSynced}}});
  Watch({"a", "-n", "ns", "-A"});
  EXPECT_THAT(groups_->asked(), ElementsAre("ns/a@"));
}

TEST_F(PodGroupCommandsTest, AGroupThatDoesNotExistIsNotWaitedFor) {
  groups_->SetStreams({{{kGroupsSynced}}});
  const Ran ran = Watch({"nobody"});
  EXPECT_EQ(ran.exit_code, kExitRefused);
  EXPECT_EQ(ran.err,
            "error: pod group default/nobody does not exist; basaltctl podgroup list -n default tells those that there "
            "are\n");
}

TEST_F(PodGroupCommandsTest, AWatchGoesOnByItsTokenWhereAReplicaGoesAway) {
  WatchPodGroupsResponse with_token = GroupState("a");
  with_token.set_token("1");
  groups_->SetStreams(
      {{{with_token, GroupState("b"), kGroupsSynced}, grpc::StatusCode::UNAVAILABLE}, {{kGroupsSynced}}});
  const Ran ran = Watch({"-A"});
  EXPECT_THAT(groups_->asked(), ElementsAre("/@", "/@1"));
  EXPECT_THAT(ran.out, HasSubstr("default/b  deleted\n")) << "it is not told again";
  EXPECT_THAT(ran.out, Not(HasSubstr("default/a  deleted")));
  EXPECT_THAT(ran.err, HasSubstr("no pgsvc answers (that was all): looking for it …\n"));
}

}  // namespace
}  // namespace basalt::cli
