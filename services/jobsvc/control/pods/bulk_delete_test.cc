#include "services/jobsvc/control/pods/bulk_delete.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/runtime/testing/scripted_context.h"

namespace basalt::jobsvc {
namespace {

using Ending = BulkDelete::Ending;
using State = BulkDelete::State;

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);
const BulkDelete::KillId kKill = {1, true};

TEST(BulkDeleteTest, GoesOnAsItsCallsEnd) {
  struct Call {
    Ending ending;
    bool has_progress;
  };
  struct Case {
    const char* what;
    std::vector<Call> calls;
    State after;
    absl::Duration pause;
    State later;
  };
  const Case cases[] = {
      {"none yet", {}, State::kOpen, absl::ZeroDuration(), State::kOpen},
      {"what a call has left goes singly", {{Ending::kDone, false}}, State::kUnseen, absl::Seconds(2), State::kSingly},
      {"one that is refused is the last",
       {{Ending::kRefused, true}},
       State::kSingly,
       absl::ZeroDuration(),
       State::kSingly},
      {"one that fails is tried again", {{Ending::kFailed, false}}, State::kPaused, absl::Seconds(1), State::kOpen},
      {"two that bring nothing are enough",
       {{Ending::kFailed, false}, {Ending::kFailed, false}},
       State::kSingly,
       absl::ZeroDuration(),
       State::kSingly},
      {"one that brings something counts anew",
       {{Ending::kFailed, false}, {Ending::kFailed, true}},
       State::kPaused,
       absl::Seconds(1),
       State::kOpen},
      {"one that was not sent has no part in it",
       {{Ending::kFailed, false}, {Ending::kNotSent, false}, {Ending::kNotSent, false}},
       State::kPaused,
       absl::Seconds(1),
       State::kOpen},
  };
  for (const Case& test : cases) {
    SCOPED_TRACE(test.what);
    BulkDelete bulk;
    absl::Time now = kStart;
    bulk.Advance(kKill, now);
    for (const Call& call : test.calls) {
      now += absl::Seconds(10);
      bulk.Advance(kKill, now);
      bulk.End(call.ending, call.has_progress, now);
    }
    EXPECT_EQ(bulk.state(), test.after);
    if (test.pause > absl::ZeroDuration()) {
      EXPECT_EQ(bulk.pause_until(), now + test.pause);
      bulk.Advance(kKill, now + test.pause - absl::Milliseconds(1));
      EXPECT_EQ(bulk.state(), test.after);
    }
    bulk.Advance(kKill, now + test.pause);
    EXPECT_EQ(bulk.state(), test.later);
  }
}

TEST(BulkDeleteTest, BeginsAnewWithEachKill) {
  BulkDelete bulk;
  bulk.Advance(kKill, kStart);
  bulk.End(Ending::kRefused, false, kStart);
  bulk.Advance(kKill, kStart);
  EXPECT_EQ(bulk.state(), State::kSingly);
  bulk.Advance({1, false}, kStart);
  EXPECT_EQ(bulk.state(), State::kOpen);
  bulk.End(Ending::kFailed, false, kStart);
  bulk.Advance({2, false}, kStart);
  EXPECT_EQ(bulk.state(), State::kOpen);
}

TEST(BulkDeleteTest, ReadsHowACallEnded) {
  using runtime::WriteOutcome;
  using runtime::testing::Refused;
  struct Case {
    WriteOutcome outcome;
    Ending expected;
  };
  const Case cases[] = {
      {runtime::testing::Done(), Ending::kDone},
      {{.kind = WriteOutcome::Kind::kNotSent}, Ending::kNotSent},
      {{.kind = WriteOutcome::Kind::kUnknown}, Ending::kFailed},
      {Refused(403, "Forbidden"), Ending::kRefused},
      {Refused(404, "NotFound"), Ending::kRefused},
      {Refused(422, "Invalid"), Ending::kRefused},
      {Refused(409, "Conflict"), Ending::kFailed},
      {Refused(429, "TooManyRequests"), Ending::kFailed},
      {Refused(500, "InternalError"), Ending::kFailed},
  };
  for (const Case& test : cases) {
    EXPECT_EQ(BulkDelete::EndingOf(test.outcome), test.expected) << test.outcome.error.reason();
  }
}

}  // namespace
}  // namespace basalt::jobsvc
