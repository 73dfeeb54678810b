// Creates that are answered 409: the meaning of the reason, and the behaviour if the reason does not concern the name.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {
namespace {

// The answer of the API server while others write the same ResourceQuota all the time.
constexpr std::string_view kQuotaConflict =
    "Operation cannot be fulfilled on resourcequotas \"team\": the object has been modified";

class CreateConflictsTest : public JobTest {
 protected:
  // Answers creates of that kind in this way until called without a kind.
  void Answer(std::string plural, std::string reason, std::string message) {
    kube().SetRefuse([this, plural = std::move(plural), reason = std::move(reason), message = std::move(message)](
                         const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (!request.has_create() || request.resource().plural() != plural) return false;
      ++creates_;
      error.set_code(409);
      error.set_reason(reason);
      error.set_message(message);
      return true;
    });
  }
  // Expects tries with pauses of up to half a minute, whatever is refused.
  void ExpectPauses(const char* when) {
    rig().Run(absl::Minutes(10));
    EXPECT_GT(creates_, 10) << when;
    EXPECT_LT(creates_, 60) << when;
  }

  int creates_ = 0;
};

TEST_F(CreateConflictsTest, AConflictOfAQuotaBacksOffAndIsToldOnceItLasts) {
  Answer("pods", "Conflict", std::string(kQuotaConflict));
  Begin(MakeJob("j", 1, 1));
  EXPECT_EQ(Status().reason(), "");
  ExpectPauses("a conflict of a quota");
  EXPECT_EQ(kube().gets(), 0) << "nothing has the name";
  EXPECT_EQ(Status().reason(), "FailedCreate");
  EXPECT_EQ(Status().message(), "pod j-t0-0: " + std::string(kQuotaConflict));
  Answer("", "", "");
  rig().Run(absl::Minutes(1));
  EXPECT_EQ(kube().pods().size(), 1u);
  EXPECT_EQ(Status().reason(), "");
}

// Somebody restores the label while the name is looked up: the watch has shown the pod by then.
TEST_F(CreateConflictsTest, APodThatTheWatchHasJustShownHasNotLostItsLabel) {
  kube().PutForeignPod("default", "j-t0-0", /*job_name=*/"");
  Begin(MakeJob("j", 1, 1));
  const std::string uid = kube().job("default/j").meta().uid();
  kube().SetRefuse([&](const gateway::v1::WriteRequest& request, gateway::v1::KubeError&) {
    if (!request.has_create() || request.resource().plural() != "pods" || creates_++ > 0) return false;
    kube().EditPod("default/j-t0-0", [&uid](kube::v1::Pod& pod) {
      pod.set_owner_uid(uid);
      pod.set_job_name("j");
      pod.set_task("t0");
    });
    return false;
  });
  rig().Run(absl::Minutes(2));
  ASSERT_EQ(creates_, 1);
  for (const auto& [name, body] : kube().others()) {
    EXPECT_EQ(FindString(body, "message").find("without the label"), std::string::npos) << FindString(body, "message");
  }
}

}  // namespace
}  // namespace basalt::jobsvc::testing
