// A certificate that ends and an identity that is denied while their processes run.
#include "common/rpc/grpc/certificate_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/clock.h"
#include "basalt/common/v1/health.grpc.pb.h"
#include "common/exec/loop.h"
#include "common/exec/run_on.h"
#include "common/identity/certificate.h"
#include "common/identity/issuer.h"
#include "common/identity/rights.h"
#include "common/rpc/grpc/server.h"
#include "common/rpc/grpc/test_authority.h"
#include "common/rpc/grpc/users.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::rpc {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using ::testing::HasSubstr;

TEST(CertificateConditionTest, ACertificateThatEndsIsSaidAWeekBefore) {
  const absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  const absl::Time long_ago = now - absl::Hours(24);
  const absl::Status fine = absl::OkStatus();
  const absl::Status broken = absl::InvalidArgumentError("tls.key: cannot be read");
  struct Case {
    absl::Status files;
    absl::Time from, end;
    bool ready;
    const char* state;
    const char* why;
  };
  const absl::Time later = now + absl::Hours(24 * 7) + absl::Seconds(1);
  const Case cases[] = {
      {fine, long_ago, later, true, "ready", ""},
      {fine, long_ago, now + absl::Hours(24 * 7), true, "ends_soon",
       "the certificate ends at 2027-01-22T08:00:00+00:00"},
      {fine, long_ago, now + absl::Seconds(1), true, "ends_soon", "the certificate ends at 2027-01-15T08:00:01+00:00"},
      {fine, long_ago, now, false, "expired", "the certificate has ended at 2027-01-15T08:00:00+00:00"},
      {fine, now + absl::Seconds(1), later, false, "not_yet_valid",
       "the certificate counts from 2027-01-15T08:00:01+00:00 on"},
      {broken, long_ago, later, true, "unusable", "tls.key: cannot be read"},
      {broken, long_ago, now, false, "expired", "the certificate has ended at 2027-01-15T08:00:00+00:00"},
  };
  for (const Case& test : cases) {
    const obs::Health::Condition condition = ConditionOf(test.files, test.from, test.end, now);
    EXPECT_EQ(condition.ready, test.ready) << test.state;
    EXPECT_EQ(condition.state, test.state);
    EXPECT_EQ(condition.why, test.why);
    EXPECT_EQ(condition.cure.empty(), test.why[0] == '\0');
  }
}

class CertificateWatchTest : public ::testing::Test {
 protected:
  using HealthStub = grpc::health::v1::Health::Stub;

  void SetUp() override {
    TlsFiles files = authority_.FilesOf(identity::Role::kGateway, "gateway-0");
    files.denied = denied_file_;
    files.refresh = absl::Milliseconds(20);
    auto credentials = Credentials::FromFiles(files, identity::IdentityRules("basalt.local", "blue"));
    ASSERT_THAT(credentials, IsOk());
    credentials_ = *std::move(credentials);
    guard_ = MakeCallGuard(credentials_, metrics_.get());
    auto server = GrpcServer::Start({.address = "127.0.0.1:0", .credentials = credentials_, .guard = guard_}, {});
    ASSERT_THAT(server, IsOk());
    server_ = *std::move(server);
    server_->SetServing(true);
  }
  void TearDown() override {
    server_.reset();
    watch_.reset();
  }

  absl::Status StartWatch() {
    auto watch = CertificateWatch::Start(*loop_, credentials_.get(), guard_, *metrics_, health_,
                                         [this](const identity::KeyPair& own) {
                                           used_.push_back(own);
                                           return use_;
                                         });
    const absl::Status status = watch.status();
    if (watch.ok()) watch_ = *std::move(watch);
    return status;
  }
  // Returns the key pairs that the watch has handed on so far.
  std::vector<identity::KeyPair> Used() {
    std::vector<identity::KeyPair> used;
    RunOn(*loop_, [&] { used = used_; });
    return used;
  }
  bool Await(const std::function<bool()>& condition) {
    const absl::Time limit = absl::Now() + absl::Seconds(30);
    while (!condition() && absl::Now() < limit) RunOn(*loop_, [] {});
    return condition();
  }
  bool IsUnusable(std::string_view why) const {
    const obs::Health::Target target = health_.Targets()[0];
    return target.state == "unusable" && target.why.find(why) != std::string::npos;
  }
  void Deny(const std::string& text) const {
    std::ofstream(denied_file_ + ".next") << text;
    std::filesystem::rename(denied_file_ + ".next", denied_file_);
  }
  std::unique_ptr<HealthStub> ConnectAs(const std::string& name) const {
    return grpc::health::v1::Health::NewStub(grpc::CreateChannel(
        "127.0.0.1:" + std::to_string(server_->port()), authority_.CredentialsOf(identity::Role::kReader, name)
                                                            ->ForChannel(identity::Only({identity::Role::kGateway}))));
  }
  static void SetDeadline(grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
  }
  static grpc::StatusCode Check(HealthStub& stub) {
    grpc::ClientContext context;
    SetDeadline(context);
    grpc::health::v1::HealthCheckResponse response;
    return stub.Check(&context, {}, &response).error_code();
  }

