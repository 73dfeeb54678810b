// The making half of PluginObjects. Its state is tested in plugin_objects_state_test.cc.
#include "services/jobsvc/control/objects/plugin_objects.h"

#include <gtest/gtest.h>

#include <string>

#include "services/jobsvc/control/objects/objects_fixture.h"
#include "services/jobsvc/core/pods/controlled_state.h"

namespace basalt::jobsvc::testing {
namespace {

using runtime::WriteOutcome;
using runtime::testing::Done;
using runtime::testing::Refused;
using OnChange = WantedObject::OnChange;

class PluginObjectsTest : public ObjectsTest {
 protected:
  PluginObjectsTest() {
    job.compiled->plugins = {"svc"};
    job.compiled->objects = {Wanted("j")};
  }
  static WantedObject Wanted(const std::string& name) {
    WantedObject object;
    object.plugin = "svc";
    object.version = "v1";
    object.plural = "services";
    object.kind = "Service";
    object.name = name;
    object.json = "{}";
    object.patch = R"({"spec":{}})";
    object.hash = "h";
    return object;
  }
  WantedObject& wanted() { return job.compiled->objects.front(); }
  // `remembered` is the object in the status; null if the status does not name it. `is_marked`: the status has the
  // marker that the plugin's objects were made.
  void BeginWith(OnChange on_change, const char* remembered, bool is_marked) {
    BeginAnew();
    (void)Passes();
    wanted().on_change = on_change;
    job.persisted.objects.clear();
    if (remembered != nullptr) job.persisted.objects["services/j"] = remembered;
    job.job->mutable_status()->clear_controlled_resources();
    if (is_marked) SetResource(*job.job->mutable_status(), PluginMarkerKey("svc"), "svc");
    job.plugin_objects.Load(job);
  }
  bool IsReady() const { return job.plugin_objects.IsReady(job); }
};

TEST_F(PluginObjectsTest, TheRequestFollowsFromTheRememberedState) {
  struct Case {
    const char* what;
    const char* remembered;
    bool is_marked;
    OnChange on_change;
    Asked asked;
  };
  const Case cases[] = {
      {"nothing: the status is to name it first", nullptr, false, OnChange::kPatch, Asked::kNothing},
      {"it may be there", "", false, OnChange::kPatch, Asked::kCreate},
      {"another controller has made it", nullptr, true, OnChange::kPatch, Asked::kRead},
      {"it was made and may be gone", "", true, OnChange::kLeave, Asked::kRead},
      {"it is as it is wanted", "h uid", true, OnChange::kPatch, Asked::kNothing},
      {"the marker is not written yet", "h uid", false, OnChange::kPatch, Asked::kNothing},
      {"it is to be changed", "old uid", true, OnChange::kPatch, Asked::kPatch},
      {"it is to be left alone", "old uid", true, OnChange::kLeave, Asked::kNothing},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    BeginWith(test.on_change, test.remembered, test.is_marked);
    job.plugin_objects.Apply(job, host);
    job.plugin_objects.Apply(job, host);
    EXPECT_EQ(WhatIsAsked(), test.asked);
    EXPECT_EQ(IsReady(), test.asked == Asked::kNothing && test.remembered != nullptr);
  }
}

TEST_F(PluginObjectsTest, AnInvalidSpecAsksForNothing) {
  job.compiled->refusal = {"Invalid", "no"};
  Apply();
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
}

TEST_F(PluginObjectsTest, AnObjectThatIsTooLargeIsToldOfAndNotAskedFor) {
  wanted().data_bytes = kMostDataBytes;
  Apply();
  EXPECT_EQ(WhatIsAsked(), Asked::kCreate);
  BeginAnew();
  wanted().data_bytes = kMostDataBytes + 1;
  Apply();
  EXPECT_EQ(WhatIsAsked(), Asked::kNothing);
  ASSERT_NE(job.problems.Find("PluginError", "Service j"), nullptr);
  EXPECT_EQ(job.problems.Find("PluginError")->kind, ProblemKind::kTooLarge);
  EXPECT_TRUE(Passes().contains(job.key));
  Apply();
  EXPECT_FALSE(Passes().contains(job.key)) << "it is told already";
}

TEST_F(PluginObjectsTest, AnAnswerToACreateSaysWhetherTheObjectIsThere) {
  CheckCreateAnswers(
      "PluginError", [this] { BeginWith(OnChange::kLeave, nullptr, /*is_marked=*/false); },
      [this] {
        EXPECT_EQ(job.plugin_objects.made().UidOf("services/j"), IsReady() ? "object-uid" : "");
        return IsReady();
      });
}

TEST_F(PluginObjectsTest, TheOwnerOfAnObjectThatWasReadDecides) {
  struct Case {
    const char* what;
    bool is_marked;  // The object is read first. Otherwise it is read because a create found the name taken.
    OnChange on_change;
    absl::StatusOr<gateway::v1::GetResponse> read;
    Asked next;
    bool is_ready;
    bool backs_off;
    bool has_problem;
  };
  constexpr auto kLeave = OnChange::kLeave;
  constexpr auto kPatch = OnChange::kPatch;
  const absl::Status away = absl::UnavailableError("away");
  const Case cases[] = {
      {"ours", false, kLeave, Found("job-uid"), Asked::kNothing, true, false, false},
      {"ours, to be kept up to date", false, kPatch, Found("job-uid"), Asked::kPatch, false, false, false},
      {"somebody else's", false, kPatch, Found("another"), Asked::kNothing, false, true, true},
      {"nobody's", false, kLeave, Found(""), Asked::kNothing, false, true, true},
      {"nothing any more", false, kLeave, Error(404), Asked::kNothing, false, true, false},
      {"nobody may look", false, kLeave, Error(403), Asked::kNothing, false, true, true},
      {"too many", false, kLeave, Error(429), Asked::kNothing, false, true, false},
      {"no answer", false, kLeave, away, Asked::kNothing, false, true, false},
      {"ours, as the marker says", true, kLeave, Found("job-uid"), Asked::kNothing, true, false, false},
      {"nothing, whatever the marker says", true, kLeave, Error(404), Asked::kCreate, false, false, false},
      {"no answer about what the marker says", true, kLeave, away, Asked::kNothing, false, true, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    BeginWith(test.on_change, nullptr, test.is_marked);
    Apply();
    if (!test.is_marked) Answer(Refused(409, "AlreadyExists"));
    AnswerRead(test.read);
    Apply();
    ASSERT_EQ(WhatIsAsked(), test.next);
    EXPECT_EQ(IsReady(), test.is_ready);
    EXPECT_EQ(BacksOff(), test.backs_off);
    EXPECT_EQ(job.problems.has("PluginError"), test.has_problem);
    EXPECT_EQ(Passes().contains(job.key), test.next == Asked::kNothing) << "a pass makes something of it";
    context.Advance(absl::Seconds(1));
    Apply();
    const Asked again = test.is_marked ? Asked::kRead : Asked::kCreate;
    EXPECT_EQ(WhatIsAsked(), test.backs_off ? again : test.next);
  }
}

TEST_F(PluginObjectsTest, AnObjectOfSomebodyElseIsToldOfAsSuch) {
  Apply();
  Answer(Refused(409, "AlreadyExists"));
  AnswerRead(Found("another"));
  ASSERT_NE(job.problems.Find("PluginError", "Service j"), nullptr);
  EXPECT_EQ(job.problems.Find("PluginError")->kind, ProblemKind::kTaken);
}

TEST_F(PluginObjectsTest, AnObjectThatIsGoneBeforeItsPatchIsMadeAnew) {
  BeginWith(OnChange::kPatch, "old object-uid", /*is_marked=*/true);
  Apply();
  Answer(Refused(404, "NotFound"));
  AnswerRead(Error(404));
  EXPECT_EQ(WhatIsAsked(), Asked::kCreate);
  EXPECT_FALSE(job.plugin_objects.made().Has("services/j"));
}

TEST_F(PluginObjectsTest, AnAnswerToAPatchDependsOnWhetherTheObjectWasRead) {
  struct Case {
    const char* what;
    bool was_read;
    WriteOutcome outcome;
    Asked next;
    bool is_ready;
    bool backs_off;
    bool has_problem;
  };
  const Case cases[] = {
      {"changed", false, Done(), Asked::kNothing, true, false, false},
      {"another has the name", false, Refused(409, "Conflict"), Asked::kRead, false, false, false},
      {"nothing has the name", false, Refused(404, "NotFound"), Asked::kRead, false, false, false},
      {"invalid", false, Refused(422, "Invalid", "no"), Asked::kNothing, false, true, true},
      {"no answer", false, {.kind = WriteOutcome::Kind::kUnknown}, Asked::kNothing, false, true, false},
      {"changed as it was read", true, Done(), Asked::kNothing, true, false, false},
      {"changed since it was read", true, Refused(409, "Conflict"), Asked::kRead, false, false, false},
      {"gone since it was read", true, Refused(404, "NotFound"), Asked::kNothing, false, true, false},
      {"forbidden", true, Refused(403, "Forbidden", "no"), Asked::kNothing, false, true, true},
      {"not sent", true, {.kind = WriteOutcome::Kind::kNotSent}, Asked::kNothing, false, true, false},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    BeginWith(OnChange::kPatch, test.was_read ? nullptr : "old object-uid", /*is_marked=*/true);
    Apply();
    if (test.was_read) AnswerRead(Found("job-uid"));
    ASSERT_EQ(WhatIsAsked(), Asked::kPatch);
    const gateway::v1::WriteRequest& request = context.writes.front().request;
    EXPECT_EQ(request.patch().body(), wanted().patch);
    EXPECT_EQ(request.patch().uid(), "object-uid");
    EXPECT_EQ(request.patch().resource_version(), test.was_read ? 5 : 0);
    Answer(test.outcome);
    Apply();
    EXPECT_EQ(WhatIsAsked(), test.next);
    EXPECT_EQ(IsReady(), test.is_ready);
    EXPECT_EQ(BacksOff(), test.backs_off);
    EXPECT_EQ(job.problems.has("PluginError"), test.has_problem);
    EXPECT_EQ(Passes().contains(job.key), test.next == Asked::kNothing) << "a pass makes something of it";
  }
}

TEST_F(PluginObjectsTest, AConflictIsOverOnceAnotherVersionIsReadAndElseIsARefusal) {
  for (const bool is_newer : {false, true}) {
    SCOPED_TRACE(is_newer);
    BeginWith(OnChange::kPatch, nullptr, /*is_marked=*/true);
    Apply();
    AnswerRead(Found("job-uid"));
    Answer(Refused(409, "Conflict"));
    gateway::v1::GetResponse read = Found("job-uid");
    if (is_newer) read.mutable_object()->mutable_generic()->mutable_meta()->set_resource_version(6);
    AnswerRead(read);
    EXPECT_EQ(WhatIsAsked(), is_newer ? Asked::kPatch : Asked::kNothing);
    EXPECT_EQ(BacksOff(), !is_newer);
    if (!is_newer) continue;
    EXPECT_EQ(context.writes.front().request.patch().resource_version(), 6);
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
