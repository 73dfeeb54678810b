#include <arpa/inet.h>
#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "kubesim/schema/cel/library/functions.h"
#include "kubesim/schema/cel/library/urls.h"

namespace basalt::kubesim::cel {
namespace {

using Result = absl::StatusOr<Value>;

// Why a text is no IPv4 address, in the words of the API server; empty where it is one.
std::string_view ReadV4(std::string_view text, Address& address) {
  size_t field = 0;
  size_t digits = 0;
  unsigned number = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != '.') {
      if (text[i] < '0' || text[i] > '9') return "unexpected character";
      if (digits == 1 && number == 0) return "IPv4 field has octet with leading zero";
      number = number * 10 + static_cast<unsigned>(text[i] - '0');
      ++digits;
      if (number > 255) return "IPv4 field has value >255";
      continue;
    }
    if (digits == 0) return "IPv4 field must have at least one digit";
    if (field == 4) return "IPv4 address too long";
    address.bytes[field++] = static_cast<uint8_t>(number);
    digits = 0;
    number = 0;
  }
  return field < 4 ? "IPv4 address too short" : "";
}

absl::StatusOr<Address> ParseAddress(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return EvalError(fmt::format(
        "IP Address \"{0}\" parse error during conversion from string: ParseAddr(\"{0}\"): {1}", text, why));
  };
  Address address;
  const size_t first = text.find_first_of(".:%");
  if (first == std::string_view::npos) return bad("unable to parse IP");
  if (text[first] == '.') {
    address.is_v4 = true;
    const std::string_view why = ReadV4(text, address);
    if (!why.empty()) return bad(why);
    return address;
  }
  if (text[first] == '%') return bad("missing IPv6 address");
  const size_t zone = text.find('%');
  const std::string plain(text.substr(0, zone));
  if (inet_pton(AF_INET6, plain.c_str(), address.bytes.data()) != 1) return bad("unable to parse IP");
  if (zone != std::string_view::npos) {
    return EvalError(fmt::format("IP address \"{}\" with zone value is not allowed", text));
  }
  bool mapped = address.bytes[10] == 0xFF && address.bytes[11] == 0xFF;
  for (size_t i = 0; i < 10; ++i) mapped = mapped && address.bytes[i] == 0;
  if (mapped) return EvalError(fmt::format("IPv4-mapped IPv6 address \"{}\" is not allowed", text));
  return address;
}

absl::StatusOr<Cidr> ParseCidr(std::string_view text) {
  const auto bad = [&](std::string_view why) {
    return EvalError(
        fmt::format("network address parse error during conversion from string: network address parse error during "
                    "conversion from string: netip.ParsePrefix(\"{}\"): {}",
                    text, why));
  };
  const size_t slash = text.rfind('/');
  if (slash == std::string_view::npos) return bad("no '/'");
  const absl::StatusOr<Address> address = ParseAddress(text.substr(0, slash));
  if (!address.ok()) return bad("unable to parse IP");
  const std::string_view digits = text.substr(slash + 1);
  int bits = 0;
  const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
  const bool strange = error != std::errc() || stop != digits.data() + digits.size() || digits[0] == '-' ||
                       (digits.size() > 1 && digits[0] == '0');
  if (strange) return bad(fmt::format("bad bits after slash: \"{}\"", digits));
  if (bits > (address->is_v4 ? 32 : 128)) return bad("prefix length out of range");
  return Cidr{*address, bits};
}

Address Masked(Address address, int bits) {
  for (size_t i = 0; i < address.bytes.size(); ++i) {
    const int kept = std::clamp(bits - static_cast<int>(i) * 8, 0, 8);
    address.bytes[i] &= static_cast<uint8_t>(0xFF00U >> kept);
  }
  return address;
}

bool Holds(const Cidr& cidr, const Address& address) {
  return cidr.address.is_v4 == address.is_v4 &&
         Masked(cidr.address, cidr.bits).bytes == Masked(address, cidr.bits).bytes;
}

