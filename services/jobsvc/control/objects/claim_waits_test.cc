#include "services/jobsvc/control/objects/claim_waits.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "common/runtime/testing/scripted_context.h"

namespace basalt::jobsvc::testing {
namespace {

using Jobs = std::set<std::string>;

class ClaimWaitsTest : public ::testing::Test {
 protected:
  class NotedInterests : public runtime::testing::ScriptedContext {
   public:
    void AddInterest(std::string_view watch, std::string_view ns, std::string_view name) override {
      EXPECT_TRUE(interests.insert(TextOf(watch, ns, name)).second) << "it is asked for already";
    }
    void DropInterest(std::string_view watch, std::string_view ns, std::string_view name) override {
      EXPECT_EQ(interests.erase(TextOf(watch, ns, name)), 1U) << "it was not asked for";
    }
    std::set<std::string> interests;

   private:
    static std::string TextOf(std::string_view watch, std::string_view ns, std::string_view name) {
      return std::string(watch) + " " + std::string(ns) + "/" + std::string(name);
    }
  };

  NotedInterests context_;
  ClaimWaits waits_{context_};
};

TEST_F(ClaimWaitsTest, AClaimIsAskedForFromTheFirstJobThatWaitsToTheLast) {
  struct Step {
    const char* what;
    bool adds;
    const char* job;
    bool is_asked_for;
  };
  const Step steps[] = {
      {"one that does not wait goes", false, "a", false},
      {"the first", true, "a", true},
      {"another", true, "b", true},
      {"the first again", true, "a", true},
      {"the first goes", false, "a", true},
      {"again", false, "a", true},
      {"the last goes", false, "b", false},
      {"again", false, "b", false},
      {"another comes", true, "c", true},
  };
  for (const Step& step : steps) {
    SCOPED_TRACE(step.what);
    if (step.adds) {
      waits_.Add("ns", "claim", step.job);
    } else {
      waits_.Remove("ns", "claim", step.job);
    }
    EXPECT_EQ(context_.interests.contains("persistentvolumeclaims ns/claim"), step.is_asked_for);
  }
}

TEST_F(ClaimWaitsTest, ClaimsAreToldApartByNamespaceAndName) {
  waits_.Add("ns", "claim", "a");
  waits_.Add("ns", "other", "b");
  waits_.Add("elsewhere", "claim", "c");
  EXPECT_EQ(context_.interests.size(), 3U);
  waits_.Remove("ns", "other", "a");
  EXPECT_EQ(waits_.Take("ns", "claim"), Jobs{"a"});
  EXPECT_EQ(context_.interests,
            (std::set<std::string>{"persistentvolumeclaims elsewhere/claim", "persistentvolumeclaims ns/other"}));
}

TEST_F(ClaimWaitsTest, WhoeverWaitedIsTakenOnceAndWaitsNoMore) {
  EXPECT_EQ(waits_.Take("ns", "claim"), Jobs{});
  waits_.Add("ns", "claim", "a");
  waits_.Add("ns", "claim", "b");
  EXPECT_EQ(waits_.Take("ns", "claim"), (Jobs{"a", "b"}));
  EXPECT_TRUE(context_.interests.empty());
  EXPECT_EQ(waits_.Take("ns", "claim"), Jobs{});
  waits_.Remove("ns", "claim", "a");
  waits_.Add("ns", "claim", "b");
  EXPECT_EQ(waits_.Take("ns", "claim"), Jobs{"b"});
}

}  // namespace
}  // namespace basalt::jobsvc::testing
