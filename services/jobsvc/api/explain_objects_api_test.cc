// Several objects that a job needs before its pods, and the explanation of the others when one of them is there.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "services/jobsvc/api/explain_api_fixture.h"

namespace basalt::jobsvc::testing {
namespace {

using job::v1::Cause;

// A job with two claims that are missing, and a plugin of which one object is refused while `refuse_` is set.
class MissingClaimsTest : public ExplainApiTest {
 protected:
  void BeginWaiting() {
    rig_.kube().SetRefuse([this](const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (!refuse_ || !request.has_create() || request.resource().plural() != "services") return false;
      refused_at_.push_back(rig_.time().Now());
      error.set_code(403);
      error.set_message("no right to make services");
      return true;
    });
    kube::v1::Job job = MakeJob("j", 1, 1);
    job.mutable_spec()->add_plugins()->set_name("svc");
    for (const char* name : {"data", "models"}) {
      AddClaim(job, name);
    }
    Begin(job);
  }
  void MakeClaim(const std::string& name) {
    gateway::v1::WriteRequest request;
    request.mutable_resource()->set_plural("persistentvolumeclaims");
    request.set_namespace_("default");
    request.set_name(name);
    request.mutable_create()->set_body(R"({"metadata":{"name":")" + name + R"("}})");
    ASSERT_EQ(rig_.kube().Write(request).error().code(), 0);
  }
  const kube::v1::JobStatus& Status() { return rig_.kube().job("default/j").status(); }
  int Events(std::string_view reason) {
    return static_cast<int>(
        std::count_if(rig_.kube().others().begin(), rig_.kube().others().end(), [reason](const auto& other) {
          return other.first.starts_with("events/") && other.second.at("reason").as_string() == reason;
        }));
  }