absl::StatusOr<std::string_view> TextOf(const Value& value, Budget& budget) {
  const auto* text = value.As<std::string>();
  if (text == nullptr) return NoSuchOverload();
  BASALT_RETURN_IF_ERROR(budget.SpendOnText(text->size()));
  return std::string_view(*text);
}

Result Ip(const Args& args, Budget& budget) {
  if (const auto* cidr = args[0].As<Cidr>()) return Value::Of(cidr->address);
  BASALT_ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0], budget));
  BASALT_ASSIGN_OR_RETURN(const Address address, ParseAddress(text));
  return Value::Of(address);
}

Result IsIp(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0], budget));
  return Value::Bool(ParseAddress(text).ok());
}

Result IsCanonical(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0], budget));
  BASALT_ASSIGN_OR_RETURN(const Address address, ParseAddress(text));
  return Value::Bool(AddressText(address) == text);
}

Result MakeCidr(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0], budget));
  BASALT_ASSIGN_OR_RETURN(const Cidr cidr, ParseCidr(text));
  return Value::Of(cidr);
}

Result IsCidr(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0], budget));
  return Value::Bool(ParseCidr(text).ok());
}

Result ContainsIp(const Args& args, Budget& budget) {
  const auto* cidr = args[0].As<Cidr>();
  if (cidr == nullptr) return NoSuchOverload();
  if (const auto* address = args[1].As<Address>()) return Value::Bool(Holds(*cidr, *address));
  BASALT_ASSIGN_OR_RETURN(const Value other, Ip({args[1]}, budget));
  return Value::Bool(Holds(*cidr, *other.As<Address>()));
}

Result ContainsCidr(const Args& args, Budget& budget) {
  const auto* cidr = args[0].As<Cidr>();
  if (cidr == nullptr) return NoSuchOverload();
  Value other = args[1];
  if (other.As<Cidr>() == nullptr) {
    BASALT_ASSIGN_OR_RETURN(other, MakeCidr({args[1]}, budget));
  }
  const auto* inner = other.As<Cidr>();
  return Value::Bool(cidr->bits <= inner->bits && Holds(*cidr, inner->address));
}

// The part of a fixed prefix, as 16 bits: what the scopes of addresses are told by.
bool IsMulticast(const Address& a) { return a.is_v4 ? (a.bytes[0] & 0xF0) == 0xE0 : a.bytes[0] == 0xFF; }
bool IsZeroes(const Address& a, uint8_t last) {
  const size_t size = a.is_v4 ? 4 : 16;
  for (size_t i = 0; i + 1 < size; ++i) {
    if (a.bytes[i] != 0) return false;
  }
  return a.bytes[size - 1] == last;
}
bool IsUnspecified(const Address& a) { return IsZeroes(a, 0); }
bool IsLoopback(const Address& a) { return a.is_v4 ? a.bytes[0] == 127 : IsZeroes(a, 1); }
bool IsLinkLocalUnicast(const Address& a) {
  return a.is_v4 ? a.bytes[0] == 169 && a.bytes[1] == 254 : a.bytes[0] == 0xFE && (a.bytes[1] & 0xC0) == 0x80;
}
bool IsLinkLocalMulticast(const Address& a) {
  return a.is_v4 ? a.bytes[0] == 224 && a.bytes[1] == 0 && a.bytes[2] == 0
                 : a.bytes[0] == 0xFF && (a.bytes[1] & 0x0F) == 0x02;
}
bool IsGlobalUnicast(const Address& a) {
  const bool broadcast = a.is_v4 && a.bytes[0] == 255 && a.bytes[1] == 255 && a.bytes[2] == 255 && a.bytes[3] == 255;
  return !broadcast && !IsUnspecified(a) && !IsLoopback(a) && !IsMulticast(a) && !IsLinkLocalUnicast(a);
}

template <bool (*kJudge)(const Address&)>
Result Judged(const Args& args, Budget&) {
  const auto* address = args[0].As<Address>();
  if (address == nullptr) return NoSuchOverload();
  return Value::Bool(kJudge(*address));
}

