#include "cli/verbs.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <type_traits>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "common/base/status.h"

namespace basalt::cli {
namespace {

void AddSwitch(CLI::App& command, const Switch& one, Flags& flags) {
  const auto add = [&](auto member) {
    if constexpr (std::is_same_v<decltype(member), bool Flags::*>) {
      return command.add_flag(one.name, flags.*member, one.help);
    } else {
      return command.add_option(one.name, flags.*member, one.help);
    }
  };
  CLI::Option& option = *std::visit(add, one.value);
  const OptionRules& rules = one.rules;
  option.required(rules.required);
  if (rules.one_value) option.allow_extra_args(false);
  if (rules.delimiter != '\0') option.delimiter(rules.delimiter);
  if (!rules.type.empty()) option.type_name(rules.type);
  if (!rules.needs.empty()) option.needs(rules.needs);
  if (!rules.excludes.empty()) option.excludes(rules.excludes);
  for (const CLI::Validator& check : rules.checks) option.check(check);
}

std::string NamespaceOption(const Kind& kind, const GlobalOptions& options) {
  return kind.has_namespace ? fmt::format(" -n {}", options.ns) : "";
}

}  // namespace

podgroup::v1::Profile Flags::profile() const {
  podgroup::v1::Profile profile = podgroup::v1::PROFILE_UNSPECIFIED;
  const bool is_known = podgroup::v1::Profile_Parse("PROFILE_" + absl::AsciiStrToUpper(profile_name), &profile);
  return is_known ? profile : podgroup::v1::PROFILE_UNSPECIFIED;
}

void AddVerbs(CLI::App& group, const GlobalOptions& options, int& exit_code, const std::vector<Verb>& verbs) {
  const auto flags = std::make_shared<Flags>();
  for (const Verb& verb : verbs) {
    CLI::App& command = *AddCommand(group, verb.name, verb.help, exit_code,
                                    [&options, flags, run = verb.run] { return run(options, *flags); });
    for (const Switch& one : verb.switches) AddSwitch(command, one, *flags);
  }
}

std::string Kind::Named(const GlobalOptions& options, const std::string& name) const {
  return has_namespace ? fmt::format("{} {}/{}", noun, options.ns, name) : fmt::format("{} {}", noun, name);
}

absl::Status Kind::OrList(const absl::Status& status, const GlobalOptions& options) const {
  if (group.empty()) return status;
  const std::string place = NamespaceOption(*this, options);
  return OrLookAt(status, fmt::format("basaltctl {} list{} tells those that there are", group, place));
}

absl::Status Kind::OrHistory(const absl::Status& status, const GlobalOptions& options, const std::string& name) const {
  const std::string place = NamespaceOption(*this, options);
  return OrLookAt(status, fmt::format("basaltctl {} history {}{} tells what became of it", group, name, place));
}

Switch Kind::Name() const { return {"name", &Flags::name, fmt::format("Name of the {}", noun), {.required = true}}; }

Switch Kind::OptionalName() const { return {"name", &Flags::name, fmt::format("Name of the {}", noun)}; }

Switch Kind::Uid() const { return {"--uid", &Flags::uid, fmt::format("Only if the {} has this UID", noun)}; }

Switch Kind::OlderUid() const {
  return {"--uid", &Flags::uid, fmt::format("UID, for an older {} of the same name", noun)};
}

Switch CommandTimeout() {
  return {"--timeout", &Flags::timeout, "How long to wait at most, like 90s or 10m; else 5m", {.needs = "--wait"}};
}

int Show(const GlobalOptions& options, const google::protobuf::Message& message,
         absl::FunctionRef<std::string()> format) {
  Print(options.output.empty() ? format() : FormatMessage(message, options.output));
  return kExitDone;
}

int ShowList(const GlobalOptions& options, const google::protobuf::Message& all, bool is_empty, std::string_view nouns,
             absl::FunctionRef<std::string()> format) {
  if (!options.output.empty()) {
    Print(FormatList(all, options.output));
  } else if (is_empty) {
    const std::string place =
        options.all_namespaces ? "" : fmt::format(" in namespace {}; -A looks in all", options.ns);
    std::fputs(fmt::format("No {} found{}\n", nouns, place).c_str(), stderr);
  } else {
    Print(format());
  }
  return kExitDone;
}

absl::Status AwaitCommand(const std::string& command, const std::string& timeout, std::string_view advice,
                          absl::FunctionRef<absl::StatusOr<bool>()> look) {
  const std::string given = timeout.empty() ? "5m" : timeout;
  BASALT_ASSIGN_OR_RETURN(const absl::Duration patience, TimeoutOf(given));
  const absl::Time deadline = absl::Now() + patience;
  while (true) {
    BASALT_ASSIGN_OR_RETURN(const bool has_ended, look());
    if (has_ended) return absl::OkStatus();
    if (absl::Now() >= deadline) {
      return MakeStatus(absl::StatusCode::kDeadlineExceeded,
                        fmt::format("command {} was not seen to be carried out within {}{}", command, given, advice));
    }
    absl::SleepFor(std::clamp(deadline - absl::Now(), absl::ZeroDuration(), absl::Milliseconds(200)));
  }
}

}  // namespace basalt::cli
