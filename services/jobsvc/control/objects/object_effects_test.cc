// Objects of plugins and claims: what every answer leads to.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "services/jobsvc/control/part_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;

kube::v1::Object ObjectOf(const std::string& owner) {
  kube::v1::Object object;
  kube::v1::ObjectMeta& meta = *object.mutable_generic()->mutable_meta();
  meta.set_uid("object-uid");
  meta.add_owner_references()->set_uid(owner);
  return object;
}

gateway::v1::GetResponse Found(const std::string& owner) {
  gateway::v1::GetResponse response;
  *response.mutable_object() = ObjectOf(owner);
  return response;
}

gateway::v1::GetResponse Error(int code) {
  gateway::v1::GetResponse response;
  response.mutable_error()->set_code(code);
  return response;
}

class ObjectEffectsTest : public PartTest {
 protected:
  ObjectEffectsTest() {
    job.compiled->plugins = {"svc"};
    WantedObject object;
    object.plugin = "svc";
    object.version = "v1";
    object.plural = "services";
    object.kind = "Service";
    object.name = "j";
    object.hash = "h";
    job.compiled->objects = {object};
  }
  void Begin() {
    job.ResetParts();
    context.writes.clear();
    context.gets.clear();
  }
  void AnswerRead(absl::StatusOr<gateway::v1::GetResponse> response) {
    ASSERT_EQ(context.gets.size(), 1U);
    auto get = std::move(context.gets.front());
    context.gets.pop_front();
    get.done(std::move(response));
  }
  bool BacksOff() { return job.plugin_objects.retry().Blocks(host.Now()); }
};

TEST_F(ObjectEffectsTest, AnAnswerToACreate) {
  struct Case {
    const char* what;
    WriteOutcome outcome;
    bool is_read;
    bool is_ready;
    bool backs_off;
    bool has_problem;
  };
  const Case cases[] = {
      {"made", Done(ObjectOf("job-uid")), false, true, false, false},
      {"the name is taken", Refused(409, "AlreadyExists"), true, false, false, false},
      {"a quota is written", Refused(409, "Conflict"), false, false, true, false},
      {"forbidden", Refused(403, "Forbidden", "no"), false, false, true, true},
      {"no namespace", Refused(404, "NotFound", "no"), false, false, true, true},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, false, false, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, false, false, true, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    job.plugin_objects.Apply(job, host);
    job.plugin_objects.Apply(job, host);
    Answer(test.outcome);
    EXPECT_EQ(context.gets.size(), test.is_read ? 1U : 0U);
    EXPECT_EQ(job.plugin_objects.IsReady(job), test.is_ready);
    EXPECT_EQ(BacksOff(), test.backs_off);
    EXPECT_EQ(job.problems.has("PluginError"), test.has_problem);
    EXPECT_EQ(job.plugin_objects.Markers(job).size(), test.is_ready ? 1U : 0U);
  }
}

TEST_F(ObjectEffectsTest, WhatHasTheNameOfAnObject) {
  struct Case {
    const char* what;
    absl::StatusOr<gateway::v1::GetResponse> response;
    bool is_ready;
    bool has_problem;
  };
  const Case cases[] = {
      {"ours", Found("job-uid"), true, false},
      {"somebody else's", Found("another"), false, true},
      {"nothing any more", Error(404), false, false},
      {"nobody may look", Error(403), false, true},
      {"no answer", absl::UnavailableError("away"), false, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    job.plugin_objects.Apply(job, host);
    Answer(Refused(409, "AlreadyExists"));
    AnswerRead(test.response);
    EXPECT_EQ(job.plugin_objects.IsReady(job), test.is_ready);
    EXPECT_EQ(BacksOff(), !test.is_ready);
    EXPECT_EQ(job.problems.has("PluginError"), test.has_problem);
    EXPECT_TRUE(context.writes.empty());
  }
}

TEST_F(ObjectEffectsTest, AnAnswerToARemoval) {
  struct Case {
    const char* what;
    WriteOutcome outcome;
    bool is_gone;
    bool backs_off;
    bool has_problem;
  };
  const Case cases[] = {
      {"deleted", Done(), true, false, false},
      {"gone already", Refused(404, "NotFound"), true, false, false},
      {"another has the name", Refused(409, "Conflict"), false, false, false},
      {"the same", Refused(422, "Invalid"), false, false, false},
      {"forbidden", Refused(403, "Forbidden", "no"), false, true, true},
      {"not sent", {.kind = WriteOutcome::Kind::kNotSent}, false, true, false},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, false, true, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    SetPhase(kube::v1::JOB_PHASE_RUNNING);
    job.plugin_objects.Apply(job, host);
    Answer(Done(ObjectOf("job-uid")));
    SetPhase(kube::v1::JOB_PHASE_COMPLETED);
    job.plugin_objects.Apply(job, host);
    ASSERT_EQ(context.writes.size(), 1U);
    EXPECT_EQ(context.writes.front().request.delete_().uid(), "object-uid");
    Answer(test.outcome);
    EXPECT_EQ(job.plugin_objects.made().empty(), test.is_gone);
    EXPECT_FALSE(job.plugin_objects.made().Has("services/j")) << "nobody takes it for made";
    EXPECT_EQ(BacksOff(), test.backs_off);
    EXPECT_EQ(job.problems.has("FailedDelete"), test.has_problem);
  }
}

TEST_F(ObjectEffectsTest, AClaimIsMadeOrFound) {
  job.compiled->objects.clear();
  job.compiled->claims = {{"c", "{}"}};
  struct Case {
    const char* what;
    WriteOutcome outcome;
    absl::StatusOr<gateway::v1::GetResponse> read;
    bool is_there;
    bool has_problem;
  };
  const absl::Status none = absl::UnavailableError("away");
  const Case cases[] = {
      {"made", Done(), none, true, false},
      {"ours", Refused(409, "AlreadyExists"), Found("job-uid"), true, false},
      {"somebody else's", Refused(409, "AlreadyExists"), Found("another"), false, true},
      {"unread", Refused(409, "AlreadyExists"), none, false, false},
      {"forbidden", Refused(403, "Forbidden", "no"), none, false, true},
      {"no answer", {.kind = WriteOutcome::Kind::kUnknown}, none, false, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    Begin();
    job.plugin_objects.Apply(job, host);
    Answer(test.outcome);
    if (!context.gets.empty()) AnswerRead(test.read);
    EXPECT_EQ(job.claims.HasAll(job), test.is_there);
    EXPECT_EQ(job.problems.has("PVCError"), test.has_problem);
    EXPECT_EQ(BacksOff(), !test.is_there);
  }
}

TEST_F(ObjectEffectsTest, AClaimOfSomebodyElseIsWaitedFor) {
  job.compiled->objects.clear();
  job.compiled->claims = {{"c", ""}};
  job.plugin_objects.Apply(job, host);
  EXPECT_TRUE(context.writes.empty());
  AnswerRead(Error(404));
  EXPECT_TRUE(job.claims.IsAwaited("c"));
  EXPECT_TRUE(job.problems.has("PVCError"));
  job.plugin_objects.Apply(job, host);
  EXPECT_TRUE(context.gets.empty()) << "the watch tells";
  kube::v1::ObjectMeta meta;
  meta.set_namespace_("default");
  meta.set_name("c");
  Claims::Arrived(meta, host);
  EXPECT_TRUE(job.claims.HasAll(job));
  EXPECT_FALSE(job.claims.IsAwaited("c"));
  EXPECT_FALSE(job.problems.has("PVCError"));
}

}  // namespace
}  // namespace basalt::jobsvc::testing