template <typename Read>
Result OfCidr(const Args& args, Read read) {
  const auto* cidr = args[0].As<Cidr>();
  if (cidr == nullptr) return NoSuchOverload();
  return read(*cidr);
}

Result MakeUrl(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0], budget));
  absl::StatusOr<Url> url = ParseUrl(text);
  if (!url.ok()) {
    return EvalError(fmt::format("URL parse error during conversion from string: {}", ToStd(url.status().message())));
  }
  return Value::Of(std::make_shared<const Url>(*std::move(url)));
}

Result IsUrl(const Args& args, Budget& budget) {
  BASALT_ASSIGN_OR_RETURN(const std::string_view text, TextOf(args[0], budget));
  return Value::Bool(ParseUrl(text).ok());
}

template <typename Read>
Result OfUrl(const Args& args, Read read) {
  const auto* url = args[0].As<std::shared_ptr<const Url>>();
  if (url == nullptr) return NoSuchOverload();
  return Value::Text(read(**url));
}

Result Query(const Args& args, Budget&) {
  const auto* url = args[0].As<std::shared_ptr<const Url>>();
  if (url == nullptr) return NoSuchOverload();
  std::map<std::string, std::vector<Value>> all;
  std::string_view rest = (*url)->query;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    if (one.empty()) continue;
    const size_t equals = std::min(one.find('='), one.size());
    all[Unescaped(one.substr(0, equals), true)].push_back(
        Value::Text(equals == one.size() ? "" : Unescaped(one.substr(equals + 1), true)));
  }
  std::vector<std::pair<Value, Value>> entries;
  for (auto& [name, values] : all) entries.emplace_back(Value::Text(name), Value::List(std::move(values)));
  return Value::Map(std::move(entries));
}

}  // namespace

const std::vector<NamedFunction>& NetFunctions() {
  static const auto& functions = *new std::vector<NamedFunction>({
      {"ip", Ip},
      {"isIP", IsIp},
      {"ip.isCanonical", IsCanonical},
      {"family",
       [](const Args& args, Budget&) -> Result {
         const auto* address = args[0].As<Address>();
         if (address == nullptr) return NoSuchOverload();
         return Value::Int(address->is_v4 ? 4 : 6);
       }},
      {"isUnspecified", Judged<IsUnspecified>},
      {"isLoopback", Judged<IsLoopback>},
      {"isLinkLocalMulticast", Judged<IsLinkLocalMulticast>},
      {"isLinkLocalUnicast", Judged<IsLinkLocalUnicast>},
      {"isGlobalUnicast", Judged<IsGlobalUnicast>},
      {"cidr", MakeCidr},
      {"isCIDR", IsCidr},
      {"containsIP", ContainsIp},
      {"containsCIDR", ContainsCidr},
      {"prefixLength",
       [](const Args& args, Budget&) { return OfCidr(args, [](const Cidr& c) { return Value::Int(c.bits); }); }},
      {"masked",
       [](const Args& args, Budget&) {
         return OfCidr(args, [](const Cidr& c) { return Value::Of(Cidr{Masked(c.address, c.bits), c.bits}); });
       }},
      {"url", MakeUrl},
      {"isURL", IsUrl},
      {"getScheme", [](const Args& args, Budget&) { return OfUrl(args, [](const Url& url) { return url.scheme; }); }},
      {"getHost", [](const Args& args, Budget&) { return OfUrl(args, [](const Url& url) { return url.host; }); }},
      {"getHostname",
       [](const Args& args, Budget&) { return OfUrl(args, [](const Url& url) { return Hostname(url.host); }); }},
      {"getPort", [](const Args& args, Budget&) { return OfUrl(args, [](const Url& url) { return Port(url.host); }); }},
      {"getEscapedPath",
       [](const Args& args, Budget&) { return OfUrl(args, [](const Url& url) { return EscapedPath(url.path); }); }},
      {"getQuery", Query},
  });
  return functions;
}

}  // namespace basalt::kubesim::cel
