#include "services/queuesvc/core/queue_event.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::queuesvc {
namespace {

using Entry = storage::v1::QueueHistoryRecord;

Entry EntryOf(Entry::Kind kind, const std::string& from, const std::string& to, const std::string& cause) {
  Entry entry;
  entry.set_kind(kind);
  entry.set_from_state(from);
  entry.set_to_state(to);
  entry.set_cause(cause);
  entry.mutable_counts()->set_running(2);
  entry.mutable_counts()->set_inqueue(1);
  entry.mutable_counts()->set_completed(4);
  return entry;
}

// Returns "Warning CloseQueue: …"; empty if there is no Event.
std::string TextOf(const Entry& entry) {
  kube::v1::ObjectMeta meta;
  meta.set_name("q");
  meta.set_uid("u");
  const std::optional<kube::Event> event = EventOf(entry, meta);
  if (!event) return {};
  EXPECT_EQ(event->kind, "Queue");
  EXPECT_EQ(event->api_version, "scheduling.volcano.sh/v1beta1");
  EXPECT_EQ(event->name, "q");
  EXPECT_EQ(event->uid, "u");
  EXPECT_EQ(event->ns, "");
  return (event->warning ? "Warning " : "Normal ") + event->reason + ": " + event->message;
}

TEST(QueueEventTest, EachChangeOfOursIsToldByTheActionThatLeadsToIt) {
  const struct {
    Entry::Kind kind;
    const char* from;
    const char* to;
    const char* cause;
    const char* expected;  // Empty if there is no Event.
  } rows[] = {
      {Entry::KIND_STATE_CHANGED, "Open", "Closed", "command default/c",
       "Normal CloseQueue: state Open -> Closed: command default/c"},
      {Entry::KIND_STATE_CHANGED, "Open", "Closing", "its parent p is Closed",
       "Normal CloseQueue: state Open -> Closing: its parent p is Closed; it is Closed once its pod groups are "
       "deleted: 4 Completed, 3 others"},
      {Entry::KIND_STATE_CHANGED, "Closing", "Closed", "its last pod group is gone",
       "Normal CloseQueue: state Closing -> Closed: its last pod group is gone"},
      {Entry::KIND_STATE_CHANGED, "Closed", "Open", "its parent p is open again",
       "Normal OpenQueue: state Closed -> Open: its parent p is open again"},
      {Entry::KIND_STATE_CHANGED, "", "Closed", "its parent p is Closed",
       "Normal CloseQueue: state - -> Closed: its parent p is Closed"},
      {Entry::KIND_STATE_OBSERVED, "Open", "Ajar", "somebody else wrote it",
       "Warning SyncQueue: 'Ajar' in status.state is no state of a queue: nothing is done until it is mended"},
      // A new queue that is opened, and changes of others, have no Event.
      {Entry::KIND_STATE_CHANGED, "", "Open", "a new queue is opened", ""},
      {Entry::KIND_STATE_OBSERVED, "Open", "Closed", "somebody else wrote it", ""},
      {Entry::KIND_CREATED, "", "", "", ""},
      {Entry::KIND_PARENT_SET, "", "", "", ""},
      {Entry::KIND_COMMAND_DONE, "Open", "Open", "", ""},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(TextOf(EntryOf(row.kind, row.from, row.to, row.cause)), row.expected) << row.from << " " << row.to;
  }
}

TEST(QueueEventTest, ARefusalIsAWarning) {
  EXPECT_EQ(TextOf(EntryOf(Entry::KIND_COMMAND_REFUSED, "Open", "Open", "command default/c: root cannot be closed")),
            "Warning CommandRefused: command default/c: root cannot be closed");
  EXPECT_EQ(TextOf(EntryOf(Entry::KIND_SPEC_WARNING, "Open", "Open", "spec.parent: is the queue itself")),
            "Warning SpecWarning: spec.parent: is the queue itself");
  const auto refused = [](const std::string& to) {
    Entry entry = EntryOf(Entry::KIND_REFUSED, "Open", to, "");
    entry.mutable_refusal()->set_code(403);
    entry.mutable_refusal()->set_reason("Forbidden");
    entry.mutable_refusal()->set_message("no");
    return TextOf(entry);
  };
  const std::string words = "the API server refuses what is to be written of the queue: 403 Forbidden: no";
  EXPECT_EQ(refused("Closed"), "Warning CloseQueue: " + words);
  EXPECT_EQ(refused("Open"), "Warning SyncQueue: " + words) << "the counts, or an annotation";
}

}  // namespace
}  // namespace basalt::queuesvc
