// Tests the assignment in its ConfigMap: a saved assignment can be loaded, and no gateway overwrites the assignment
// that another one has saved.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "gateway/lead/kube_assignment_store.h"
#include "tests/leadership/world.h"

namespace basalt::leadership {
namespace {

using storage::v1::AssignmentRecord;
using ::testing::HasSubstr;

AssignmentRecord Record(int64_t epoch) {
  AssignmentRecord record;
  record.set_epoch(epoch);
  AssignmentRecord::Member& member = *record.add_members();
  member.set_service(1);
  member.set_replica("jobsvc-0");
  member.set_incarnation("x");
  member.set_address("h:1");
  AssignmentRecord::SlotEpochs& slots = *record.add_slots();
  slots.set_service(1);
  for (int i = 0; i < 1024; ++i) slots.add_epochs(epoch);
  return record;
}

class Writer {
 public:
  Writer(World& world, std::string name)
      : world_(world), client_(world.server_loop(), world.server_loop(), world.api()) {
    store_ = std::make_unique<gateway::KubeAssignmentStore>(
        client_, gateway::KubeAssignmentStoreOptions{.writer = std::move(name)});
  }
  absl::StatusOr<std::optional<AssignmentRecord>> Load() {
    absl::StatusOr<std::optional<AssignmentRecord>> loaded = absl::InternalError("no answer came");
    store_->Load([&](auto result) { loaded = std::move(result); });
    world_.Advance(absl::Seconds(4));
    return loaded;
  }
  // Returns "none", the epoch, or the name of the error's code.
  std::string LoadText() {
    const auto loaded = Load();
    if (!loaded.ok()) return absl::StatusCodeToString(loaded.status().code());
    return *loaded ? fmt::to_string((*loaded)->epoch()) : "none";
  }
  absl::Status Save(int64_t epoch) {
    absl::Status saved = absl::InternalError("no answer came");
    store_->Save(Record(epoch), [&](absl::Status status) { saved = std::move(status); });
    world_.Advance(absl::Seconds(4));
    return saved;
  }
  std::string SaveText(int64_t epoch) { return absl::StatusCodeToString(Save(epoch).code()); }
  gateway::KubeAssignmentStore& store() { return *store_; }
  http::DirectClient& client() { return client_; }

 private:
  World& world_;
  http::DirectClient client_;
  std::unique_ptr<gateway::KubeAssignmentStore> store_;
};

class StoreTest : public ::testing::Test {
 protected:
  void Fault(kubesim::FaultAction action, std::string_view verb, int64_t count = 1, int code = 500) {
    world_.Fault(action, verb, count, code, "configmaps");
  }
  std::string Stored(std::initializer_list<std::string_view> path) {
    const auto object = world_.api().Get("configmaps", "default", kConfig);
    const json::value* found = object == nullptr ? nullptr : FindPath(*object, path);
    return found == nullptr ? "" : std::string(found->get_string());
  }
  void Patch(const std::string& patch) {
    const http::Response answer = world_.Do("PATCH", World::ConfigPath(), patch, "application/merge-patch+json");
    ASSERT_EQ(answer.status, 200) << answer.body;
  }

