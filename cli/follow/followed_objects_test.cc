#include "cli/follow/followed_objects.h"

#include <gtest/gtest.h>

#include "absl/strings/str_split.h"
#include "cli/connect/watched.h"
#include "common/base/status.h"

namespace basalt::cli {
namespace {

using FollowedJobs = FollowedObjects<WatchedJobs>;

// "a" is shown, "a@t" with token t; "-a" deleted; "S" SYNCED and "P" PROGRESS, "S@t" with a token; "R" a reset of its
// slot. Of jobs the first letter is the slot: "a1" and "a2" are in the same.
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

// "|" ends a stream; what goes is told with the message that says so: "S:a".
std::string Tell(std::string_view words) {
  FollowedJobs told;
  std::string gone;
  for (const std::string_view word : std::vector<std::string>(absl::StrSplit(ToAbsl(words), ' '))) {
    if (word == "|") {
      told.Interrupted();
      continue;
    }
    for (const FollowedJobs::Message& deletion : told.Take(Read(word))) {
      EXPECT_EQ(deletion.type(), FollowedJobs::Message::TYPE_DELETED);
      const auto& meta = deletion.job().object().meta();
      EXPECT_EQ(meta.uid(), "uid-" + meta.name());
      EXPECT_EQ(meta.namespace_(), "ns");
      gone += (gone.empty() ? "" : " ") + std::string(word) + ":" + meta.name();
    }
  }
  return gone;
}

TEST(FollowedObjectsTest, WhatIsNotToldAgainWhereItHadToBeIsGone) {
  struct Row {
    std::string_view told;
    std::string_view gone;
  };
  const Row rows[] = {
      {"a b S@1 -a", "-a:a"},
      {"-a", "-a:a"},  // Also one that was never shown.
      {"a b S b S", ""},
      // Without a token everything is told again.
      {"a b | b S", "S:a"},
      {"a b | | b S", "S:a"},
      {"a b S | b S", "S:a"},
      // With one only what came after it.
      {"a b S@1 | S@1", ""},
      {"a@1 b | S", "S:b"},
      {"a@1 b | b S", ""},
      {"a@1 b | -b S", "-b:b"},
      {"a b P@1 c | S", "S:c"},
      {"a S@1 a | S", "S:a"},
      {"a S@1 a P@2 | S", ""},
      // A stream that ends before it has told everything leaves the question open, whatever its token.
      {"a@1 b | c@2 | S", "S:b"},
      {"a@1 b | b@2 | S", ""},
      // Of slots that are reset.
      {"a1 a2 b S@1 Ra a1 S", "S:a2"},
      {"a1 a2 b S@1 Ra | Ra a1 S", "S:a2"},
      {"a1 a2 b S@1 Ra a1@2 | S", "S:a2"},
      {"a1 S@1 Ra S a1 S", "S:a1"},
  };
  for (const Row& row : rows) EXPECT_EQ(Tell(row.told), row.gone) << row.told;
}

TEST(FollowedObjectsTest, TheNewestTokenIsKept) {
  FollowedJobs told;
  EXPECT_TRUE(told.empty());
  EXPECT_EQ(told.token(), "");
  told.Take(Read("a@1"));
  told.Take(Read("P@2"));
  told.Take(Read("b"));
  told.Interrupted();
  EXPECT_EQ(told.token(), "2");
  EXPECT_FALSE(told.empty());
  told.Take(Read("-a"));
  told.Take(Read("S"));
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace basalt::cli
