// Tests that a client that opens ever more watches leaves capacity for other clients.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <list>
#include <memory>

#include "basalt/job/v1/job.grpc.pb.h"
#include "tests/security/suite_fixture.h"

namespace basalt::security {
namespace {

constexpr int kShare = 100;

struct Watch {
  explicit Watch(job::v1::JobService::Stub& stub) : reader(stub.WatchJobs(&context, {})) {}
  ~Watch() { context.TryCancel(); }
  bool Begins() {
    job::v1::WatchJobsResponse response;
    return reader->Read(&response);
  }
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<job::v1::WatchJobsResponse>> reader;
};

class WatchSharesTest : public SuiteTest {};

TEST_F(WatchSharesTest, AConnectionHasItsShareOfTheWatchesAndOthersHaveTheirs) {
  const std::string address = AddressOf(gateway::v1::SERVICE_KIND_JOB);
  const auto greedy = job::v1::JobService::NewStub(Connect(address));
  // The list succeeds as soon as all slots are open.
  bool is_open = false;
  for (int attempt = 0; !is_open && attempt < 10'000; ++attempt) {
    grpc::ClientContext context;
    job::v1::ListJobsResponse none;
    is_open = greedy->ListJobs(&context, {}, &none).ok();
  }
  ASSERT_TRUE(is_open);
  std::list<Watch> watches;
  for (int i = 0; i < kShare; ++i) ASSERT_TRUE(watches.emplace_back(*greedy).Begins()) << i;
  Watch beyond(*greedy);
  EXPECT_FALSE(beyond.Begins());
  const grpc::Status refused = beyond.reader->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(refused.error_message().find("this connection has 100 watches open"), std::string::npos);
  const auto other = job::v1::JobService::NewStub(Connect(address));
  EXPECT_TRUE(Watch(*other).Begins());

  watches.front().context.TryCancel();
  watches.front().reader->Finish();
  bool again = false;
  // The server learns of the end a moment later.
  for (int attempt = 0; !again && attempt < 10'000; ++attempt) again = Watch(*greedy).Begins();
  EXPECT_TRUE(again) << "what ended is given back";
}

}  // namespace
}  // namespace basalt::security
