#include "cli/certs/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/identity/certificate.h"
#include "common/identity/issuer.h"

namespace basalt::cli {
namespace {

namespace fs = std::filesystem;
using identity::Identity;
using identity::KeyPair;
using identity::Role;

// The clocks of two machines are assumed to differ by less than this.
constexpr absl::Duration kSkew = absl::Minutes(5);

// Certificates state times in whole seconds.
absl::Time Whole(absl::Time time) { return absl::FromUnixSeconds(absl::ToUnixSeconds(time)); }

absl::Status Failed(const fs::path& path, const std::error_code& error) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, fmt::format("{}: {}", path.string(), error.message()));
}

// Writes a file. Only the user can read a key.
absl::Status WriteFile(const fs::path& path, const std::string& text, bool is_key) {
  const mode_t before = umask(is_key ? 077 : 022);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  umask(before);
  if (file.fail()) return Failed(path, std::error_code(errno, std::generic_category()));
  return absl::OkStatus();
}

fs::path AuthorityFolder(const std::string& dir) { return fs::path(dir) / "authority"; }
fs::path NextFolder(const std::string& dir) { return AuthorityFolder(dir) / "next"; }
fs::path OldFolder(const std::string& dir) { return AuthorityFolder(dir) / "old"; }

absl::StatusOr<KeyPair> ReadPair(const fs::path& folder) {
  BASALT_ASSIGN_OR_RETURN(std::string certificate, identity::ReadSmallFile(folder / "ca.crt"));
  BASALT_ASSIGN_OR_RETURN(std::string key, identity::ReadSmallFile(folder / "ca.key"));
  return KeyPair{.certificate_pem = std::move(certificate), .key_pem = std::move(key)};
}

absl::Status WritePair(const fs::path& folder, const KeyPair& pair) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Failed(folder, error);
  BASALT_RETURN_IF_ERROR(WriteFile(folder / "ca.key", pair.key_pem, /*is_key=*/true));
  return WriteFile(folder / "ca.crt", pair.certificate_pem, /*is_key=*/false);
}

// Replaces the files of one identity as a whole. `authorities` has the authorities that the process is to trust.
absl::Status PutFiles(const std::string& dir, const identity::Identity& identity, const KeyPair& pair,
                      const std::string& authorities) {
  const fs::path role = fs::path(dir) / std::string(identity::NameOf(identity.role));
  const fs::path link = role / identity.replica;
  std::error_code error;
  fs::create_directories(role, error);
  if (error) return Failed(role, error);
  std::string pattern = (role / fmt::format(".{}.XXXXXX", identity.replica)).string();
  if (mkdtemp(pattern.data()) == nullptr) return Failed(role, std::error_code(errno, std::generic_category()));
  const fs::path made = pattern;
  BASALT_RETURN_IF_ERROR(WriteFile(made / "tls.key", pair.key_pem, /*is_key=*/true));
  BASALT_RETURN_IF_ERROR(WriteFile(made / "tls.crt", pair.certificate_pem, /*is_key=*/false));
  BASALT_RETURN_IF_ERROR(WriteFile(made / "ca.crt", authorities, /*is_key=*/false));
  const fs::path before = fs::is_symlink(link, error) ? role / fs::read_symlink(link, error) : fs::path();
  const fs::path next = pattern + ".link";
  fs::create_directory_symlink(made.filename(), next, error);
  if (!error) fs::rename(next, link, error);
  if (error) return Failed(link, error);
  if (!before.empty()) fs::remove_all(before, error);
  return absl::OkStatus();
}

bool HasUsable(const std::string& dir, const Identity& identity, absl::Time now) {
  const fs::path file = fs::path(dir) / std::string(identity::NameOf(identity.role)) / identity.replica / "tls.crt";
  const absl::StatusOr<std::string> pem = identity::ReadSmallFile(file);
  if (!pem.ok()) return false;
  const absl::StatusOr<identity::CertificateFacts> facts = identity::ReadCertificate(*pem);
  return facts.ok() && facts->not_after > now && facts->uris == std::vector{identity::UriOf(identity)};
}

struct Known {
  identity::Identity identity;
  fs::path folder;
};