  World world_;
  Writer one_{world_, "one"}, two_{world_, "two"};
};

TEST_F(StoreTest, ASavedAssignmentIsFoundByTheNextOne) {
  EXPECT_EQ(one_.LoadText(), "none");
  EXPECT_EQ(one_.SaveText(7), "OK");
  EXPECT_EQ(one_.SaveText(8), "OK");
  const auto found = two_.Load();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ((*found)->SerializeAsString(), Record(8).SerializeAsString());
  EXPECT_EQ(two_.SaveText(9), "OK");
  EXPECT_EQ(Stored({"data", "epoch"}), "9");
  EXPECT_EQ(Stored({"data", "members"}), "jobsvc jobsvc-0/x h:1\n");
  EXPECT_EQ(Stored({"data", "writer"}), "two");
}

TEST_F(StoreTest, NobodyOverwritesWhatAnotherHasSaved) {
  one_.LoadText();
  two_.LoadText();
  EXPECT_EQ(one_.SaveText(1), "OK");
  EXPECT_EQ(two_.SaveText(1), "ABORTED") << "made meanwhile";
  two_.LoadText();
  EXPECT_EQ(two_.SaveText(2), "OK");
  EXPECT_EQ(one_.SaveText(2), "ABORTED") << "changed meanwhile";
  EXPECT_EQ(Stored({"data", "writer"}), "two");
}

TEST_F(StoreTest, ALostAnswerIsFoundByReading) {
  one_.LoadText();
  Fault(kubesim::FaultAction::kDropAnswer, "create");
  EXPECT_EQ(one_.SaveText(1), "OK");
  Fault(kubesim::FaultAction::kDropAnswer, "update");
  EXPECT_EQ(one_.SaveText(2), "OK");
  EXPECT_EQ(one_.SaveText(3), "OK");
}

TEST_F(StoreTest, ALostRequestIsUnknownAndCanBeRepeated) {
  one_.LoadText();
  Fault(kubesim::FaultAction::kDropRequest, "create");
  EXPECT_EQ(one_.SaveText(1), "UNKNOWN");
  EXPECT_EQ(one_.SaveText(1), "OK");
  Fault(kubesim::FaultAction::kDropRequest, "update");
  EXPECT_EQ(one_.SaveText(2), "UNKNOWN");
  EXPECT_EQ(one_.SaveText(2), "OK");
}

TEST_F(StoreTest, ASaveThatNobodyCouldLookAfterIsTakenForDoneLater) {
  one_.LoadText();
  EXPECT_EQ(one_.SaveText(1), "OK");
  Fault(kubesim::FaultAction::kDropAnswer, "update");
  Fault(kubesim::FaultAction::kAnswer, "get", 1, 500);
  EXPECT_EQ(one_.SaveText(2), "UNKNOWN");
  EXPECT_EQ(Stored({"data", "epoch"}), "2");
  EXPECT_EQ(one_.SaveText(2), "OK");
  Fault(kubesim::FaultAction::kDropAnswer, "update");
  Fault(kubesim::FaultAction::kAnswer, "get", 1, 500);
  EXPECT_EQ(one_.SaveText(3), "UNKNOWN");
  EXPECT_EQ(one_.SaveText(4), "UNKNOWN") << "its own, but another: again";
  EXPECT_EQ(one_.SaveText(4), "OK");
}

TEST_F(StoreTest, ACancelledSaveDoesNotStandInTheWay) {
  one_.LoadText();
  bool called = false;
  one_.store().Save(Record(1), [&](const absl::Status&) { called = true; });
  one_.store().Cancel();
  world_.Advance(absl::Seconds(4));
  EXPECT_FALSE(called);
  EXPECT_EQ(one_.LoadText(), "none");
  EXPECT_EQ(one_.SaveText(2), "OK");
}

TEST_F(StoreTest, ALabelIsNobodysAssignment) {
  one_.LoadText();
  EXPECT_EQ(one_.SaveText(1), "OK");
  Patch(R"({"metadata":{"labels":{"a":"b"}}})");
  EXPECT_EQ(one_.SaveText(2), "UNKNOWN");
  EXPECT_EQ(one_.SaveText(2), "OK");
  EXPECT_EQ(Stored({"metadata", "labels", "a"}), "b");
}

TEST_F(StoreTest, AnUnreadableAssignmentIsNamedAndNotOverwritten) {
  one_.LoadText();
  EXPECT_EQ(one_.SaveText(1), "OK");
  for (const char* patch :
       {R"({"binaryData":{"assignment":"////"}})", R"({"binaryData":{"assignment":null}})", R"({"binaryData":null})"}) {
    Patch(patch);
    EXPECT_EQ(one_.SaveText(2), "ABORTED") << patch;
    EXPECT_EQ(two_.LoadText(), "DATA_LOSS") << patch;
    EXPECT_THAT(std::string(two_.Load().status().message()), HasSubstr("ConfigMap default/basalt-gateway-assignment"));
  }
}

TEST_F(StoreTest, ADeletedAssignmentIsMadeAnew) {
  one_.LoadText();
  EXPECT_EQ(one_.SaveText(1), "OK");
  EXPECT_EQ(world_.Do("DELETE", World::ConfigPath()).status, 200);
  EXPECT_EQ(one_.SaveText(2), "UNAVAILABLE");
  EXPECT_EQ(one_.SaveText(2), "OK");
  EXPECT_EQ(two_.LoadText(), "2");
}

TEST_F(StoreTest, EachRefusalHasACode) {
  const struct {
    int code;
    const char* status;
  } rows[] = {{403, "PERMISSION_DENIED"}, {422, "INTERNAL"}, {429, "UNAVAILABLE"}, {500, "UNKNOWN"}};
  for (const auto& row : rows) {
    one_.LoadText();
    Fault(kubesim::FaultAction::kAnswer, "create", 1, row.code);
    EXPECT_EQ(one_.SaveText(1), row.status);
  }
  one_.client().SetCut(true);
  EXPECT_EQ(one_.SaveText(1), "UNAVAILABLE");
  EXPECT_EQ(one_.LoadText(), "UNAVAILABLE");
}

}  // namespace
}  // namespace basalt::leadership
