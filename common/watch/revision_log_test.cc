#include "common/watch/revision_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace basalt::watch {
namespace {

constexpr int64_t kEpoch = 3;
constexpr int64_t kFirst = kEpoch << 24;

class RevisionLogTest : public ::testing::Test {
 protected:
  std::vector<std::string> DeletedKeys() const {
    std::vector<std::string> keys;
    for (const RevisionLog::Deletion& deletion : log_.deletions()) keys.push_back(deletion.key);
    return keys;
  }

  SeededRandom random_{1};
  RevisionLog log_{{}, {}, kEpoch};
};

TEST_F(RevisionLogTest, EachChangeHasAHigherRevisionThanAnyOfAnEarlierEpoch) {
  EXPECT_EQ(log_.position(), (WatchPosition{0, 0})) << "nothing was published yet";
  EXPECT_EQ(log_.Publish("n/a", random_), kFirst);
  EXPECT_EQ(log_.Publish("n/b", random_), kFirst + 1);
  EXPECT_EQ(log_.Delete("n/a", "uid", random_).revision, kFirst + 2);
  EXPECT_NE(log_.position().incarnation, 0u);
  EXPECT_EQ(log_.position().revision, kFirst + 2);
  RevisionLog next(log_.state(), {}, kEpoch + 1);
  EXPECT_EQ(next.Publish("n/b", random_), (kEpoch + 1) << 24);
  EXPECT_EQ(next.position().incarnation, log_.position().incarnation);
}

TEST_F(RevisionLogTest, EachKeyThatIsGoneHasItsNewestDeletion) {
  log_.Publish("n/a", random_);
  log_.Delete("n/a", "1", random_);
  log_.Delete("n/b", "2", random_);
  EXPECT_EQ(DeletedKeys(), (std::vector<std::string>{"n/a", "n/b"}));
  log_.Publish("n/a", random_);
  EXPECT_EQ(DeletedKeys(), std::vector<std::string>{"n/b"}) << "it is there again";
  log_.Delete("n/b", "3", random_);
  ASSERT_EQ(log_.deletions().size(), 1u);
  EXPECT_EQ(log_.deletions().front().uid, "3");
  const RevisionLog read(log_.state(), {{9, "n/y", "y"}, {8, "n/x", "x"}}, kEpoch);
  EXPECT_EQ(read.deletions().front().key, "n/x") << "oldest first, however they were stored";
}

TEST_F(RevisionLogTest, WhoMissedADeletionThatIsForgottenIsNotKnown) {
  log_.Publish("n/a", random_);
  const WatchPosition start = log_.position();
  for (size_t i = 0; i < RevisionLog::kMaxDeletions; ++i) {
    EXPECT_FALSE(log_.Delete("n/" + std::to_string(i), "uid", random_).forgotten_key);
  }
  EXPECT_TRUE(log_.Knows(start));
  EXPECT_EQ(log_.Delete("n/last", "uid", random_).forgotten_key, "n/0");
  EXPECT_FALSE(log_.Knows(start));
  EXPECT_TRUE(log_.Knows({start.incarnation, start.revision + 1})) << "it knows of the one that is forgotten";
  EXPECT_TRUE(log_.Knows(log_.position()));
  EXPECT_FALSE(log_.Knows({start.incarnation + 1, log_.position().revision}));
  EXPECT_FALSE(log_.Knows({start.incarnation, log_.position().revision + 1})) << "from the future";
}

TEST_F(RevisionLogTest, NobodyIsKnownOnceRecordsWereLost) {
  log_.Delete("n/a", "uid", random_);
  const WatchPosition before = log_.position();
  log_.BeginAnew();
  EXPECT_EQ(log_.state(), RevisionLog::State());
  EXPECT_TRUE(log_.deletions().empty());
  EXPECT_EQ(log_.Publish("n/a", random_), kFirst);
  EXPECT_FALSE(log_.Knows(before));
}

}  // namespace
}  // namespace basalt::watch
