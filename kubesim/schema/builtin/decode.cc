#include "kubesim/schema/builtin/decode.h"

#include <fmt/format.h>

#include <cctype>
#include <cstdint>
#include <limits>

#include "absl/time/time.h"
#include "common/base/status.h"

namespace basalt::kubesim {
namespace {

constexpr std::string_view kMicroTime = "2006-01-02T15:04:05.000000Z07:00";

std::string_view Key(const json::key_value_pair& member) { return {member.key().data(), member.key().size()}; }

std::string_view TypeName(const json::value& value) {
  switch (value.kind()) {
    case json::kind::bool_:
      return "bool";
    case json::kind::string:
      return "string";
    case json::kind::array:
      return "array";
    case json::kind::object:
      return "object";
    default:
      return "number";
  }
}

std::string WrongType(const json::value& value, std::string_view field, std::string_view wanted) {
  // The message contains a number that is no int32, but no other value.
  const bool number = wanted == "int32" && value.is_number();
  return fmt::format("json: cannot unmarshal {}{} into Go struct field {} of type {}", TypeName(value),
                     number ? " " + ToText(value) : "", field, wanted);
}

// Returns the message about the first element of the time format that the text does not match. Empty if the text is a
// time.
std::string WhyNoMicroTime(std::string_view text) {
  constexpr std::string_view kElements[] = {"2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05", ".000000"};
  std::string_view rest = text;
  const auto wrong = [&](std::string_view element) {
    return fmt::format(R"(parsing time "{}" as "{}": cannot parse "{}" as "{}")", text, kMicroTime, rest, element);
  };
  for (const std::string_view element : kElements) {
    if (rest.size() < element.size()) return wrong(element);
    for (size_t i = 0; i < element.size(); ++i) {
      const bool digit = std::isdigit(static_cast<unsigned char>(element[i])) != 0;
      const bool fits = digit ? std::isdigit(static_cast<unsigned char>(rest[i])) != 0 : rest[i] == element[i];
      if (!fits) return wrong(element);
    }
    rest.remove_prefix(element.size());
  }
  const bool offset = rest.size() == 6 && (rest[0] == '+' || rest[0] == '-') && rest[3] == ':';
  if (rest != "Z" && !offset) return wrong("Z07:00");
  absl::Time time;
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, &error)) {
    return fmt::format(R"(parsing time "{}": out of range)", text);
  }
  return "";
}

// Returns the position at which Go's decoder of the standard alphabet with padding fails. Returns npos if it does not.
size_t FindNoBase64(std::string_view text) {
  const auto in_alphabet = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/';
  };
  const auto skip_lines = [&](size_t at) {
    while (at < text.size() && (text[at] == '\n' || text[at] == '\r')) ++at;
    return at;
  };
  size_t at = 0;
  for (size_t filled = 0; (at = skip_lines(at)) < text.size(); ++at) {
    if (in_alphabet(text[at])) {
      filled = (filled + 1) % 4;
      continue;
    }
    if (text[at] != '=' || filled < 2) return at;
    at = skip_lines(at + 1);
    if (filled == 2) {
      if (at == text.size()) return at;
      if (text[at] != '=') return at - 1;
      at = skip_lines(at + 1);
    }
    return at < text.size() ? at : std::string_view::npos;
  }
  size_t letters = 0;
  for (const char c : text) letters += in_alphabet(c) ? 1 : 0;
  return letters % 4 == 0 ? std::string_view::npos : text.size() - letters % 4;
}

std::string CheckLease(const json::value& lease) {
  const json::value* spec = Find(lease, "spec");
  if (spec == nullptr || spec->is_null()) return "";
  if (!spec->is_object()) return WrongType(*spec, "Lease.spec", "v1.LeaseSpec");
  for (const json::key_value_pair& member : spec->get_object()) {
    const std::string_view name = Key(member);
    const json::value& value = member.value();
    if (value.is_null()) continue;
    const std::string field = fmt::format("LeaseSpec.spec.{}", name);
    if (name == "leaseDurationSeconds" || name == "leaseTransitions") {
      const bool fits = value.is_int64() && value.get_int64() >= std::numeric_limits<int32_t>::min() &&
                        value.get_int64() <= std::numeric_limits<int32_t>::max();
      if (!fits) return WrongType(value, field, "int32");
    } else if (name == "holderIdentity" || name == "acquireTime" || name == "renewTime") {
      if (!value.is_string()) return WrongType(value, field, "string");
      if (name == "holderIdentity") continue;
      if (std::string why = WhyNoMicroTime({value.get_string().data(), value.get_string().size()}); !why.empty()) {
        return why;
      }
    }
  }
  return "";
}

std::string CheckConfigMap(const json::value& config) {
  for (const bool binary : {false, true}) {
    const std::string_view name = binary ? "binaryData" : "data";
    const json::value* map = Find(config, name);
    if (map == nullptr || map->is_null()) continue;
    const std::string field = fmt::format("ConfigMap.{}", name);
    if (!map->is_object()) return WrongType(*map, field, binary ? "map[string][]uint8" : "map[string]string");
    for (const json::key_value_pair& member : map->get_object()) {
      const json::value& value = member.value();
      if (value.is_null()) continue;
      if (!value.is_string()) return WrongType(value, field, binary ? "[]uint8" : "string");
      if (!binary) continue;
      const size_t at = FindNoBase64({value.get_string().data(), value.get_string().size()});
      if (at != std::string_view::npos) return fmt::format("illegal base64 data at input byte {}", at);
    }
  }
  return "";
}

}  // namespace

std::string WhyUnreadable(const TypeInfo& type, const json::value& object) {
  if (!type.builtin) return "";
  if (type.kind == "Lease") return CheckLease(object);
  if (type.kind == "ConfigMap") return CheckConfigMap(object);
  return "";
}

std::string MicroTimeInUtc(std::string_view text) {
  absl::Time time;
  if (!WhyNoMicroTime(text).empty() || !absl::ParseTime(absl::RFC3339_full, ToAbsl(text), &time, nullptr)) {
    return std::string(text);
  }
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone());
}

}  // namespace basalt::kubesim