  const basalt::testing::TempDir folder_;
  const std::string denied_file_ = folder_ / "denied";
  const TestAuthority authority_{folder_ / "certificates", "blue"};
  const std::unique_ptr<obs::Metrics> metrics_ = obs::MakeMetrics();
  obs::Health health_;
  std::vector<identity::KeyPair> used_;  // Used on the loop of the watch.
  absl::Status use_;                     // The result of UseFiles. Used on the loop of the watch.
  std::unique_ptr<Loop> loop_ = MakeThreadLoop("watch");
  std::shared_ptr<const Credentials> credentials_;
  std::shared_ptr<CallGuard> guard_;
  std::unique_ptr<GrpcServer> server_;
  std::unique_ptr<CertificateWatch> watch_;
};

TEST_F(CertificateWatchTest, WhoIsDeniedLosesItsStreamsAndCallsNothing) {
  Deny("");
  ASSERT_THAT(StartWatch(), IsOk());
  const auto ann = ConnectAs("ann");
  const auto bob = ConnectAs("bob");
  EXPECT_EQ(Check(*ann), grpc::StatusCode::OK);
  grpc::ClientContext of_ann;
  SetDeadline(of_ann);
  grpc::ClientContext of_bob;
  SetDeadline(of_bob);
  const auto anns = ann->Watch(&of_ann, {});
  const auto bobs = bob->Watch(&of_bob, {});
  grpc::health::v1::HealthCheckResponse response;
  ASSERT_TRUE(anns->Read(&response));
  ASSERT_TRUE(bobs->Read(&response));

  Deny("# lost laptop\nspiffe://basalt.local/cluster/blue/role/reader/ann\n");
  EXPECT_FALSE(anns->Read(&response));
  EXPECT_EQ(anns->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_EQ(Check(*ann), grpc::StatusCode::UNAUTHENTICATED);
  grpc::ClientContext again;
  SetDeadline(again);
  EXPECT_EQ(ann->Watch(&again, {})->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(Check(*bob), grpc::StatusCode::OK);
  server_->SetServing(false);
  EXPECT_TRUE(bobs->Read(&response)) << "the stream of bob goes on";
  EXPECT_THAT(metrics_->Text(), HasSubstr(R"(basalt_refused_calls_total{reason="denied",role="reader",)"));
  of_bob.TryCancel();
  bobs->Finish();
}

TEST_F(CertificateWatchTest, AListThatCannotBeReadEndsTheStartWithTheLine) {
  EXPECT_THAT(StartWatch(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/denied: cannot be read")));
  Deny("\nann\n");
  EXPECT_THAT(StartWatch(), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("/denied: line 2: 'ann'")));
}

TEST_F(CertificateWatchTest, FilesOfSomebodyElseAreNotUsable) {
  Deny("");
  ASSERT_THAT(StartWatch(), IsOk());
  // The new files replace those of the process in its folder.
  authority_.FilesOf(identity::Role::kGateway, "gateway-1");
  for (const char* name : {"/tls.crt", "/tls.key"}) {
    std::filesystem::copy_file(folder_ / ("certificates/gateway-gateway-1" + std::string(name)),
                               folder_ / ("certificates/gateway-gateway-0" + std::string(name)),
                               std::filesystem::copy_options::overwrite_existing);
  }
  constexpr std::string_view kWhy = "role/gateway/gateway-1, and this process is spiffe://";
  EXPECT_TRUE(Await([&] { return IsUnusable(kWhy); })) << health_.Targets()[0].why;
}

TEST_F(CertificateWatchTest, ANewCertificateIsHandedOnOnceItsKeyIsThere) {
  Deny("");
  ASSERT_THAT(StartWatch(), IsOk());
  EXPECT_EQ(Used().size(), 1u);
  const TlsFiles files = *credentials_->files();
  const TlsFiles next = TestAuthority(folder_ / "next", "blue").FilesOf(identity::Role::kGateway, "gateway-0");
  const auto next_certificate = identity::ReadSmallFile(next.certificate);
  const auto next_key = identity::ReadSmallFile(next.key);
  std::filesystem::rename(next.certificate, files.certificate);
  EXPECT_TRUE(Await([&] { return IsUnusable("the private key is not that of the certificate"); }));
  EXPECT_EQ(Used().size(), 1u);
  std::filesystem::rename(next.key, files.key);
  EXPECT_TRUE(Await([&] { return Used().size() > 1; }));
  EXPECT_EQ(Used()[1].certificate_pem, next_certificate.value_or(""));
  EXPECT_EQ(Used()[1].key_pem, next_key.value_or(""));
}

TEST_F(CertificateWatchTest, ACertificateThatIsNotTakenOverIsSaidAndHandedOnAgain) {
  Deny("");
  use_ = absl::InvalidArgumentError("cannot be used");
  ASSERT_THAT(StartWatch(), IsOk());
  EXPECT_TRUE(IsUnusable("/tls.crt: cannot be used")) << health_.Targets()[0].why;
  RunOn(*loop_, [this] { use_ = absl::OkStatus(); });
  EXPECT_TRUE(Await([&] { return health_.Targets()[0].state == "ends_soon"; }));
  EXPECT_GT(Used().size(), 1u);
}

TEST_F(CertificateWatchTest, NewFilesCountForTheTokensOfUsers) {
  Deny("");
  guard_ = MakeCallGuard(credentials_, metrics_.get(), TokenBucketOptions());
  const std::shared_ptr<Users> users = guard_->users();
  const TlsFiles files = *credentials_->files();
  const std::string token = MakeUserToken("ann", "blue", ReadPair(files));
  EXPECT_THAT(users->Verify(token), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not read yet")));
  ASSERT_THAT(StartWatch(), IsOk());
  EXPECT_THAT(users->Verify(token), IsOk());
  EXPECT_EQ(users->own().certificate_pem, ReadPair(files).certificate_pem);
  const TlsFiles next = TestAuthority(folder_ / "next", "blue").FilesOf(identity::Role::kGateway, "gateway-0");
  const identity::KeyPair next_pair = ReadPair(next);
  std::filesystem::rename(next.authorities, files.authorities);
  std::filesystem::rename(next.certificate, files.certificate);
  std::filesystem::rename(next.key, files.key);
  EXPECT_TRUE(Await([&] { return users->own().certificate_pem == next_pair.certificate_pem; }));
  EXPECT_EQ(users->own().key_pem, next_pair.key_pem) << "with these the gateway signs from now on";
  EXPECT_THAT(users->Verify(MakeUserToken("ann", "blue", next_pair)), IsOk());
  EXPECT_THAT(users->Verify(token), StatusIs(absl::StatusCode::kUnauthenticated, HasSubstr("not of an authority")));
}

TEST_F(CertificateWatchTest, AnEndInAnHourIsInReadinessAndMetrics) {
  Deny("");
  ASSERT_THAT(StartWatch(), IsOk());
  ASSERT_EQ(health_.Targets().size(), 1u);
  EXPECT_EQ(health_.Targets()[0].name, "certificate");
  EXPECT_EQ(health_.Targets()[0].state, "ends_soon");
  EXPECT_TRUE(health_.IsReady());
  EXPECT_THAT(metrics_->Text(), HasSubstr("basalt_certificate_end_timestamp_seconds 1"));
  EXPECT_THAT(metrics_->Text(), HasSubstr("basalt_denied_identities_read 1"));
}

}  // namespace
}  // namespace basalt::rpc
