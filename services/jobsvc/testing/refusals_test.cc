// What the API server refuses: how soon it is tried again, and in which words that is told.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "services/jobsvc/testing/job_rig.h"

namespace basalt::jobsvc::testing {
namespace {

class RefusalsTest : public ::testing::Test {
 protected:
  using Chosen = std::function<bool(const gateway::v1::WriteRequest& request)>;

  // Until it is called again: what is chosen is answered with that code; "{}" in the words is the object's name.
  void Refuse(Chosen chosen, int code, std::string words) {
    kube().SetRefuse([this, chosen = std::move(chosen), code, words = std::move(words)](
                         const gateway::v1::WriteRequest& request, gateway::v1::KubeError& error) {
      if (!chosen(request)) return false;
      ++refused_;
      error.set_code(code);
      std::string message = words;
      if (const size_t name = message.find("{}"); name != std::string::npos) message.replace(name, 2, request.name());
      error.set_message(std::move(message));
      return true;
    });
  }
  static bool MakesPod(const gateway::v1::WriteRequest& request) {
    return request.has_create() && request.resource().plural() == "pods";
  }
  void Begin(kube::v1::Job job) {
    rig_.Start();
    kube().PutJob(std::move(job));
    rig_.Run();
  }

  FakeKube& kube() { return rig_.kube(); }
  JobRig rig_;
  int refused_ = 0;
};

kube::v1::Job WithSvc(kube::v1::Job job) {
  job.mutable_spec()->add_plugins()->set_name("svc");
  return job;
}

TEST_F(RefusalsTest, ARoundOfRefusedPodsIsOneStepOfBackOff) {
  Refuse([this](const auto& request) { return MakesPod(request) && refused_ < 40; }, 403, "forbidden");
  rig_.Start();
  kube().PutJob(MakeJob("j", 1, 40));
  ASSERT_TRUE(rig_.RunUntil([this] { return refused_ == 40; }));
  rig_.Run(absl::Milliseconds(300));
  EXPECT_EQ(kube().pods().size(), 40u);
}

TEST_F(RefusalsTest, ARoundOfRefusedObjectsIsOneStepOfBackOff) {
  Refuse([this](const auto& request) { return request.has_create() && refused_ < 9; }, 403, "forbidden");
  rig_.Start();
  kube().PutJob(WithSvc(MakeJob("j", 1, 2)));
  rig_.Run(absl::Seconds(3));
  EXPECT_EQ(refused_, 9);
  EXPECT_EQ(kube().pods().size(), 2u);
}

}  // namespace
}  // namespace basalt::jobsvc::testing
