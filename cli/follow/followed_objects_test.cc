#include "cli/follow/followed_objects.h"

#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "cli/connect/watched.h"
#include "common/base/status.h"

namespace basalt::cli {
namespace {

using FollowedJobs = FollowedObjects<WatchedJobs>;

// Reads a message: "a" is the state of job a, "-a" its deletion, "Ra" a reset of its slot, "S" SYNCED, "P" PROGRESS.
// "a@t" and "S@t" have token t, too. The first letter of a job is its slot: "a1" and "a2" are in the same slot.
FollowedJobs::Message Read(std::string_view word) {
  FollowedJobs::Message message;
  if (const size_t at = word.find('@'); at != word.npos) {
    message.set_token(std::string(word.substr(at + 1)));
    word = word.substr(0, at);
  }
  if (word == "S" || word == "P") {
    message.set_type(word == "S" ? FollowedJobs::Message::TYPE_SYNCED : FollowedJobs::Message::TYPE_PROGRESS);
    return message;
  }
  if (word.starts_with("R")) {
    message.set_type(FollowedJobs::Message::TYPE_RESET);
    message.add_slots(static_cast<uint32_t>(word[1]));
    return message;
  }
  const bool gone = word.starts_with("-");
  if (gone) word.remove_prefix(1);
  message.set_type(gone ? FollowedJobs::Message::TYPE_DELETED : FollowedJobs::Message::TYPE_STATE);
  message.set_slot(static_cast<uint32_t>(word[0]));
  kube::v1::ObjectMeta& meta = *message.mutable_job()->mutable_object()->mutable_meta();
  meta.set_namespace_("ns");
  meta.set_name(std::string(word));
  meta.set_uid("uid-" + std::string(word));
  return message;
}

// Takes messages; "|" is an interruption. Returns the jobs that are gone, each with the message that showed it: "S:a".
std::string Replay(std::string_view words) {
  FollowedJobs followed;
  std::string gone;
  for (const std::string_view word : std::vector<std::string>(absl::StrSplit(ToAbsl(words), ' '))) {
    if (word == "|") {
      followed.Interrupted();
      continue;
    }
    for (const FollowedJobs::Message& deletion : followed.Take(Read(word))) {
      EXPECT_EQ(deletion.type(), FollowedJobs::Message::TYPE_DELETED);
      const auto& meta = deletion.job().object().meta();
      EXPECT_EQ(meta.uid(), "uid-" + meta.name());
      EXPECT_EQ(meta.namespace_(), "ns");
      gone += (gone.empty() ? "" : " ") + std::string(word) + ":" + meta.name();
    }
  }
  return gone;
}

TEST(FollowedObjectsTest, AnObjectThatARepeatLacksIsGone) {
  struct Row {
    std::string_view messages;
    std::string_view gone;
  };
  const Row rows[] = {
      {"a b S@1 -a", "-a:a"},
      {"-a", "-a:a"},  // A job may never have been published.
      {"a b S b S", ""},
      // Without a token everything is published again.
      {"a b | b S", "S:a"},
      {"a b | | b S", "S:a"},
      {"a b S | b S", "S:a"},
      // With a token only the objects after it are published again.
      {"a b S@1 | S@1", ""},
      {"a@1 b | S", "S:b"},
      {"a@1 b | b S", ""},
      {"a@1 b | -b S", "-b:b"},
      {"a b P@1 c | S", "S:c"},
      {"a S@1 a | S", "S:a"},
      {"a S@1 a P@2 | S", ""},
      // If a stream ends before SYNCED, the objects stay unsure, whatever its token.
      {"a@1 b | c@2 | S", "S:b"},
      {"a@1 b | b@2 | S", ""},
      // Objects of a slot that is reset are unsure.
      {"a1 a2 b S@1 Ra a1 S", "S:a2"},
      {"a1 a2 b S@1 Ra | Ra a1 S", "S:a2"},
      {"a1 a2 b S@1 Ra a1@2 | S", "S:a2"},
      {"a1 S@1 Ra S a1 S", "S:a1"},
  };
  for (const Row& row : rows) EXPECT_EQ(Replay(row.messages), row.gone) << row.messages;
}

TEST(FollowedObjectsTest, TheNewestTokenIsKept) {
  FollowedJobs followed;
  EXPECT_TRUE(followed.empty());
  EXPECT_EQ(followed.token(), "");
  followed.Take(Read("a@1"));
  followed.Take(Read("P@2"));
  followed.Take(Read("b"));
  followed.Interrupted();
  EXPECT_EQ(followed.token(), "2");
  EXPECT_FALSE(followed.empty());
  followed.Take(Read("-a"));
  followed.Take(Read("S"));
  EXPECT_TRUE(followed.empty());
}

}  // namespace
}  // namespace basalt::cli
