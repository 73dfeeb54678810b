#include "cli/follow/picture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace basalt::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const absl::Time kStart = absl::FromUnixSeconds(1'750'000'000);
const Screen kHigh{.height = 30, .look = {.width = 80}};

void Put(Picture& picture, const std::string& name, kube::v1::JobPhase phase = kube::v1::JOB_PHASE_RUNNING) {
  job::v1::Job job;
  job.mutable_object()->mutable_meta()->set_name(name);
  job.mutable_object()->mutable_status()->set_phase(phase);
  picture.Put("ns/" + name, std::move(job));
}

TEST(PictureTest, TheFirstIsDueOnceAllThereIsWasTold) {
  Picture picture(false);
  EXPECT_EQ(picture.due(), absl::InfiniteFuture());
  for (const char* name : {"a", "b", "c"}) Put(picture, name);
  EXPECT_EQ(picture.due(), absl::InfiniteFuture());
  EXPECT_TRUE(picture.stale()) << "whoever stops here still draws it";
  picture.Complete();
  EXPECT_LE(picture.due(), kStart);
  const std::string drawn = picture.Draw(kStart, kHigh);
  EXPECT_THAT(drawn, StartsWith("NAME"));
  for (const char* name : {"\na ", "\nb ", "\nc "}) EXPECT_THAT(drawn, HasSubstr(name));
  EXPECT_EQ(picture.due(), absl::InfiniteFuture());
  EXPECT_FALSE(picture.stale());
}

TEST(PictureTest, AChangeIsDueOnePauseAfterTheLastPicture) {
  Picture picture(false);
  picture.Complete();
  Put(picture, "a");
  picture.Draw(kStart, kHigh);
  for (int i = 0; i < 1000; ++i) Put(picture, "a", kube::v1::JOB_PHASE_COMPLETED);
  EXPECT_EQ(picture.due(), kStart + Picture::kPause);
  EXPECT_THAT(picture.Draw(kStart + Picture::kPause, kHigh), HasSubstr("Completed"));
  EXPECT_FALSE(picture.stale());
  picture.Remove("ns/nobody");
  EXPECT_FALSE(picture.stale());
  picture.Remove("ns/a");
  EXPECT_EQ(picture.due(), kStart + 2 * Picture::kPause);
  EXPECT_THAT(picture.Draw(kStart + absl::Minutes(1), kHigh), Not(HasSubstr("Completed")));
  Put(picture, "b");
  EXPECT_EQ(picture.due(), kStart + absl::Minutes(1) + Picture::kPause);
}

TEST(PictureTest, ItStandsOverTheOneBeforeWithinTheTerminal) {
  Picture picture(false);
  for (char name = 'a'; name < 'm'; ++name) Put(picture, std::string(1, name));
  const std::string first = picture.Draw(kStart, kHigh);
  EXPECT_THAT(first, Not(HasSubstr("\x1b")));
  EXPECT_THAT(first, Not(HasSubstr("not shown")));
  EXPECT_THAT(picture.Draw(kStart, kHigh), StartsWith("\x1b[13A\x1b[J"));
  const Screen low{.height = 8, .look = {.width = 80}};
  const std::string smaller = picture.Draw(kStart, low);
  EXPECT_THAT(smaller, StartsWith("\x1b[7A\x1b[J"));
  EXPECT_THAT(smaller, HasSubstr("\ne "));
  EXPECT_THAT(smaller, Not(HasSubstr("\nf ")));
  EXPECT_THAT(smaller, EndsWith("\n7 more are not shown\n"));
  EXPECT_THAT(picture.Draw(kStart, {.height = std::nullopt, .look = {}}), StartsWith("\x1b[7A\x1b[JNAME"));
  picture.StartAnew();
  EXPECT_THAT(picture.Draw(kStart, low), StartsWith("NAME"));
}

}  // namespace
}  // namespace basalt::cli
