#include "common/identity/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/time/clock.h"
#include "common/http/testing/certificates.h"
#include "common/testing/status_matchers.h"

namespace basalt::identity {
namespace {

using ::basalt::testing::IsOk;
using ::basalt::testing::StatusIs;
using http::testing::Certificate;
using http::testing::MakeCertificate;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kUri[] = "spiffe://basalt.local/cluster/blue/role/jobsvc/jobsvc-0";

Certificate Make() {
  return MakeCertificate({.common_name = "jobsvc-0",
                          .organisation = "basalt",
                          .alternative_names = std::string("DNS:localhost,URI:") + kUri + ",URI:https://x/",
                          .until = absl::Hours(5)});
}

TEST(CertificateTest, SubjectUrisAndTimesAreRead) {
  const absl::StatusOr<CertificateFacts> facts = ReadCertificate(Make().cert_pem);
  ASSERT_THAT(facts, IsOk());
  EXPECT_EQ(facts->subject, "CN=jobsvc-0,O=basalt");
  EXPECT_THAT(facts->uris, ElementsAre(kUri, "https://x/"));
  EXPECT_LE(absl::AbsDuration(facts->not_after - facts->not_before - absl::Hours(6)), absl::Seconds(1));
}

TEST(CertificateTest, ACertificateWithoutAlternativeNamesHasNoUri) {
  EXPECT_TRUE(ReadCertificate(MakeCertificate({.alternative_names = ""}).cert_pem)->uris.empty());
}

TEST(CertificateTest, AKeyIsThatOfItsCertificateAlone) {
  const Certificate one = Make();
  const Certificate other = Make();
  EXPECT_THAT(CheckKey(one.cert_pem, one.key_pem), IsOk());
  EXPECT_THAT(CheckKey(one.cert_pem + other.cert_pem, one.key_pem), IsOk()) << "a chain begins with the certificate";
  EXPECT_THAT(CheckKey(one.cert_pem, other.key_pem),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not that of")));
  EXPECT_THAT(CheckKey(one.cert_pem, one.cert_pem),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no private key")));
  EXPECT_THAT(CheckKey("", one.key_pem), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no certificate")));
}

TEST(CertificateTest, EachCertificateOfABundleIsRead) {
  const std::string one = Make().cert_pem;
  EXPECT_EQ(*CountCertificates(one), 1);
  EXPECT_EQ(*CountCertificates("a comment\n" + one + "\n" + Make().cert_pem + "\n"), 2);
  EXPECT_THAT(CountCertificates("nothing"), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no certificate")));
  const std::string broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  EXPECT_THAT(CountCertificates(one + broken),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("certificate 2 cannot be read")));
}

}  // namespace
}  // namespace basalt::identity