// Returns the identities for which the folder has certificates, ordered by role and name.
absl::StatusOr<std::vector<Known>> IdentitiesIn(const std::string& dir) {
  std::vector<Known> known;
  for (const identity::Role role : identity::kRoles) {
    const fs::path folder = fs::path(dir) / std::string(identity::NameOf(role));
    std::error_code error;
    std::vector<fs::path> links;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
      // A killed program may have left files of PutFiles, whose names begin with a dot.
      if (!entry.path().filename().string().starts_with(".") && entry.is_symlink(error)) links.push_back(entry.path());
    }
    std::sort(links.begin(), links.end());
    for (const fs::path& link : links) {
      BASALT_ASSIGN_OR_RETURN(const std::string pem, identity::ReadSmallFile(link / "tls.crt"));
      const std::string file = (link / "tls.crt").string();
      const absl::StatusOr<identity::CertificateFacts> facts = identity::ReadCertificate(pem);
      if (!facts.ok()) return Invalid(fmt::format("{}: {}", file, ToStd(facts.status().message())));
      if (facts->uris.size() != 1) return Invalid(fmt::format("{}: has no single identity", file));
      BASALT_ASSIGN_OR_RETURN(identity::Identity identity, identity::ParseUri(facts->uris[0]));
      known.push_back({std::move(identity), link});
    }
  }
  return known;
}

identity::Validity ValidityOf(absl::Time now, const Lifetimes& lifetimes) {
  return {.from = Whole(now - kSkew), .until = Whole(now + lifetimes.certificate)};
}

absl::StatusOr<KeyPair> IssueBy(const KeyPair& authority, const identity::Identity& identity, absl::Time now,
                                const Lifetimes& lifetimes) {
  return identity::Issue(authority, identity, ValidityOf(now, lifetimes));
}

absl::StatusOr<KeyPair> NewAuthority(absl::Time now, const Lifetimes& lifetimes) {
  const std::string name = fmt::format("basalt authority {}", absl::FormatTime("%Y-%m-%d", now, absl::UTCTimeZone()));
  return identity::MakeAuthority(name, {.from = Whole(now - kSkew), .until = Whole(now + lifetimes.authority)});
}

// Makes the authority if the folder has none.
absl::Status NeedAuthority(const std::string& dir, absl::Time now, const Lifetimes& lifetimes) {
  if (lifetimes.certificate > lifetimes.authority) {
    return Invalid("a certificate cannot be valid longer than its authority");
  }
  std::error_code error;
  if (fs::exists(AuthorityFolder(dir) / "ca.crt", error)) return absl::OkStatus();
  BASALT_ASSIGN_OR_RETURN(const KeyPair authority, NewAuthority(now, lifetimes));
  return WritePair(AuthorityFolder(dir), authority);
}

// Returns the authorities that processes are to trust: the present one, and during an exchange also the other one.
absl::StatusOr<std::string> Believed(const std::string& dir) {
  BASALT_ASSIGN_OR_RETURN(std::string believed, identity::ReadSmallFile(AuthorityFolder(dir) / "ca.crt"));
  for (const fs::path& other : {NextFolder(dir), OldFolder(dir)}) {
    std::error_code error;
    if (!fs::exists(other / "ca.crt", error)) continue;
    BASALT_ASSIGN_OR_RETURN(const std::string text, identity::ReadSmallFile(other / "ca.crt"));
    believed += text;
  }
  return believed;
}

// Writes new files for all known identities, with certificates of `authority`. If `authority` is null, the identities
// keep their certificates.
absl::StatusOr<int> PutAll(const std::string& dir, const KeyPair* authority, absl::Time now,
                           const Lifetimes& lifetimes) {
  BASALT_ASSIGN_OR_RETURN(const std::string authorities, Believed(dir));
  BASALT_ASSIGN_OR_RETURN(const std::vector<Known> all, IdentitiesIn(dir));
  for (const Known& one : all) {
    KeyPair pair;
    if (authority != nullptr) {
      BASALT_ASSIGN_OR_RETURN(pair, IssueBy(*authority, one.identity, now, lifetimes));
    } else {
      BASALT_ASSIGN_OR_RETURN(pair.certificate_pem, identity::ReadSmallFile(one.folder / "tls.crt"));
      BASALT_ASSIGN_OR_RETURN(pair.key_pem, identity::ReadSmallFile(one.folder / "tls.key"));
    }
    BASALT_RETURN_IF_ERROR(PutFiles(dir, one.identity, pair, authorities));
  }
  return static_cast<int>(all.size());
}

}  // namespace

