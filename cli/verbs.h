#pragma once

// The commands of jobs, pod groups and queues as tables: a new command is a row, and a new option an entry of its row.
// Functions that these commands share make the request about the object that the user names, and print the answer.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "basalt/podgroup/v1/grouping.pb.h"
#include "cli/commands.h"
#include "cli/connect/client.h"
#include "cli/view/output.h"
#include "common/base/random.h"
#include "common/base/status_macros.h"
#include "google/protobuf/message.h"

namespace basalt::cli {

// The values of all options and arguments.
struct Flags {
  std::string name, uid, queue, task, pod, selector, file, timeout, parent;
  std::string profile_name;  // Empty for any profile.
  std::vector<std::string> files, phases;
  std::vector<std::string> replicas, task_min_available;  // TASK=N
  std::vector<std::string> capability, deserved;          // RESOURCE=AMOUNT
  int partition = -1, index = -1;
  std::optional<int> min_available, weight;
  bool dry_run = false, force = false, volcano = false, wait = false, watch = false;

  podgroup::v1::Profile profile() const;
};

// CLI11 checks these rules, and states them in the help.
struct OptionRules {
  bool required = false;
  bool one_value = false;  // The option takes one value each time that it is given.
  char delimiter = '\0';   // Stands between values that are given as one word.
  std::string type = {};   // The kind of value, for the help and the completion. Empty for CLI11's name.
  // Options that stand before in the row: without `needs`, or with `excludes`, this option is refused.
  std::string needs = {}, excludes = {};
  std::vector<CLI::Validator> checks = {};
};

struct Switch {
  using Value = std::variant<bool Flags::*, int Flags::*, std::string Flags::*, std::vector<std::string> Flags::*,
                             std::optional<int> Flags::*>;
  Switch(std::string words, Value member, std::string text, OptionRules own_rules = {})
      : name(std::move(words)), value(member), help(std::move(text)), rules(std::move(own_rules)) {}
  std::string name;  // "-w,--watch". The name of an argument has no dash.
  Value value;
  std::string help;
  OptionRules rules;
};

struct Verb {
  using Run = std::function<absl::StatusOr<int>(const GlobalOptions&, const Flags&)>;
  Verb(std::string word, std::string text, Run function, std::vector<Switch> options = {})
      : name(std::move(word)), help(std::move(text)), run(std::move(function)), switches(std::move(options)) {}
  std::string name;
  std::string help;
  Run run;
  std::vector<Switch> switches;
};

// Adds the commands below `group`. `options` and `exit_code` outlive every run of a command.
void AddVerbs(CLI::App& group, const GlobalOptions& options, int& exit_code, const std::vector<Verb>& verbs);

// A kind of object that has commands.
struct Kind {
  std::string_view group;  // "podgroup". Empty if the kind has no list: errors get no advice.
  std::string_view noun;   // "pod group"
  bool has_namespace = true;

  // Returns the object's name for messages: "pod group default/a", "queue a".
  std::string Named(const GlobalOptions& options, const std::string& name) const;
  // Returns the status. The message of NOT_FOUND gets the advice to look at the list, or at the history.
  absl::Status OrList(const absl::Status& status, const GlobalOptions& options) const;
  absl::Status OrHistory(const absl::Status& status, const GlobalOptions& options, const std::string& name) const;

