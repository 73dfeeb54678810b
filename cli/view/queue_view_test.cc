#include "cli/view/queue_view.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace basalt::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

template <typename Message>
Message Parse(const char* text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message));
  return message;
}

queue::v1::QueueHistory TestHistory() {
  return Parse<queue::v1::QueueHistory>(R"pb(
    uid: "u"
    entries {
      sequence: 1
      time { seconds: 1750000000 nanos: 5000000 }
      kind: KIND_PARENT_SET
      cause: "it had no parent"
      committed: true
    }
    entries {
      sequence: 2
      time { seconds: 1750000001 }
      kind: KIND_REFUSED
      to_state: "Open"
      cause: "a new queue is opened"
      committed: true
      refusal { code: 403 reason: "Forbidden" message: "not you" }
      end_time { seconds: 1750000002 }
    }
    entries {
      sequence: 3
      time { seconds: 1750000003 }
      kind: KIND_STATE_CHANGED
      to_state: "Open"
      cause: "a new queue is opened"
      counts { running: 2 }
    }
  )pb");
}

TEST(QueueViewTest, HistoryTellsWhatWasDecidedAndWhatBecameOfIt) {
  queue::v1::QueueHistory history = TestHistory();
  EXPECT_EQ(
      FormatHistory(history),
      "TIME                      STATE      WHAT                 POD GROUPS                                       "
      "         WHY\n"
      "2025-06-15 15:06:40.005   -          parent set to root   0 pending, 0 inqueue, 0 running, 0 unknown, 0 "
      "completed   it had no parent\n"
      "2025-06-15 15:06:41.000   - → Open   refused              0 pending, 0 inqueue, 0 running, 0 unknown, 0 "
      "completed   a new queue is opened; 403 Forbidden: not you, until 2025-06-15 15:06:42.000\n"
      "2025-06-15 15:06:43.000   - → Open   state changed        0 pending, 0 inqueue, 2 running, 0 unknown, 0 "
      "completed   a new queue is opened; not acknowledged\n");
  history.mutable_entries(1)->clear_end_time();
  history.mutable_counts()->set_running(7);
  history.mutable_counts_time()->set_seconds(1750000004);
  history.mutable_gone_time()->set_seconds(1750000005);
  const std::string text = FormatHistory(history);
  EXPECT_THAT(text, HasSubstr("not you, still\n"));
  EXPECT_THAT(text, HasSubstr("Counts last written 2025-06-15 15:06:44.000: 0 pending, 0 inqueue, 7 running"));
  EXPECT_THAT(text, HasSubstr("Gone since 2025-06-15 15:06:45.000\n"));
}

TEST(QueueViewTest, OneQueueWithTheNewestOfItsHistory) {
  const auto queue = Parse<queue::v1::Queue>(R"pb(
    object {
      meta { name: "research" uid: "u" creation_ms: 1750000000000 }
      parent: "root"
      weight: 3
      state: "Open"
    }
    pod_groups { running: 2 }
  )pb");
  queue::v1::QueueHistory history = TestHistory();
  const std::string text = FormatQueue(queue, history, 1750000065000);
  EXPECT_THAT(text, HasSubstr("Name        research\nUID         u\nState       Open\nParent      root\nWeight      3\n"
                              "Age         65s\n"
                              "Pod groups  0 pending, 0 inqueue, 2 running, 0 unknown, 0 completed\n\nTIME "));
  EXPECT_THAT(text, Not(HasSubstr("earlier")));
  for (int i = 0; i < 4; ++i) *history.add_entries() = history.entries(0);
  EXPECT_THAT(FormatQueue(queue, history, 1750000065000),
              HasSubstr("2 earlier ones: basaltctl queue history research\n"));
  EXPECT_THAT(FormatQueue(queue, {}, 1750000065000), Not(HasSubstr("TIME")));
}

TEST(QueueViewTest, AChangeIsOneLine) {
  auto queue = Parse<queue::v1::Queue>(R"pb(
    object {
      meta { name: "research" }
      state: "Closing"
    }
    pod_groups { running: 2 }
  )pb");
  EXPECT_EQ(FormatQueueChange(queue), "research  Closing  0 pending, 0 inqueue, 2 running, 0 unknown, 0 completed\n");
  queue.mutable_object()->mutable_meta()->set_deletion_ms(1750000000000);
  EXPECT_EQ(FormatQueueChange(queue),
            "research  Closing, being deleted  0 pending, 0 inqueue, 2 running, 0 unknown, 0 completed\n");
  EXPECT_THAT(FormatQueue(queue, {}, 0), HasSubstr("State       Closing, being deleted\n"));
}

TEST(QueueViewTest, TextsOfOthersCommandNoTerminal) {
  queue::v1::Queue queue;
  queue.mutable_object()->set_parent("a\x1b[2J");
  EXPECT_THAT(FormatQueue(queue, {}, 0), Not(HasSubstr("\x1b")));
  queue::v1::QueueHistory history = TestHistory();
  history.mutable_entries(1)->mutable_refusal()->set_message("a\x1b[2J\nb");
  EXPECT_THAT(FormatHistory(history), Not(HasSubstr("\x1b")));
}

TEST(QueueViewTest, AnExplanationIsCausesWithAdviceAndThePodGroupsThatAreHeld) {
  const auto explanation = Parse<queue::v1::QueueExplanation>(R"pb(
    summary: "queue nlp is Closing: it is Closed once its pod groups are deleted"
    causes {
      kind: KIND_STATE
      message: "state Open -> Closing: command default/c"
      since_time { seconds: 1750000000 }
    }
    causes {
      kind: KIND_PARENT
      subject: "queue team"
      message: "its parent is Closed"
      advice: "basaltctl queue open team"
    }
    pod_groups: "ns/a"
    pod_groups: "ns/b"
    pod_groups_total: 5
    explain_time { seconds: 1750000090 }
  )pb");
  EXPECT_EQ(FormatQueueExplanation(explanation, 0),
            "queue nlp is Closing: it is Closed once its pod groups are deleted\n"
            "\n"
            "- state Open -> Closing: command default/c, for 90s\n"
            "- queue team: its parent is Closed\n"
            "  → basaltctl queue open team\n"
            "\n"
            "Pod groups:\n"
            "  ns/a\n"
            "  ns/b\n"
            "  and 3 others\n");
}

}  // namespace
}  // namespace basalt::cli