  bool refuse_ = false;
  std::vector<absl::Time> refused_at_;
};

TEST_F(MissingClaimsTest, EachIsToldInItsOwnWordsWithATimeOfItsOwn) {
  bool models_refused = true;
  rig_.kube().refuse_get = [&](const gateway::v1::GetRequest& request, gateway::v1::KubeError& error) {
    if (request.name() != "models" || !models_refused) return false;
    error.set_code(503);
    return true;
  };
  BeginWaiting();
  const int64_t data_ms = SinceMs(Find(Explain(), Cause::KIND_CLAIM, "claim data does not exist"));
  rig_.Run(absl::Minutes(10));
  models_refused = false;
  rig_.Run(absl::Minutes(1));
  const auto explanation = Explain();
  EXPECT_EQ(SinceMs(Find(explanation, Cause::KIND_CLAIM, "claim data does not exist")), data_ms);
  Find(explanation, Cause::KIND_CLAIM, "claim models does not exist");
}

TEST_F(MissingClaimsTest, AnObjectOfAPluginThatIsSomebodyElsesIsToldWithWhatHelps) {
  gateway::v1::WriteRequest request;
  request.mutable_resource()->set_plural("services");
  request.set_namespace_("default");
  request.set_name("j");
  request.mutable_create()->set_body(R"({"metadata":{"name":"j"}})");
  ASSERT_EQ(rig_.kube().Write(request).error().code(), 0);
  for (const char* name : {"data", "models"}) MakeClaim(name);
  BeginWaiting();
  const Cause cause = Find(Explain(), Cause::KIND_PLUGIN, "exists and belongs to somebody else");
  EXPECT_EQ(cause.subject(), "Service j");
  EXPECT_EQ(cause.advice(),
            "Delete that object if nobody needs it, and the job goes on by itself; or submit the job under another "
            "name.");
}

class OneOfTwoClaimsTest : public MissingClaimsTest, public ::testing::WithParamInterface<bool> {};

TEST_P(OneOfTwoClaimsTest, TheOtherIsToldOfAsBefore) {
  const std::string first = GetParam() ? "data" : "models";
  const std::string other = GetParam() ? "models" : "data";
  BeginWaiting();
  rig_.Run(absl::Minutes(10));
  const std::string words = "claim " + other + " does not exist; the job waits for it";
  const auto before = Explain();
  ASSERT_EQ(before.causes_size(), 2) << before.DebugString();
  const int64_t since_ms = SinceMs(Find(before, Cause::KIND_CLAIM, "does not exist"));
  ASSERT_EQ(Events("PVCError"), 2);
  MakeClaim(first);
  ASSERT_TRUE(rig_.RunUntil([this] { return rig_.controller().Find("default/j")->claims.known().size() == 1; },
                            absl::Minutes(1)));
  for (int i = 0; i < 100; ++i) {
    const auto explanation = Explain();
    ASSERT_EQ(explanation.causes_size(), 1) << explanation.DebugString();
    ASSERT_EQ(SinceMs(Find(explanation, Cause::KIND_CLAIM, words)), since_ms);
    rig_.Run(absl::Milliseconds(i < 50 ? 4 : 1000));
  }
  EXPECT_EQ(Status().reason(), "PVCError");
  EXPECT_EQ(Status().message(), words);
  EXPECT_EQ(Events("PVCError"), 2) << "each was told of";
  MakeClaim(other);
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(rig_.kube().pods().size(), 1u);
  EXPECT_EQ(Status().reason(), "");
}

INSTANTIATE_TEST_SUITE_P(Appears, OneOfTwoClaimsTest, ::testing::Bool());

TEST_F(MissingClaimsTest, NoTryIsPromisedOfAWatchedClaimBesideARefusal) {
  refuse_ = true;
  BeginWaiting();
  rig_.Run(absl::Minutes(10));
  const auto explanation = Explain();
  EXPECT_GT(UntilMs(Find(explanation, Cause::KIND_PLUGIN, "no right to make services")), NowMs());
  EXPECT_EQ(UntilMs(Find(explanation, Cause::KIND_CLAIM, "claim models")), 0);
  EXPECT_EQ(UntilMs(Find(explanation, Cause::KIND_CLAIM, "claim data")), 0);
}

TEST_F(MissingClaimsTest, ARefusalBesideAClaimThatAppearsIsTriedNoSooner) {
  refuse_ = true;
  BeginWaiting();
  rig_.Run(absl::Minutes(10));
  refused_at_.clear();
  MakeClaim("data");
  rig_.Run(absl::Minutes(2));
  ASSERT_GE(refused_at_.size(), 3u);
  for (size_t i = 1; i < refused_at_.size(); ++i) {
    EXPECT_GE(refused_at_[i] - refused_at_[i - 1], absl::Seconds(15)) << "the longest pause but for its jitter";
  }
  Find(Explain(), Cause::KIND_PLUGIN, "no right to make services");
  refuse_ = false;
  MakeClaim("models");
  rig_.Run(absl::Minutes(1));
  EXPECT_EQ(rig_.kube().pods().size(), 1u);
  EXPECT_EQ(Status().reason(), "");
}

// A plugin has several objects, as a job has several claims.
TEST_F(MissingClaimsTest, ARefusedObjectIsToldOfThoughAnotherOfItsPluginIsMade) {
  refuse_ = true;
  for (const char* name : {"data", "models"}) MakeClaim(name);
  Lose(Creates("configmaps"));
  BeginWaiting();
  rig_.Run(absl::Minutes(10));
  const Cause cause = Find(Explain(), Cause::KIND_PLUGIN, "no right to make services");
  rig_.fate = nullptr;
  ASSERT_TRUE(rig_.RunUntil([this] { return rig_.kube().others().contains("configmaps/default/j-svc"); }));
  rig_.Run(absl::Milliseconds(50));
  EXPECT_EQ(SinceMs(Find(Explain(), Cause::KIND_PLUGIN, "no right to make services")), SinceMs(cause));
  EXPECT_EQ(Events("PluginError"), 1);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
