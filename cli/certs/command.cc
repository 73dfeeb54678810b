#include "cli/certs/command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "cli/certs/folder.h"
#include "cli/commands.h"
#include "cli/view/output.h"
#include "cli/view/table.h"
#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kube/name_rules.h"

namespace basalt::cli {
namespace {

using identity::Identity;
using identity::Role;

constexpr int kMostReplicas = 128;  // The limit of replicas of a service (docs/replicas.md).

struct CertsFlags {
  std::string dir, role, name, authority_step;
  int replicas = 1, gateways = 1;
  int days = 90, authority_days = 3650;
};

Lifetimes LifetimesOf(const CertsFlags& flags) {
  return {.certificate = absl::Hours(24) * flags.days, .authority = absl::Hours(24) * flags.authority_days};
}

absl::StatusOr<int> Init(const GlobalOptions& options, const CertsFlags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "certs init"));
  const SuiteShape shape{.trust_domain = options.tls.trust_domain,
                         .cluster = options.tls.cluster,
                         .replicas = flags.replicas,
                         .gateways = flags.gateways};
  BASALT_ASSIGN_OR_RETURN(const int count, InitSuite(flags.dir, shape, absl::Now(), LifetimesOf(flags)));
  PrintLine(fmt::format("{}: {} certificates were made", flags.dir, count));
  return kExitDone;
}

absl::StatusOr<int> IssueOne(const GlobalOptions& options, const CertsFlags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "certs issue"));
  // Parsing the URI applies the servers' rules for names, so that no name leads out of the folder.
  BASALT_ASSIGN_OR_RETURN(const Identity identity,
                          identity::ParseUri(identity::UriOf({.trust_domain = options.tls.trust_domain,
                                                              .cluster = options.tls.cluster,
                                                              .role = *identity::RoleNamed(flags.role),
                                                              .replica = flags.name})));
  BASALT_RETURN_IF_ERROR(IssueInto(flags.dir, identity, absl::Now(), LifetimesOf(flags)));
  PrintLine(fmt::format("{}/{}/{}: {}", flags.dir, flags.role, flags.name, identity::UriOf(identity)));
  return kExitDone;
}

absl::StatusOr<int> Rotate(const GlobalOptions& options, const CertsFlags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "certs rotate"));
  const absl::Time now = absl::Now();
  absl::StatusOr<int> count = 0;
  if (flags.authority_step.empty()) {
    count = RotateCertificates(flags.dir, now, LifetimesOf(flags));
  } else {
    const AuthorityStep step = flags.authority_step == "believe-both"    ? AuthorityStep::kBelieveBoth
                               : flags.authority_step == "issue-by-next" ? AuthorityStep::kIssueByNext
                                                                         : AuthorityStep::kForgetOld;
    count = RotateAuthority(flags.dir, step, now, LifetimesOf(flags));
  }
  BASALT_RETURN_IF_ERROR(count.status());
  PrintLine(fmt::format("{}: the files of {} identities", flags.dir, *count));
  return kExitDone;
}

// Returns the text as a YAML block whose lines are indented by four spaces.
std::string Block(const std::string& pem) {
  std::string block = "|\n";
  for (const absl::string_view line : absl::StrSplit(pem, '\n', absl::SkipEmpty())) {
    block += fmt::format("    {}\n", ToStd(line));
  }
  return block;
}

absl::StatusOr<int> Secrets(const GlobalOptions& options, const CertsFlags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "certs secrets"));
  const std::string ns = options.ns_given ? options.ns : "basalt-system";
  if (!kube::IsDnsLabel(ns)) return Invalid(fmt::format("--namespace: '{}' is no DNS label", Excerpt(ns)));
  BASALT_ASSIGN_OR_RETURN(const std::vector<CertificateSecret> secrets,
                          MakeSecrets(flags.dir, options.tls.trust_domain, ns, absl::Now(), LifetimesOf(flags)));
  for (const CertificateSecret& secret : secrets) {
    Print(fmt::format(
        "---\napiVersion: v1\nkind: Secret\ntype: kubernetes.io/tls\n"
        "metadata: {{name: {}, namespace: {}}}\nstringData:\n"
        "  tls.crt: {}  tls.key: {}  ca.crt: {}",
        secret.name, ns, Block(secret.certificate_pem), Block(secret.key_pem), Block(secret.authorities_pem)));
  }
  return kExitDone;
}

