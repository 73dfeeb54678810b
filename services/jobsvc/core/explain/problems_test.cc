#include "services/jobsvc/core/explain/problems.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace basalt::jobsvc {
namespace {

constexpr absl::Duration kInterval = absl::Minutes(5);

class ProblemsTest : public ::testing::Test {
 protected:
  // Reports a refusal as the API server words it, with the pod's name.
  bool Refuse(const std::string& pod, const std::string& why) {
    return problems_.Report({{"FailedCreate", fmt::format("pod {}: pods \"{}\" is forbidden: {}", pod, pod, why)}},
                            {pod}, now_, kInterval);
  }

  Problems problems_;
  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
};

TEST_F(ProblemsTest, PodsRefusedForOneCauseAreToldOnceByTheFirst) {
  EXPECT_TRUE(Refuse("j-a-0", "exceeded quota: team"));
  EXPECT_FALSE(Refuse("j-a-1", "exceeded quota: team"));
  EXPECT_FALSE(Refuse("j-other-17", "exceeded quota: team"));
  EXPECT_EQ(problems_.Reported().message, "pod j-a-0: pods \"j-a-0\" is forbidden: exceeded quota: team");
  EXPECT_EQ(problems_.Find("FailedCreate")->words.message,
            "pod j-other-17: pods \"j-other-17\" is forbidden: exceeded quota: team");
  now_ += absl::Hours(1);
  EXPECT_FALSE(Refuse("j-a-1", "exceeded quota: team"));
}

TEST_F(ProblemsTest, OtherNumbersAreToldAnewAfterAWhile) {
  EXPECT_TRUE(Refuse("j-a-0", "exceeded quota: used: pods=4"));
  for (int used = 5; used < 20; ++used)
    EXPECT_FALSE(Refuse("j-a-0", fmt::format("exceeded quota: used: pods={}", used)));
  now_ += kInterval;
  EXPECT_FALSE(Refuse("j-a-1", "exceeded quota: used: pods=4"));
  EXPECT_TRUE(Refuse("j-a-0", "exceeded quota: used: pods=40"));
  EXPECT_NE(problems_.Reported().message.find("pods=40"), std::string::npos);
}

TEST_F(ProblemsTest, CausesThatTakeTurnsDoNotChangeTheStatus) {
  EXPECT_TRUE(Refuse("j-a-0", "exceeded quota"));
  EXPECT_TRUE(Refuse("j-b-0", "violates PodSecurity"));
  const StatusMessage reported = problems_.Reported();
  for (int round = 0; round < 100; ++round) {
    now_ += absl::Seconds(30);
    EXPECT_FALSE(Refuse("j-a-0", "exceeded quota"));
    EXPECT_EQ(problems_.Reported(), reported);
    EXPECT_FALSE(Refuse("j-b-0", "violates PodSecurity"));
    EXPECT_EQ(problems_.Reported(), reported);
  }
  for (int round = 0; round < 3; ++round) {
    now_ += absl::Seconds(30);
    EXPECT_FALSE(Refuse("j-b-0", "violates PodSecurity"));
  }
  EXPECT_NE(problems_.Reported().message.find("PodSecurity"), std::string::npos) << "the other is over";
}

TEST_F(ProblemsTest, TheStatusNamesTheProblemThatComesFirst) {
  EXPECT_TRUE(problems_.Reported().empty());
  Refuse("j-a-0", "exceeded quota");
  problems_.Report({{"PluginError", "plugin svc: Service j: forbidden"}}, {}, now_, kInterval);
  EXPECT_EQ(problems_.Reported().reason, "PluginError");
  EXPECT_TRUE(problems_.End("PluginError"));
  EXPECT_FALSE(problems_.End("PluginError"));
  EXPECT_EQ(problems_.Reported().reason, "FailedCreate");
  problems_.Clear();
  EXPECT_TRUE(problems_.empty());
  EXPECT_TRUE(Refuse("j-a-0", "exceeded quota")) << "over, and here again";
}

TEST_F(ProblemsTest, EachObjectThatIsMissingIsNamed) {
  const auto miss = [this](const std::string& message) {
    return problems_.Report({{"PVCError", message}}, {}, now_, kInterval);
  };
  EXPECT_TRUE(miss("claim data-1 does not exist"));
  EXPECT_TRUE(miss("claim data-2 does not exist"));
  EXPECT_TRUE(miss("claim data-3: exceeded quota: used: 3"));
  EXPECT_TRUE(miss("claim data-4: exceeded quota: used: 3"));
  EXPECT_FALSE(miss("claim data-3: exceeded quota: used: 4"));
  EXPECT_EQ(problems_.Reported().message, "claim data-1 does not exist");
}

TEST_F(ProblemsTest, ProblemsOfSeveralObjectsEndOneByOne) {
  const absl::Time began = now_;
  const auto miss = [this](const std::string& claim, const std::string& what) {
    now_ += absl::Seconds(1);
    const std::string subject = "claim " + claim;
    return problems_.Report({.words = {"PVCError", subject + what}, .subject = subject}, {}, now_, kInterval, now_);
  };
  EXPECT_TRUE(miss("data-1", " does not exist"));
  EXPECT_TRUE(miss("data-2", " does not exist"));
  EXPECT_TRUE(miss("data-3", ": forbidden"));
  EXPECT_TRUE(miss("data-1", ": forbidden"));
  EXPECT_FALSE(problems_.End("PVCError", "claim data-4"));
  EXPECT_FALSE(problems_.End("PluginError", "claim data-1"));
  EXPECT_TRUE(problems_.End("PVCError", "claim data-1"));
  EXPECT_EQ(problems_.Reported().message, "claim data-2 does not exist") << "told first of what is left";
  EXPECT_EQ(problems_.Find("PVCError")->words.message, "claim data-3: forbidden") << "seen last of what is left";
  EXPECT_EQ(problems_.Find("PVCError")->subject, "claim data-3");
  EXPECT_EQ(problems_.SinceMs("PVCError", "claim data-2"), absl::ToUnixMillis(began + absl::Seconds(2)));
  EXPECT_EQ(problems_.SinceMs("PVCError", "claim data-3"), absl::ToUnixMillis(began + absl::Seconds(3)));
  EXPECT_EQ(problems_.SinceMs("PVCError", "claim data-1"), 0) << "it is over";
  EXPECT_FALSE(miss("data-2", " does not exist")) << "it was told of";
  EXPECT_TRUE(problems_.End("PVCError", "claim data-3"));
  EXPECT_EQ(problems_.Find("PVCError")->subject, "claim data-2");
  EXPECT_TRUE(problems_.End("PVCError", "claim data-2"));
  EXPECT_TRUE(problems_.empty());
}

// Each pass reports all of them again; a message that changed with them would be written to the status again and again.
TEST_F(ProblemsTest, TheReportedCauseStaysBesideMoreThanAreKept) {
  const auto pass = [&] {
    for (int i = 0; i < 100; ++i) {
      const std::string subject = "claim data-" + std::string(static_cast<size_t>(i), 'x');
      problems_.Report({.words = {"PVCError", subject + " does not exist"}, .subject = subject}, {}, now_, kInterval);
      now_ += absl::Milliseconds(1);
    }
    now_ += absl::Seconds(5);
  };
  pass();
  const std::string reported = problems_.Reported().message;
  EXPECT_EQ(reported, "claim data- does not exist");
  for (int i = 0; i < 50; ++i) {
    pass();
    ASSERT_EQ(problems_.Reported().message, reported) << i;
  }
  EXPECT_NE(problems_.Find("PVCError", "claim data-xx"), nullptr);
  problems_.End("PVCError", "claim data-xx");
  EXPECT_EQ(problems_.Find("PVCError", "claim data-xx"), nullptr) << "its cause was forgotten before";
}

TEST_F(ProblemsTest, EachSubjectHasATimeAndWordsOfItsOwn) {
  const absl::Time before = now_ - absl::Hours(1);
  const auto report = [&](const std::string& subject, const std::string& what) {
    problems_.Report({.words = {"PVCError", subject + what}, .subject = subject}, {}, now_, kInterval, before);
    now_ += absl::Seconds(10);
  };
  const absl::Time began = now_;
  report("claim a", " does not exist");
  report("claim b", " does not exist");
  report("claim a", ": forbidden");
  EXPECT_EQ(problems_.SinceMs("PVCError", "claim a"), absl::ToUnixMillis(before)) << "what is known is of the first";
  EXPECT_EQ(problems_.SinceMs("PVCError", "claim b"), absl::ToUnixMillis(began + absl::Seconds(10)));
  EXPECT_EQ(problems_.Find("PVCError", "claim a")->words.message, "claim a: forbidden");
  EXPECT_EQ(problems_.Find("PVCError", "claim b")->words.message, "claim b does not exist");
  EXPECT_EQ(problems_.Find("PVCError", "claim c"), nullptr);
  EXPECT_EQ(problems_.Find("FailedCreate", "claim a"), nullptr);
}

TEST_F(ProblemsTest, KindAndSubjectAreThoseOfTheNewestReport) {
  Refuse("j-a-0", "exceeded quota");
  EXPECT_EQ(problems_.Find("FailedCreate")->kind, ProblemKind::kRefused);
  EXPECT_TRUE(problems_.Report({.words = {"FailedCreate", "pod j-b-0: the name is held"},
                                .kind = ProblemKind::kNameHeld,
                                .subject = "pod j-b-0"},
                               {"j-b-0"}, now_, kInterval));
  EXPECT_EQ(problems_.Find("FailedCreate")->kind, ProblemKind::kNameHeld);
  EXPECT_EQ(problems_.Find("FailedCreate")->subject, "pod j-b-0");
  Refuse("j-a-0", "exceeded quota");
  EXPECT_EQ(problems_.Find("FailedCreate")->kind, ProblemKind::kRefused);
  EXPECT_EQ(problems_.Find("FailedCreate")->subject, "");
}

TEST_F(ProblemsTest, CausesWithoutEndAreForgotten) {
  for (int i = 0; i < 1000; ++i) {
    std::string why = "cause ";
    for (int rest = i; rest > 0; rest /= 26) why += static_cast<char>('a' + rest % 26);
    EXPECT_TRUE(Refuse("j-a-0", why));
    EXPECT_FALSE(problems_.Reported().empty());
  }
}

}  // namespace
}  // namespace basalt::jobsvc