absl::StatusOr<int> InitSuite(const std::string& dir, const SuiteShape& shape, absl::Time now,
                              const Lifetimes& lifetimes) {
  std::vector<Identity> identities;
  const auto add = [&](Role role, std::string name) {
    identities.push_back(
        {.trust_domain = shape.trust_domain, .cluster = shape.cluster, .role = role, .replica = std::move(name)});
  };
  for (const Role role : {Role::kGateway, Role::kJobsvc, Role::kPgsvc, Role::kQueuesvc}) {
    const int count = role == Role::kGateway ? shape.gateways : shape.replicas;
    for (int i = 0; i < count; ++i) add(role, fmt::format("{}-{}", identity::NameOf(role), i));
  }
  add(Role::kOperator, "operator");
  add(Role::kReader, "reader");
  for (const Identity& identity : identities) {
    BASALT_RETURN_IF_ERROR(identity::ParseUri(identity::UriOf(identity)).status());
  }
  BASALT_RETURN_IF_ERROR(NeedAuthority(dir, now, lifetimes));
  int issued = 0;
  for (const Identity& identity : identities) {
    if (HasUsable(dir, identity, now)) continue;
    BASALT_RETURN_IF_ERROR(IssueInto(dir, identity, now, lifetimes));
    ++issued;
  }
  return issued;
}

absl::StatusOr<std::vector<CertificateSecret>> MakeSecrets(const std::string& dir, const std::string& trust_domain,
                                                           const std::string& ns, absl::Time now,
                                                           const Lifetimes& lifetimes) {
  BASALT_RETURN_IF_ERROR(NeedAuthority(dir, now, lifetimes));
  BASALT_ASSIGN_OR_RETURN(const KeyPair authority, ReadPair(AuthorityFolder(dir)));
  BASALT_ASSIGN_OR_RETURN(const std::string believed, Believed(dir));
  std::vector<CertificateSecret> secrets;
  for (const Role role : identity::kRoles) {
    if (role == Role::kOperator || role == Role::kReader) continue;  // People's keys do not belong in the cluster.
    const std::string name(identity::NameOf(role));
    const std::string uri = fmt::format("spiffe://{}/ns/{}/sa/basalt-{}", trust_domain, ns, name);
    BASALT_ASSIGN_OR_RETURN(const KeyPair pair,
                            identity::IssueShared(authority, role, uri, ValidityOf(now, lifetimes)));
    secrets.push_back({.name = fmt::format("basalt-{}-tls", name),
                       .certificate_pem = pair.certificate_pem,
                       .key_pem = pair.key_pem,
                       .authorities_pem = believed});
  }
  return secrets;
}

absl::Status IssueInto(const std::string& dir, const identity::Identity& identity, absl::Time now,
                       const Lifetimes& lifetimes) {
  BASALT_ASSIGN_OR_RETURN(const KeyPair authority, ReadPair(AuthorityFolder(dir)));
  BASALT_ASSIGN_OR_RETURN(const std::string believed, Believed(dir));
  BASALT_ASSIGN_OR_RETURN(const KeyPair pair, IssueBy(authority, identity, now, lifetimes));
  return PutFiles(dir, identity, pair, believed);
}

absl::StatusOr<int> RotateCertificates(const std::string& dir, absl::Time now, const Lifetimes& lifetimes) {
  BASALT_ASSIGN_OR_RETURN(const KeyPair authority, ReadPair(AuthorityFolder(dir)));
  return PutAll(dir, &authority, now, lifetimes);
}

