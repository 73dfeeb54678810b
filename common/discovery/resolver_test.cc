// Tests the system's own resolver with names that need no name server.
#include "common/discovery/resolver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "common/exec/run_on.h"

namespace basalt::discovery {
namespace {

TEST(ResolverTest, ANumberIsItsOwnAddress) {
  EXPECT_THAT(LookUp({"127.0.0.1", 7}).value(), ::testing::ElementsAre("127.0.0.1:7"));
  EXPECT_THAT(LookUp({"::1", 7}).value(), ::testing::ElementsAre("[::1]:7"));
}

TEST(ResolverTest, AnswersComeOnTheLoop) {
  const std::unique_ptr<Loop> loop = MakeThreadLoop("test");
  std::unique_ptr<Resolver> resolver;
  std::promise<absl::StatusOr<std::vector<std::string>>> answer;
  RunOn(*loop, [&] {
    resolver = MakeSystemResolver(*loop);
    resolver->Resolve({"localhost", 7}, [&](auto found) {
      EXPECT_TRUE(loop->IsCurrent());
      answer.set_value(std::move(found));
    });
  });
  const auto found = answer.get_future().get();
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_THAT(*found, ::testing::Each(::testing::AnyOf("127.0.0.1:7", "[::1]:7")));
  RunOn(*loop, [&] { resolver.reset(); });
}

TEST(ResolverTest, ANameThatIsNoneIsNamedWithTheReason) {
  const auto found = LookUp({"a..b", 7});
  EXPECT_EQ(found.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(found.status().message()), ::testing::StartsWith("a..b cannot be looked up: "));
}

TEST(ResolverTest, NobodyIsToldAfterItsEnd) {
  const std::unique_ptr<Loop> loop = MakeThreadLoop("test");
  RunOn(*loop, [&] {
    const std::unique_ptr<Resolver> resolver = MakeSystemResolver(*loop);
    resolver->Resolve({"127.0.0.1", 7}, [](const auto&) { ADD_FAILURE() << "it is gone"; });
  });
  RunOn(*loop, [] {});
}

}  // namespace
}  // namespace basalt::discovery
