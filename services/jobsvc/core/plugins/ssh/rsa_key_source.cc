#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/encoder.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "common/base/freed.h"
#include "common/base/status.h"
#include "services/jobsvc/core/plugins/ssh/key_source.h"

namespace basalt::jobsvc {
namespace {

constexpr unsigned kKeyBits = 2048;

using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Number = std::unique_ptr<BIGNUM, Freed<BN_free>>;
using Encoder = std::unique_ptr<OSSL_ENCODER_CTX, Freed<OSSL_ENCODER_CTX_free>>;

absl::Status Failed(std::string_view step) {
  return MakeStatus(absl::StatusCode::kInternal, std::string("OpenSSL could not ").append(step));
}

absl::StatusOr<std::string> Pkcs1Pem(const EVP_PKEY* key) {
  const Encoder encoder(OSSL_ENCODER_CTX_new_for_pkey(key, OSSL_KEYMGMT_SELECT_ALL, "PEM", "type-specific", nullptr));
  unsigned char* text = nullptr;
  size_t size = 0;
  if (encoder == nullptr || OSSL_ENCODER_to_data(encoder.get(), &text, &size) != 1) {
    return Failed("write the private key");
  }
  std::string pem(reinterpret_cast<const char*>(text), size);
  OPENSSL_clear_free(text, size);
  return pem;
}

void AppendField(std::string& wire, std::string_view field) {
  for (const int shift : {24, 16, 8, 0}) wire += static_cast<char>((field.size() >> shift) & 0xff);
  wire += field;
}

// Encodes as RFC 4251's mpint: big-endian, with a leading zero byte if the first bit is set.
absl::StatusOr<std::string> MpInt(const EVP_PKEY* key, const char* parameter) {
  BIGNUM* raw = nullptr;
  if (EVP_PKEY_get_bn_param(key, parameter, &raw) != 1) return Failed("read the public key");
  const Number number(raw);
  std::vector<unsigned char> bytes(BN_num_bytes(number.get()));
  BN_bn2bin(number.get(), bytes.data());
  std::string out;
  if (!bytes.empty() && (bytes.front() & 0x80) != 0) out += '\0';
  return out.append(bytes.begin(), bytes.end());
}

class RsaKeySource : public SshKeySource {
 public:
  absl::StatusOr<SshKeyPair> MakeSshKeyPair(std::string_view) override {
    const Key key(EVP_RSA_gen(kKeyBits));
    if (key == nullptr) return Failed("make an RSA key");
    absl::StatusOr<std::string> pem = Pkcs1Pem(key.get());
    if (!pem.ok()) return pem.status();
    const absl::StatusOr<std::string> exponent = MpInt(key.get(), OSSL_PKEY_PARAM_RSA_E);
    if (!exponent.ok()) return exponent.status();
    const absl::StatusOr<std::string> modulus = MpInt(key.get(), OSSL_PKEY_PARAM_RSA_N);
    if (!modulus.ok()) return modulus.status();
    std::string wire;
    AppendField(wire, "ssh-rsa");
    AppendField(wire, *exponent);
    AppendField(wire, *modulus);
    return SshKeyPair{*std::move(pem), "ssh-rsa " + absl::Base64Escape(ToAbsl(wire)) + "\n"};
  }
};

}  // namespace

std::unique_ptr<SshKeySource> MakeRsaKeySource() { return std::make_unique<RsaKeySource>(); }

}  // namespace basalt::jobsvc
