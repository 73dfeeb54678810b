#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "absl/strings/escaping.h"
#include "services/jobsvc/core/plugins/ssh/key_source.h"

namespace basalt::jobsvc {
namespace {

TEST(RsaKeySourceTest, MakesAPkcs1KeyAndItsOpenSshLine) {
  const absl::StatusOr<SshKeyPair> keys = MakeRsaKeySource()->MakeSshKeyPair("");
  ASSERT_TRUE(keys.ok()) << keys.status();
  EXPECT_TRUE(keys->private_pem.starts_with("-----BEGIN RSA PRIVATE KEY-----\n"));
  EXPECT_TRUE(keys->private_pem.ends_with("-----END RSA PRIVATE KEY-----\n"));
  BIO* bio = BIO_new_mem_buf(keys->private_pem.data(), static_cast<int>(keys->private_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  ASSERT_NE(key, nullptr);
  EXPECT_EQ(EVP_PKEY_get_bits(key), 2048);
  EVP_PKEY_free(key);
  BIO_free(bio);

  ASSERT_TRUE(keys->public_openssh.starts_with("ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"));
  ASSERT_TRUE(keys->public_openssh.ends_with("\n"));
  std::string wire;
  ASSERT_TRUE(absl::Base64Unescape(keys->public_openssh.substr(8, keys->public_openssh.size() - 9), &wire));
  // The text contains "ssh-rsa", 65537, and a modulus of 256 bytes behind its zero byte, each with its length.
  EXPECT_EQ(wire.size(), (4u + 7) + (4 + 3) + (4 + 257));
}

TEST(FakeKeySourceTest, FollowsItsSeed) {
  const auto source = MakeFakeKeySource();
  EXPECT_EQ(source->MakeSshKeyPair("a")->private_pem, source->MakeSshKeyPair("a")->private_pem);
  EXPECT_NE(source->MakeSshKeyPair("a")->private_pem, source->MakeSshKeyPair("b")->private_pem);
}

}  // namespace
}  // namespace basalt::jobsvc
