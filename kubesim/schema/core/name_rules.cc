#include "kubesim/schema/core/name_rules.h"

#include <fmt/format.h>

#include "common/kube/name_rules.h"

namespace basalt::kubesim {
namespace {

std::string TooLong(size_t limit) { return fmt::format("must be no more than {} characters", limit); }

}  // namespace

std::string CheckDnsSubdomain(std::string_view name) {
  if (name.size() > 253) return TooLong(253);
  if (kube::IsDnsSubdomain(name)) return "";
  return "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
         "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
         R"('[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*'))";
}

std::string CheckDnsLabel(std::string_view name) {
  if (name.size() > 63) return TooLong(63);
  if (kube::IsDnsLabel(name)) return "";
  return "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and "
         "end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
}

std::string CheckQualifiedName(std::string_view name) {
  const size_t slash = name.find('/');
  if (slash != std::string_view::npos) {
    const std::string_view prefix = name.substr(0, slash);
    if (prefix.empty()) return "prefix part must be non-empty";
    if (const std::string wrong = CheckDnsSubdomain(prefix); !wrong.empty()) return "prefix part " + wrong;
    name.remove_prefix(slash + 1);
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > 63) return "name part " + TooLong(63);
  if (kube::IsQualifiedPart(name)) return "";
  return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
         "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
         "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
}

std::string CheckLabelValue(std::string_view value) {
  if (value.size() > 63) return TooLong(63);
  if (kube::IsLabelValue(value)) return "";
  return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
         "start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
         "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

}  // namespace basalt::kubesim