absl::StatusOr<int> RotateAuthority(const std::string& dir, AuthorityStep step, absl::Time now,
                                    const Lifetimes& lifetimes) {
  std::error_code error;
  const bool has_next = fs::exists(NextFolder(dir) / "ca.crt", error);
  const bool has_old = fs::exists(OldFolder(dir) / "ca.crt", error);
  const auto refuse = [&dir](std::string_view why) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, fmt::format("{}: {}", dir, why));
  };
  switch (step) {
    case AuthorityStep::kBelieveBoth: {
      if (has_old) return refuse("an authority is being exchanged already, and the old one not forgotten yet");
      if (!has_next) {
        BASALT_ASSIGN_OR_RETURN(const KeyPair next, NewAuthority(now, lifetimes));
        BASALT_RETURN_IF_ERROR(WritePair(NextFolder(dir), next));
      }
      return PutAll(dir, nullptr, now, lifetimes);
    }
    case AuthorityStep::kIssueByNext: {
      if (!has_next && !has_old) return refuse("no authority is to follow; begin with the first step");
      if (has_next) {
        BASALT_ASSIGN_OR_RETURN(const KeyPair old, ReadPair(AuthorityFolder(dir)));
        BASALT_ASSIGN_OR_RETURN(const KeyPair next, ReadPair(NextFolder(dir)));
        // If a program was killed at this point, the old authority is already in its folder.
        if (!has_old) BASALT_RETURN_IF_ERROR(WritePair(OldFolder(dir), old));
        BASALT_RETURN_IF_ERROR(WritePair(AuthorityFolder(dir), next));
        fs::remove_all(NextFolder(dir), error);
        if (error) return Failed(NextFolder(dir), error);
      }
      return RotateCertificates(dir, now, lifetimes);
    }
    case AuthorityStep::kForgetOld: {
      if (has_next)
        return refuse("the authority that is to follow has issued no certificate yet; take the second step");
      fs::remove_all(OldFolder(dir), error);
      if (error) return Failed(OldFolder(dir), error);
      return PutAll(dir, nullptr, now, lifetimes);
    }
  }
  return refuse("no such step");
}

namespace {

// Returns the certificates below a folder. The link of an identity is followed; the folders behind the links, whose
// names begin with a dot, are skipped.
absl::StatusOr<std::vector<fs::path>> CertificatesBelow(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code failed;
  for (fs::recursive_directory_iterator it(folder, failed), end; it != end; it.increment(failed)) {
    std::error_code ignored;
    const std::string name = it->path().filename().string();
    if (name.starts_with(".")) {
      it.disable_recursion_pending();
    } else if (it->is_symlink(ignored) && fs::exists(it->path() / "tls.crt", ignored)) {
      files.push_back(it->path() / "tls.crt");
    } else if (name == "tls.crt" || (name == "ca.crt" && fs::exists(it->path().parent_path() / "ca.key", ignored))) {
      files.push_back(it->path());
    }
  }
  if (failed) return Failed(folder, failed);
  std::sort(files.begin(), files.end());
  return files;
}

ShownCertificate Show(const fs::path& file) {
  ShownCertificate shown{.file = file.string(), .identity = "-", .end = absl::InfinitePast(), .problem = ""};
  const auto cannot = [&shown](const absl::Status& why) {
    shown.problem = std::string(ToStd(why.message()));
    return shown;
  };
  const absl::StatusOr<std::string> pem = identity::ReadSmallFile(file);
  if (!pem.ok()) return cannot(pem.status());
  const absl::StatusOr<identity::CertificateFacts> facts = identity::ReadCertificate(*pem);
  if (!facts.ok()) return cannot(facts.status());
  shown.identity = facts->uris.empty() ? facts->subject : fmt::format("{}", fmt::join(facts->uris, ", "));
  shown.end = facts->not_after;
  fs::path key = file;
  key.replace_extension(".key");
  std::error_code ignored;
  if (!fs::exists(key, ignored)) return shown;
  const absl::StatusOr<std::string> text = identity::ReadSmallFile(key);
  return cannot(text.ok() ? identity::CheckKey(*pem, *text) : text.status());
}

}  // namespace

absl::StatusOr<std::vector<ShownCertificate>> ShowCertificates(const std::string& path) {
  std::vector<fs::path> files = {path};
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    BASALT_ASSIGN_OR_RETURN(files, CertificatesBelow(path));
  }
  std::vector<ShownCertificate> shown;
  for (const fs::path& file : files) shown.push_back(Show(file));
  return shown;
}

}  // namespace basalt::cli
