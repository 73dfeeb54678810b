#include "common/http/credentials/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "common/base/status.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"
#include "common/time/sim_time.h"

namespace basalt::http {
namespace {

using ::basalt::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Keeps each fetch until the test answers it.
class SlowSource : public IdentitySource {
 public:
  explicit SlowSource(std::vector<Done>& asked) : asked_(asked) {}
  void Fetch(Done done) override { asked_.push_back(std::move(done)); }

 private:
  std::vector<Done>& asked_;
};

class CredentialsTest : public ::testing::Test {
 protected:
  // Requests an identity. The answer adds its token, or the message of its error, to `heard_`.
  void Ask(const IdentityPtr& refused = nullptr) {
    credentials_.GetOtherThan(refused, [this](const absl::StatusOr<IdentityPtr>& got) {
      heard_.push_back(got.ok() ? (*got)->token : std::string(got.status().message()));
      if (got.ok()) last_ = *got;
    });
  }
  void Give(const std::string& token, absl::Duration life = absl::InfiniteDuration()) {
    const auto done = asked_.back();
    done(FetchedIdentity{{.token = token}, time_.Now() + life});
  }
  void Fail() {
    const auto done = asked_.back();
    done(absl::UnknownError("broken"));
  }
  std::vector<std::string> Heard() { return std::exchange(heard_, {}); }

  SimTime time_;
  std::vector<IdentitySource::Done> asked_;
  Credentials credentials_{time_, std::make_unique<SlowSource>(asked_)};
  std::vector<std::string> heard_;
  IdentityPtr last_;
};

TEST_F(CredentialsTest, AllThatWaitAreServedByOneLook) {
  Ask();
  Ask();
  EXPECT_TRUE(Heard().empty());
  ASSERT_EQ(asked_.size(), 1U);
  Give("a");
  EXPECT_THAT(Heard(), ElementsAre("a", "a"));
  time_.Advance(absl::Hours(100));
  Ask();
  EXPECT_THAT(Heard(), ElementsAre("a")) << "what does not expire is kept";
  EXPECT_EQ(asked_.size(), 1U);
}

TEST_F(CredentialsTest, IsRenewedShortlyBeforeItExpires) {
  Ask();
  Give("a", absl::Minutes(5));
  time_.Advance(absl::Minutes(4));
  Ask();
  EXPECT_EQ(asked_.size(), 1U);
  time_.Advance(absl::Seconds(55));
  Ask();
  ASSERT_EQ(asked_.size(), 2U);
  Give("b", absl::Minutes(5));
  EXPECT_THAT(Heard(), ElementsAre("a", "a", "b"));
}

TEST_F(CredentialsTest, IsRenewedOnceForAllThatWereRefused) {
  Ask();
  Give("a");
  const IdentityPtr refused = last_;
  time_.Advance(absl::Minutes(1));
  Ask(refused);
  Ask(refused);
  ASSERT_EQ(asked_.size(), 2U);
  Give("b");
  Ask(refused);
  EXPECT_THAT(Heard(), ElementsAre("a", "b", "b", "b"));
  EXPECT_EQ(asked_.size(), 2U);
}

TEST_F(CredentialsTest, ARefusedOneThatComesAgainIsTheSame) {
  Ask();
  Give("a");
  const IdentityPtr refused = last_;
  time_.Advance(absl::Minutes(1));
  Ask(refused);
  Give("a");
  EXPECT_EQ(last_, refused);
  for (int i = 0; i < 100; ++i) Ask(refused);
  EXPECT_EQ(asked_.size(), 2U) << "a source is not asked for each refusal";
  time_.Advance(absl::Seconds(1));
  Ask(refused);
  EXPECT_EQ(asked_.size(), 3U);
}

TEST_F(CredentialsTest, AFailureIsToldAndNotTriedAgainAtOnce) {
  Ask();
  Fail();
  Ask();
  EXPECT_THAT(Heard(), ElementsAre("broken", "broken"));
  EXPECT_EQ(asked_.size(), 1U);
  for (int i = 0; i < 60; ++i) {
    time_.Advance(absl::Seconds(1));
    const size_t before = asked_.size();
    Ask();
    if (asked_.size() > before) Fail();
  }
  EXPECT_THAT(asked_.size(), ::testing::AllOf(::testing::Ge(5U), ::testing::Le(7U))) << "after 1, 2, 4, 8 … s";
  time_.Advance(absl::Seconds(30));
  Heard();
  Ask();
  Give("a");
  EXPECT_THAT(Heard(), ElementsAre("a"));
}

TEST_F(CredentialsTest, AValidTokenOutlivesAFailureOfItsSource) {
  Ask();
  Give("a", absl::Minutes(1));
  time_.Advance(absl::Seconds(52));
  Ask();
  Fail();
  Ask();
  EXPECT_THAT(Heard(), ElementsAre("a", "a", "a"));
  time_.Advance(absl::Seconds(9));
  Ask();
  Fail();
  EXPECT_THAT(Heard(), ElementsAre("broken"));
}

TEST(TokenFileTest, IsReadAgainAfterAMinuteAndKeptWhileItIsReplaced) {
  SimTime time;
  const basalt::testing::TempDir dir;
  const std::string path = dir / "token";
  Credentials credentials(time, MakeTokenFileSource(time, path));
  absl::StatusOr<IdentityPtr> got;
  const auto ask = [&] { credentials.Get([&](absl::StatusOr<IdentityPtr> now) { got = std::move(now); }); };
  ask();
  EXPECT_THAT(got.status(), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr(path)));
  std::ofstream(path) << "one\n";
  time.Advance(absl::Seconds(2));
  ask();
  EXPECT_EQ((*got)->token, "one");
  std::ofstream(path) << "two\n";
  time.Advance(absl::Seconds(30));
  ask();
  EXPECT_EQ((*got)->token, "one");
  credentials.GetOtherThan(*got, [&](absl::StatusOr<IdentityPtr> now) { got = std::move(now); });
  EXPECT_EQ((*got)->token, "two") << "at once where the first was refused";
  std::ofstream(path).close();
  time.Advance(absl::Minutes(1));
  ask();
  EXPECT_EQ((*got)->token, "two");
  std::ofstream(path) << "three";
  time.Advance(absl::Minutes(1));
  ask();
  EXPECT_EQ((*got)->token, "three");
}

}  // namespace
}  // namespace basalt::http