  // Options that are in several rows.
  Switch Name() const;
  Switch OptionalName() const;
  Switch Uid() const;
  Switch OlderUid() const;
};

inline constexpr Kind kJob{.group = "job", .noun = "job"};
inline constexpr Kind kPodGroup{.group = "podgroup", .noun = "pod group"};
inline constexpr Kind kPod{.group = "", .noun = "pod"};
inline constexpr Kind kQueue{.group = "queue", .noun = "queue", .has_namespace = false};

// Returns the option --timeout of a command that --wait waits for.
Switch CommandTimeout();

// Returns a request about the object that the user names. A flag for which the request has no field is left out.
template <typename Request>
Request About(const GlobalOptions& options, const Flags& flags) {
  Request request;
  request.set_name(flags.name);
  if constexpr (requires { request.set_namespace_(options.ns); }) request.set_namespace_(options.ns);
  if constexpr (requires { request.set_uid(flags.uid); }) request.set_uid(flags.uid);
  if constexpr (requires { request.set_profile(flags.profile()); }) request.set_profile(flags.profile());
  return request;
}

// Prints the answer as -o says, or as `format` makes it for people.
int Show(const GlobalOptions& options, const google::protobuf::Message& message,
         absl::FunctionRef<std::string()> format);
// Prints the objects of the namespaces that the user names, called `nouns`.
int ShowList(const GlobalOptions& options, const google::protobuf::Message& all, bool is_empty, std::string_view nouns,
             absl::FunctionRef<std::string()> format);

// Returns the function of a command that asks about the named object and prints the answer.
template <typename ServiceClient, typename Request, typename Response>
Verb::Run Asks(const Kind& kind, Method<typename ServiceClient::Stub, Request, Response> method,
               std::type_identity_t<std::function<std::string(const Response&)>> format) {
  return [=](const GlobalOptions& options, const Flags& flags) -> absl::StatusOr<int> {
    ServiceClient client(options.gateway);
    const absl::StatusOr<Response> answer = client.Ask(method, About<Request>(options, flags));
    BASALT_RETURN_IF_ERROR(kind.OrList(answer.status(), options));
    return Show(options, *answer, [&] { return format(*answer); });
  };
}

// Returns the function of a command that deletes the named object, unless `check` refuses.
template <typename ServiceClient, typename Request, typename Response>
Verb::Run Deletes(const Kind& kind, Method<typename ServiceClient::Stub, Request, Response> method,
                  absl::Status (*check)(ServiceClient&, const GlobalOptions&, const Flags&) = nullptr) {
  return [=](const GlobalOptions& options, const Flags& flags) -> absl::StatusOr<int> {
    BASALT_RETURN_IF_ERROR(PrintsNoObject(options, fmt::format("{} delete", kind.group)));
    ServiceClient client(options.gateway);
    if (check != nullptr) BASALT_RETURN_IF_ERROR(kind.OrList(check(client, options, flags), options));
    const absl::Status deleted = client.Order(method, About<Request>(options, flags)).status();
    BASALT_RETURN_IF_ERROR(kind.OrList(deleted, options));
    PrintLine(fmt::format("{} deleted", kind.Named(options, flags.name)));
    return kExitDone;
  };
}

// Sends the Command of the request about the named object, and returns its name. Prints the name, or with -o the answer
// unless the command is waited for. `advice` stands behind NOT_FOUND instead of the advice to look at the list.
template <typename ServiceClient, typename Request, typename Response>
absl::StatusOr<std::string> SendCommand(const Kind& kind, ServiceClient& client,
                                        Method<typename ServiceClient::Stub, Request, Response> method, Request request,
                                        const GlobalOptions& options, const Flags& flags,
                                        std::string_view advice = {}) {
  BASALT_RETURN_IF_ERROR(TimeoutOf(flags.timeout).status());
  SystemRandom random;
  request.set_request_id(MakeUuid(random));
  const absl::StatusOr<Response> response = client.Order(method, request);
  const absl::Status& sent = response.status();
  BASALT_RETURN_IF_ERROR(advice.empty() ? kind.OrList(sent, options) : OrLookAt(sent, advice));
  if (options.output.empty()) {
    PrintLine(fmt::format("{}: {} asked for (command {})", kind.Named(options, flags.name), request.action(),
                          response->command()));
  } else if (!flags.wait) {
    Print(FormatMessage(*response, options.output));
  }
  return response->command();
}

// Calls `look` again and again until it returns true: it has found how the Command ended. DEADLINE_EXCEEDED, with
// `advice` behind the message, after `timeout`, the value of --timeout; without a value after five minutes.
absl::Status AwaitCommand(const std::string& command, const std::string& timeout, std::string_view advice,
                          absl::FunctionRef<absl::StatusOr<bool>()> look);

}  // namespace basalt::cli
