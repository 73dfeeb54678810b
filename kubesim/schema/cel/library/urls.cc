#include "kubesim/schema/cel/library/urls.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace basalt::kubesim::cel {
namespace {

bool IsSchemeChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '-' || c == '.';
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

absl::Status Bad(std::string_view text, std::string_view what) {
  return EvalError(fmt::format("parse \"{}\": {}", text, what));
}

// The first broken escape; empty where there is none.
std::string_view BrokenEscape(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') continue;
    if (i + 2 >= text.size() || HexDigit(text[i + 1]) < 0 || HexDigit(text[i + 2]) < 0) return text.substr(i, 3);
  }
  return {};
}

bool IsHostChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0 ||
         std::string_view("-_.~!$&'()*+,;=:[]<>\"%").find(c) != std::string_view::npos;
}

size_t PortColon(std::string_view host) {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.rfind(':');
  return bracket != std::string_view::npos && colon != std::string_view::npos && colon < bracket
             ? std::string_view::npos
             : colon;
}

}  // namespace

std::string Unescaped(std::string_view text, bool query) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && HexDigit(text[i + 1]) >= 0 && HexDigit(text[i + 2]) >= 0) {
      out += static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2]));
      i += 2;
    } else {
      out += query && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::string EscapedPath(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("-_.~!$&'()*+,;=:@/%[]").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<uint8_t>(c));
  }
  return out;
}

std::string Hostname(std::string_view host) {
  host = host.substr(0, PortColon(host));
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  return std::string(host);
}

std::string Port(std::string_view host) {
  const size_t colon = PortColon(host);
  return colon == std::string_view::npos ? "" : std::string(host.substr(colon + 1));
}

absl::StatusOr<Url> ParseUrl(std::string_view text) {
  if (text.empty()) return Bad(text, "empty url");
  if (std::any_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; })) {
    return Bad(text, "net/url: invalid control character in URL");
  }
  Url url;
  std::string_view rest = text.substr(0, text.find('#'));
  const size_t colon = rest.find(':');
  const bool schemed = colon != std::string_view::npos && colon > 0 &&
                       std::isalpha(static_cast<unsigned char>(rest[0])) != 0 &&
                       std::all_of(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(colon), IsSchemeChar);
  if (schemed) {
    url.scheme = rest.substr(0, colon);
    std::transform(url.scheme.begin(), url.scheme.end(), url.scheme.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    rest.remove_prefix(colon + 1);
  } else if (colon == 0) {
    return Bad(text, "missing protocol scheme");
  }
  if (const size_t mark = rest.find('?'); mark != std::string_view::npos) {
    url.query = rest.substr(mark + 1);
    rest = rest.substr(0, mark);
  }
  if (!rest.starts_with('/')) {
    if (!url.scheme.empty()) return url;  // "mailto:someone": it has no path.
    return Bad(text, "invalid URI for request");
  }
  if (rest.starts_with("//") && (schemed || !rest.starts_with("///"))) {
    rest.remove_prefix(2);
    const size_t slash = std::min(rest.find('/'), rest.size());
    std::string_view host = rest.substr(0, slash);
    rest.remove_prefix(slash);
    if (const size_t at = host.rfind('@'); at != std::string_view::npos) host.remove_prefix(at + 1);
    for (const char c : host) {
      if (!IsHostChar(c)) return Bad(text, fmt::format("invalid character \"{}\" in host name", c));
    }
    if (host.starts_with('[') && host.find(']') == std::string_view::npos) return Bad(text, "missing ']' in host");
    const std::string port = Port(host);
    if (!std::all_of(port.begin(), port.end(), [](unsigned char c) { return std::isdigit(c) != 0; })) {
      return Bad(text, fmt::format("invalid port \":{}\" after host", port));
    }
    url.host = host;
  }
  if (const std::string_view broken = BrokenEscape(rest); !broken.empty()) {
    return Bad(text, fmt::format("invalid URL escape \"{}\"", broken));
  }
  url.path = rest;
  return url;
}

}  // namespace basalt::kubesim::cel
