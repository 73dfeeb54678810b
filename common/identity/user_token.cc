#include "common/identity/user_token.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <utility>
#include <vector>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/certificate.h"
#include "common/identity/openssl.h"

namespace basalt::identity {
namespace {

using gateway::v1::UserClaims;
using gateway::v1::UserToken;
using openssl::Bio;
using openssl::Cert;
using openssl::Key;
using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;
using Digest = std::unique_ptr<EVP_MD_CTX, Freed<EVP_MD_CTX_free>>;

constexpr absl::Duration kClockSkew = absl::Minutes(1);

absl::Status Unknown(std::string_view why) { return MakeStatus(absl::StatusCode::kUnauthenticated, why); }

// Returns the certificates of the text, up to the first one that cannot be read.
std::vector<Cert> CertificatesOf(std::string_view pem) {
  const Bio bio = openssl::Open(pem);
  std::vector<Cert> certs;
  while (Cert cert{PEM_read_bio_X509(bio.get(), nullptr, openssl::NoPassword, nullptr)}) {
    certs.push_back(std::move(cert));
  }
  ERR_clear_error();
  return certs;
}

std::string DerOf(X509& cert) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(&cert, &bytes);
  if (size <= 0) return {};
  std::string der(reinterpret_cast<char*>(bytes), static_cast<size_t>(size));
  OPENSSL_free(bytes);
  return der;
}

Cert FromDer(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  Cert cert(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
  ERR_clear_error();
  return cert;
}

// Null for keys of the Edwards curves, which sign the text itself.
const EVP_MD* DigestOf(const EVP_PKEY& key) {
  const int type = EVP_PKEY_get_base_id(&key);
  return type == EVP_PKEY_ED25519 || type == EVP_PKEY_ED448 ? nullptr : EVP_sha256();
}

const unsigned char* BytesOf(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

// Returns the text that the key signs. The key also signs handshakes of TLS, over texts of which a client chooses a
// part. No handshake contains the prefix of this text (RFC 8446, 4.4.3, separates its own texts in the same way).
std::string SignedText(std::string_view claims) {
  std::string text(64, ' ');
  text += "basalt user token, version 1";
  text += '\0';
  text += claims;
  return text;
}

absl::StatusOr<std::string> Sign(std::string_view text, EVP_PKEY& key) {
  const Digest digest(EVP_MD_CTX_new());
  size_t size = 0;
  std::string signature;
  const auto made = [&] {
    if (EVP_DigestSignInit(digest.get(), nullptr, DigestOf(key), nullptr, &key) != 1) return false;
    if (EVP_DigestSign(digest.get(), nullptr, &size, BytesOf(text), text.size()) != 1) return false;
    signature.resize(size);
    auto* const to = reinterpret_cast<unsigned char*>(signature.data());
    return EVP_DigestSign(digest.get(), to, &size, BytesOf(text), text.size()) == 1;
  };
  const bool is_made = digest != nullptr && made();
  ERR_clear_error();
  if (!is_made) return MakeStatus(absl::StatusCode::kInternal, "OpenSSL signs no token by the key of this process");
  signature.resize(size);
  return signature;
}

bool IsSignedBy(EVP_PKEY& key, std::string_view text, std::string_view signature) {
  const Digest digest(EVP_MD_CTX_new());
  const bool is_signed =
      digest != nullptr && EVP_DigestVerifyInit(digest.get(), nullptr, DigestOf(key), nullptr, &key) == 1 &&
      EVP_DigestVerify(digest.get(), BytesOf(signature), signature.size(), BytesOf(text), text.size()) == 1;
  ERR_clear_error();
  return is_signed;
}

absl::Time TimeOf(const google::protobuf::Timestamp& time) {
  return absl::FromUnixSeconds(time.seconds()) + absl::Nanoseconds(time.nanos());
}

class AuthoritiesImpl final : public Authorities {
 public:
  explicit AuthoritiesImpl(Store store) : store_(std::move(store)) {}

  absl::StatusOr<UserClaims> VerifyUserToken(std::string_view token, const IdentityRules& rules, absl::Time now,
                                             std::vector<std::string>* signer) const override {
    UserToken read;
    if (token.size() > kMostUserTokenBytes || !read.ParseFromArray(token.data(), static_cast<int>(token.size())) ||
        read.certificates().empty()) {
      return Unknown("the token of the user cannot be read");
    }
    std::vector<Cert> chain;
    for (const std::string& der : read.certificates()) {
      chain.push_back(FromDer(der));
      if (chain.back() == nullptr) return Unknown("the token of the user cannot be read: a certificate in it");
    }
    BASALT_RETURN_IF_ERROR(VerifyChain(chain, now, "the token of the user"));
    BASALT_ASSIGN_OR_RETURN(const Identity gateway, rules.IdentityOf(openssl::UrisOf(*chain.front())));
    if (gateway.role != Role::kGateway) {
      return Unknown(
          fmt::format("the token of the user is signed by the role {}, and not by a gateway", NameOf(gateway.role)));
    }
    EVP_PKEY* const key = X509_get0_pubkey(chain.front().get());
    if (key == nullptr || !IsSignedBy(*key, SignedText(read.claims()), read.signature())) {
      return Unknown("the token of the user has a signature that is not that of its certificate");
    }
    UserClaims claims;
    if (!claims.ParseFromString(read.claims()) || claims.user().empty()) {
      return Unknown("the token of the user names no user");
    }
    if (claims.cluster() != rules.cluster()) {
      return Unknown(fmt::format("the token of the user is one of cluster '{}', and this is cluster '{}'",
                                 Excerpt(claims.cluster()), rules.cluster()));
    }
    if (TimeOf(claims.expire_time()) - TimeOf(claims.issue_time()) > kLongestUserToken) {
      return Unknown("the token of the user counts for too long");
    }
    if (now >= TimeOf(claims.expire_time())) return Unknown("the time of the user's token is over; log in again");
    if (now + kClockSkew < TimeOf(claims.issue_time())) {
      return Unknown("the user's token is from the future: a clock is wrong");
    }
    if (signer != nullptr) *signer = openssl::UrisOf(*chain.front());
    return claims;
  }

  absl::Status VerifyClient(std::string_view chain_pem, absl::Time now) const override {
    const std::vector<Cert> chain = CertificatesOf(chain_pem);
    if (chain.empty()) return Unknown("the certificate of the client cannot be read");
    return VerifyChain(chain, now, "the certificate of the client");
  }

 private:
  absl::Status VerifyChain(const std::vector<Cert>& chain, absl::Time now, std::string_view whose) const {
    const StoreContext context(X509_STORE_CTX_new());
    STACK_OF(X509)* const others = sk_X509_new_null();
    for (size_t i = 1; i < chain.size(); ++i) sk_X509_push(others, chain[i].get());
    bool is_believed = false;
    std::string why = "OpenSSL has no memory";
    if (context != nullptr && X509_STORE_CTX_init(context.get(), store_.get(), chain.front().get(), others) == 1) {
      X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_CLIENT);
      X509_STORE_CTX_set_time(context.get(), 0, absl::ToTimeT(now));
      is_believed = X509_verify_cert(context.get()) == 1;
      why = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
    }
    sk_X509_free(others);  // Frees the stack alone, since the chain owns the certificates.
    ERR_clear_error();
    return is_believed ? absl::OkStatus()
                       : Unknown(fmt::format("{} is not of an authority of this suite: {}", whose, why));
  }

  const Store store_;
};

}  // namespace

absl::StatusOr<std::string> SignUserToken(const UserClaims& claims, const KeyPair& signer) {
  const std::vector<Cert> chain = CertificatesOf(signer.certificate_pem);
  const Key key = openssl::PrivateKey(signer.key_pem);
  ERR_clear_error();
  if (chain.empty()) return Invalid("no certificate in PEM can be read");
  if (key == nullptr) return Invalid("no private key in PEM without a password can be read");
  BASALT_RETURN_IF_ERROR(CheckKey(signer.certificate_pem, signer.key_pem));
  UserToken token;
  token.set_claims(claims.SerializeAsString());
  BASALT_ASSIGN_OR_RETURN(*token.mutable_signature(), Sign(SignedText(token.claims()), *key));
  for (const Cert& cert : chain) token.add_certificates(DerOf(*cert));
  std::string text = token.SerializeAsString();
  if (text.size() <= kMostUserTokenBytes) return text;
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    fmt::format("the token of user '{}' with {} groups has {} bytes, and may have {}",
                                Excerpt(claims.user()), claims.groups_size(), text.size(), kMostUserTokenBytes));
}

