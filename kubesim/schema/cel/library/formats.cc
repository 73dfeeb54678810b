#include <fmt/format.h>
#include <re2/re2.h>

#include <map>
#include <string>
#include <utility>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"
#include "kubesim/schema/cel/library/urls.h"

namespace basalt::kubesim::cel {
namespace {

using Result = absl::StatusOr<Value>;
using Faults = std::vector<std::string>;

bool Full(std::string_view text, const char* pattern) {
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), RE2(pattern));
}

constexpr char kLabel[] = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
constexpr char kSubdomain[] = R"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)";
constexpr char kLabel1035[] = "[a-z]([-a-z0-9]*[a-z0-9])?";
constexpr char kName[] = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
constexpr char kLabelValue[] = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
constexpr char kUuid[] = "(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}";

// What a text of this form looks like, in the words of the API server.
std::string Must(std::string_view what, const char* pattern, std::string_view examples) {
  return fmt::format("{} (e.g. {}, regex used for validation is '{}')", what, examples, pattern);
}

void CheckForm(std::string_view text, size_t most, std::string_view unit, const char* pattern, std::string_view what,
               std::string_view examples, Faults& faults) {
  if (text.size() > most) faults.push_back(fmt::format("must be no more than {} {}", most, unit));
  if (!Full(text, pattern)) faults.push_back(Must(what, pattern, examples));
}

Faults Label(std::string_view text) {
  Faults faults;
  if (text.size() > 63) faults.emplace_back("must be no more than 63 characters");
  if (!Full(text, kLabel)) {
    faults.push_back(
        Must("a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
             "must start and end with an alphanumeric character",
             kLabel, "'my-name',  or '123-abc'"));
  }
  return faults;
}

Faults Subdomain(std::string_view text) {
  Faults faults;
  CheckForm(text, 253, "characters", kSubdomain,
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
            "start and end with an alphanumeric character",
            "'example.com'", faults);
  return faults;
}

Faults Label1035(std::string_view text) {
  Faults faults;
  CheckForm(text, 63, "characters", kLabel1035,
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
            "character, and end with an alphanumeric character",
            "'my-name',  or 'abc-123'", faults);
  return faults;
}

Faults LabelValue(std::string_view text) {
  Faults faults;
  CheckForm(text, 63, "characters", kLabelValue,
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
            "start and end with an alphanumeric character",
            "'MyValue',  or 'my_value',  or '12345'", faults);
  return faults;
}

Faults QualifiedName(std::string_view text) {
  constexpr std::string_view kExamples = "'MyName',  or 'my.name',  or '123-abc'";
  constexpr std::string_view kRest =
      "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  Faults faults;
  std::string_view name = text;
  if (const size_t slash = text.find('/'); slash != std::string_view::npos) {
    if (text.find('/', slash + 1) != std::string_view::npos) {
      return {Must(fmt::format("a valid label key {}", kRest), kName, kExamples) +
              " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"};
    }
    name = text.substr(slash + 1);
    if (slash == 0) faults.emplace_back("prefix part must be non-empty");
    if (slash > 0) {
      for (const std::string& fault : Subdomain(text.substr(0, slash))) faults.push_back("prefix part " + fault);
    }
  }
  if (name.empty()) faults.emplace_back("name part must be non-empty");
  if (name.size() > 63) faults.emplace_back("name part must be no more than 63 characters");
  if (!Full(name, kName)) faults.push_back(Must(fmt::format("name part {}", kRest), kName, kExamples));
  return faults;
}

// A prefix of a generated name may end with a dash.
std::string Unmasked(std::string_view text) {
  std::string whole(text);
  if (whole.size() > 1 && whole.ends_with('-')) whole.back() = 'a';
  return whole;
}

Faults When(bool bad, std::string_view fault) { return bad ? Faults{std::string(fault)} : Faults{}; }

bool IsDate(std::string_view text) {
  absl::Time time;
  return text.size() == 10 && absl::ParseTime("%Y-%m-%d", ToAbsl(text), &time, nullptr);
}

bool IsBase64(std::string_view text) {
  std::string out;
  return text.size() % 4 == 0 && absl::Base64Unescape(ToAbsl(text), &out);
}

Faults Uri(std::string_view text) {
  const absl::StatusOr<Url> parsed = ParseUrl(text);
  return parsed.ok() ? Faults{} : Faults{std::string(ToStd(parsed.status().message()))};
}

using Check = Faults (*)(std::string_view);

const std::map<std::string_view, Check>& Checks() {
  static const auto& checks = *new std::map<std::string_view, Check>({
      {"dns1123Label", Label},
      {"dns1123Subdomain", Subdomain},
      {"dns1035Label", Label1035},
      {"qualifiedName", QualifiedName},
      {"dns1123LabelPrefix", [](std::string_view text) { return Label(Unmasked(text)); }},
      {"dns1123SubdomainPrefix", [](std::string_view text) { return Subdomain(Unmasked(text)); }},
      {"dns1035LabelPrefix", [](std::string_view text) { return Label1035(Unmasked(text)); }},
      {"labelValue", LabelValue},
      {"uri", Uri},
      {"uuid", [](std::string_view text) { return When(!Full(text, kUuid), "does not match the UUID format"); }},
      {"byte", [](std::string_view text) { return When(!IsBase64(text), "invalid base64"); }},
      {"date", [](std::string_view text) { return When(!IsDate(text), "invalid date"); }},
      {"datetime",
       [](std::string_view text) { return When(!ParseTimestamp(std::string(text)).ok(), "invalid datetime"); }},
  });
  return checks;
}

Result Named(const Args& args, Budget&) {
  const auto* name = args[0].As<std::string>();
  if (name == nullptr) return NoSuchOverload();
  return Checks().contains(*name) ? Value::Some(Value::Of(NamedFormat{*name})) : Value::None();
}

Result Validate(const Args& args, Budget& budget) {
  const auto* format = args[0].As<NamedFormat>();
  const auto* text = args[1].As<std::string>();
  if (format == nullptr || text == nullptr) return NoSuchOverload();
  BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size() * 8));
  std::vector<Value> faults;
  for (std::string& fault : Checks().at(format->name)(*text)) faults.push_back(Value::Text(std::move(fault)));
  return faults.empty() ? Value::None() : Value::Some(Value::List(std::move(faults)));
}

}  // namespace

const std::vector<NamedFunction>& FormatFunctions() {
  static const auto& functions = *new std::vector<NamedFunction>({
      {"format.named", Named},
      {"validate", Validate},
#define BASALT_FORMAT(name)                                                                       \
  {                                                                                               \
    "format." #name, [](const Args&, Budget&) -> Result { return Value::Of(NamedFormat{#name}); } \
  }
      BASALT_FORMAT(dns1123Label),
      BASALT_FORMAT(dns1123Subdomain),
      BASALT_FORMAT(dns1035Label),
      BASALT_FORMAT(qualifiedName),
      BASALT_FORMAT(dns1123LabelPrefix),
      BASALT_FORMAT(dns1123SubdomainPrefix),
      BASALT_FORMAT(dns1035LabelPrefix),
      BASALT_FORMAT(labelValue),
      BASALT_FORMAT(uri),
      BASALT_FORMAT(uuid),
      BASALT_FORMAT(byte),
      BASALT_FORMAT(date),
      BASALT_FORMAT(datetime),
#undef BASALT_FORMAT
  });
  return functions;
}

}  // namespace basalt::kubesim::cel
