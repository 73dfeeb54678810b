#include "cli/certs/folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "common/identity/certificate.h"
#include "common/testing/status_matchers.h"
#include "common/testing/temp_dir.h"

namespace basalt::cli {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using identity::Identity;
using identity::Role;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class CertificateFolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const SuiteShape shape{.trust_domain = "basalt.local", .cluster = "blue"};
    ASSERT_EQ(InitSuite(dir_.path(), shape, now_, lifetimes_).value_or(-1), kCertificates);
  }
  std::string Text(const std::string& file) const {
    std::ifstream in(dir_ / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static constexpr int kCertificates = 6;  // A gateway, three services, an operator and a reader.

  // Returns how many authorities jobsvc-0 trusts.
  int Believed() const { return identity::CountCertificates(Text("jobsvc/jobsvc-0/ca.crt")).value_or(0); }

  const basalt::testing::TempDir dir_;
  absl::Time now_ = absl::FromUnixSeconds(1'800'000'000);
  const Lifetimes lifetimes_ = {};
  const Identity jobsvc_{
      .trust_domain = "basalt.local", .cluster = "blue", .role = Role::kJobsvc, .replica = "jobsvc-0"};
};

TEST_F(CertificateFolderTest, AProcessFindsItsThreeFilesAndNobodyElseReadsItsKey) {
  EXPECT_THAT(identity::CheckKey(Text("jobsvc/jobsvc-0/tls.crt"), Text("jobsvc/jobsvc-0/tls.key")), IsOk());
  EXPECT_EQ(Believed(), 1);
  using std::filesystem::perms;
  for (const char* key : {"jobsvc/jobsvc-0/tls.key", "authority/ca.key"}) {
    EXPECT_EQ(std::filesystem::status(dir_ / key).permissions(), perms::owner_read | perms::owner_write) << key;
  }
  const std::string before = Text("authority/ca.crt");
  const SuiteShape larger{.trust_domain = "basalt.local", .cluster = "blue", .replicas = 2};
  EXPECT_EQ(InitSuite(dir_.path(), larger, now_, lifetimes_).value_or(-1), 3) << "what is missing is made";
  EXPECT_EQ(Text("authority/ca.crt"), before);
}

TEST_F(CertificateFolderTest, RotationReplacesAFolderAsAWhole) {
  const auto before = std::filesystem::read_symlink(dir_ / "jobsvc/jobsvc-0");
  now_ += absl::Hours(24 * 30);
  EXPECT_EQ(RotateCertificates(dir_.path(), now_, lifetimes_).value_or(-1), kCertificates);
  EXPECT_NE(std::filesystem::read_symlink(dir_ / "jobsvc/jobsvc-0"), before);
  EXPECT_FALSE(std::filesystem::exists(dir_ / "jobsvc" / before));
  EXPECT_THAT(identity::CheckKey(Text("jobsvc/jobsvc-0/tls.crt"), Text("jobsvc/jobsvc-0/tls.key")), IsOk());
  const auto shown = ShowCertificates(dir_.path());
  ASSERT_THAT(shown, IsOk());
  ASSERT_EQ(shown->size(), static_cast<size_t>(kCertificates) + 1);
  EXPECT_EQ((*shown)[2].identity, identity::UriOf(jobsvc_)) << "behind the authority and the gateway";
  EXPECT_EQ((*shown)[2].end, now_ + lifetimes_.certificate);
  EXPECT_EQ((*shown)[2].problem, "");
}

TEST_F(CertificateFolderTest, SecretsOfASuiteInPodsStateTheAccountOfTheirRole) {
  const auto secrets = MakeSecrets(dir_.path(), "basalt.local", "batch", now_, lifetimes_);
  ASSERT_THAT(secrets, IsOk());
  std::map<std::string, std::string> uris;
  for (const CertificateSecret& secret : *secrets) {
    EXPECT_THAT(identity::CheckKey(secret.certificate_pem, secret.key_pem), IsOk()) << secret.name;
    EXPECT_EQ(secret.authorities_pem, Text("authority/ca.crt")) << secret.name;
    const auto facts = identity::ReadCertificate(secret.certificate_pem);
    ASSERT_THAT(facts, IsOk());
    uris[secret.name] = facts->uris.at(0);
  }
  EXPECT_THAT(uris, ElementsAre(Pair("basalt-gateway-tls", "spiffe://basalt.local/ns/batch/sa/basalt-gateway"),
                                Pair("basalt-jobsvc-tls", "spiffe://basalt.local/ns/batch/sa/basalt-jobsvc"),
                                Pair("basalt-pgsvc-tls", "spiffe://basalt.local/ns/batch/sa/basalt-pgsvc"),
                                Pair("basalt-queuesvc-tls", "spiffe://basalt.local/ns/batch/sa/basalt-queuesvc")));
  const basalt::testing::TempDir empty;
  EXPECT_THAT(MakeSecrets(empty.path(), "basalt.local", "batch", now_, lifetimes_), IsOk()) << "the authority is made";
  EXPECT_THAT(MakeSecrets(empty.path(), "a,DNS:b", "batch", now_, lifetimes_),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(CertificateFolderTest, AnAuthorityIsExchangedWhileEverybodyBelievesEverybody) {
  const auto refused = [this](AuthorityStep step) { return RotateAuthority(dir_.path(), step, now_, lifetimes_); };
  EXPECT_THAT(refused(AuthorityStep::kIssueByNext), StatusIs(absl::StatusCode::kFailedPrecondition));
  const std::string old = Text("authority/ca.crt");
  const std::string certificate = Text("jobsvc/jobsvc-0/tls.crt");

  EXPECT_EQ(RotateAuthority(dir_.path(), AuthorityStep::kBelieveBoth, now_, lifetimes_).value_or(-1), kCertificates);
  EXPECT_EQ(Believed(), 2);
  EXPECT_EQ(Text("jobsvc/jobsvc-0/tls.crt"), certificate) << "nobody may believe the new authority yet";
  EXPECT_THAT(refused(AuthorityStep::kForgetOld), StatusIs(absl::StatusCode::kFailedPrecondition));

  EXPECT_EQ(RotateAuthority(dir_.path(), AuthorityStep::kIssueByNext, now_, lifetimes_).value_or(-1), kCertificates);
  EXPECT_EQ(Believed(), 2) << "others may have certificates of the old one";
  EXPECT_NE(Text("jobsvc/jobsvc-0/tls.crt"), certificate);
  EXPECT_NE(Text("authority/ca.crt"), old);
  EXPECT_THAT(refused(AuthorityStep::kBelieveBoth), StatusIs(absl::StatusCode::kFailedPrecondition));

  EXPECT_EQ(RotateAuthority(dir_.path(), AuthorityStep::kForgetOld, now_, lifetimes_).value_or(-1), kCertificates);
  EXPECT_EQ(Text("jobsvc/jobsvc-0/ca.crt"), Text("authority/ca.crt"));
}

TEST_F(CertificateFolderTest, ACommandLeavesNoFolderAndOutlivesNoAuthority) {
  const auto run = [](std::vector<const char*> words) {
    words.insert(words.begin(), {"basaltctl", "certs"});
    words.push_back("--cluster=blue");
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    const int exit_code = Main(static_cast<int>(words.size()), words.data());
    ::testing::internal::GetCapturedStdout();
    return std::pair(exit_code, ::testing::internal::GetCapturedStderr());
  };
  const std::string fresh = dir_ / "fresh";
  EXPECT_EQ(run({"init", fresh.c_str()}).first, kExitDone);
  EXPECT_EQ(run({"issue", fresh.c_str(), "operator", "ann"}).first, kExitDone);
  EXPECT_EQ(run({"show", fresh.c_str()}).first, kExitDone);
  EXPECT_THAT(run({"issue", fresh.c_str(), "operator", "../../x"}).second, HasSubstr("its form"));
  EXPECT_EQ(run({"init", fresh.c_str(), "--days=10", "--authority-days=9"}).first, kExitBadInput);
  std::ofstream(fresh + "/operator/ann/tls.crt") << "broken";
  EXPECT_EQ(run({"show", fresh.c_str()}).first, kExitRefused);
  EXPECT_THAT(run({"rotate", fresh.c_str()}).second, HasSubstr("no certificate in PEM can be read"));
}

TEST_F(CertificateFolderTest, AKeyThatIsNotTheCertificatesIsShown) {
  std::ofstream(dir_ / "jobsvc/jobsvc-0/tls.key") << Text("authority/ca.key");
  const auto shown = ShowCertificates(dir_ / "jobsvc/jobsvc-0/tls.crt");
  ASSERT_THAT(shown, IsOk());
  ASSERT_EQ(shown->size(), 1u);
  EXPECT_THAT((*shown)[0].problem, HasSubstr("not that of the certificate"));
}

}  // namespace
}  // namespace basalt::cli