absl::StatusOr<std::shared_ptr<const Authorities>> Authorities::FromPem(std::string_view pem) {
  BASALT_RETURN_IF_ERROR(CountCertificates(pem).status());
  Store store(X509_STORE_new());
  if (store == nullptr) return MakeStatus(absl::StatusCode::kInternal, "OpenSSL has no memory");
  for (const Cert& cert : CertificatesOf(pem)) X509_STORE_add_cert(store.get(), cert.get());
  // An authority may be an intermediate one, as for gRPC and Kubernetes.
  X509_STORE_set_flags(store.get(), X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_TRUSTED_FIRST);
  ERR_clear_error();
  return std::make_shared<const AuthoritiesImpl>(std::move(store));
}

std::string DigestOf(std::string_view text) {
  std::string digest(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), reinterpret_cast<unsigned char*>(digest.data()), &size, EVP_sha256(), nullptr);
  digest.resize(size);
  return digest;
}

std::string DigestOfUser(std::string_view token) {
  UserToken read;
  UserClaims claims;
  // A token that cannot be read needs no error here: its verification refuses it.
  if (!read.ParseFromArray(token.data(), static_cast<int>(token.size())) || !claims.ParseFromString(read.claims())) {
    claims.Clear();
  }
  claims.clear_issue_time();
  claims.clear_expire_time();
  return DigestOf(claims.SerializeAsString());
}

std::string UriOfUser(std::string_view user) {
  std::string uri = "user:";
  for (const char c : user) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                          std::string_view("-._~@:").find(c) != std::string_view::npos;
    if (is_plain) {
      uri += c;
    } else {
      uri += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return uri;
}

}  // namespace basalt::identity