absl::StatusOr<int> Show(const GlobalOptions& options, const CertsFlags& flags) {
  BASALT_RETURN_IF_ERROR(PrintsNoObject(options, "certs show"));
  BASALT_ASSIGN_OR_RETURN(const std::vector<ShownCertificate> all, ShowCertificates(flags.dir));
  std::vector<Row> rows;
  bool is_usable = true;
  for (const ShownCertificate& one : all) {
    const bool has_ended = one.end <= absl::Now();
    const std::string problem = !one.problem.empty() ? one.problem : has_ended ? "has ended" : "-";
    is_usable = is_usable && problem == "-";
    rows.push_back(
        {one.file, one.identity,
         one.end == absl::InfinitePast() ? "-" : absl::FormatTime(absl::RFC3339_sec, one.end, absl::UTCTimeZone()),
         problem});
  }
  Print(FormatTable({"FILE", "IDENTITY", "ENDS", "PROBLEM"}, rows));
  return is_usable ? kExitDone : kExitRefused;
}

void AddDays(CLI::App& command, CertsFlags& flags) {
  command.add_option("--days", flags.days, "How long a certificate is to be valid")
      ->capture_default_str()
      ->check(CLI::Range(1, 3650));
}

void AddAuthorityDays(CLI::App& command, CertsFlags& flags) {
  command.add_option("--authority-days", flags.authority_days, "How long an authority is to be valid")
      ->capture_default_str()
      ->check(CLI::Range(1, 36500));
}

}  // namespace

void AddCertsCommands(CLI::App& app, GlobalOptions& options, int& exit_code) {
  CLI::App& group = AddGroup(app, "certs", "Certificates of the suite in a folder, where no cert-manager issues them");
  const auto flags = std::make_shared<CertsFlags>();
  using Run = absl::StatusOr<int>(const GlobalOptions&, const CertsFlags&);
  const auto add = [&](const char* name, const char* help, Run* run) {
    CLI::App* const command =
        AddCommand(group, name, help, exit_code, [&options, flags, run] { return run(options, *flags); });
    command->add_option("DIR", flags->dir, "Folder of the authority and the certificates")->required();
    return command;
  };
  CLI::App* const init = add("init", "Make an authority, and a certificate for each process of a suite", Init);
  init->add_option("--replicas", flags->replicas, "How many replicas each service has")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostReplicas));
  init->add_option("--gateways", flags->gateways, "How many gateways there are")
      ->capture_default_str()
      ->check(CLI::Range(1, kMostReplicas));
  AddAuthorityDays(*init, *flags);
  AddDays(*init, *flags);
  CLI::App* const issue = add("issue", "Make one more certificate", IssueOne);
  std::vector<std::string> roles;
  for (const Role role : identity::kRoles) roles.emplace_back(identity::NameOf(role));
  issue->add_option("ROLE", flags->role, "The role, which decides what the identity may do (docs/security.md)")
      ->required()
      ->check(CLI::IsMember(roles));
  issue->add_option("NAME", flags->name, "Name of the replica, the person or the tool")->required();
  AddDays(*issue, *flags);
  CLI::App* const rotate =
      add("rotate", "Make new certificates for all identities in the folder, or exchange the authority", Rotate);
  rotate->add_option("--authority", flags->authority_step, "Exchange the authority, in three steps (docs/security.md)")
      ->check(CLI::IsMember({"believe-both", "issue-by-next", "forget-old"}));
  AddDays(*rotate, *flags);
  AddAuthorityDays(*rotate, *flags);
  CLI::App* const secrets =
      add("secrets", "Print Secrets for a suite in pods, with a new certificate for the gateways and for each service",
          Secrets);
  AddAuthorityDays(*secrets, *flags);
  AddDays(*secrets, *flags);
  add("show", "List certificates with their ends; exit code 1: one has ended or cannot be used", Show);
}

}  // namespace basalt::cli
