#include "common/http/target.h"

#include <curl/curl.h>

#include <algorithm>
#include <memory>

namespace basalt::http {
namespace {

using CurlText = std::unique_ptr<char, decltype(&curl_free)>;

std::string Unescape(std::string_view text) {
  if (text.find('%') == std::string_view::npos) return std::string(text);
  int size = 0;
  const CurlText plain(curl_easy_unescape(nullptr, text.data(), static_cast<int>(text.size()), &size), &curl_free);
  return plain == nullptr ? std::string() : std::string(plain.get(), static_cast<size_t>(size));
}

std::string UnescapeQuery(std::string_view text) {
  std::string spaced(text);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return Unescape(spaced);
}

}  // namespace

std::string_view Target::Query(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return {};
}

bool Target::HasQuery(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return true;
  }
  return false;
}

Target ParseTarget(std::string_view target) {
  Target parsed;
  target = target.substr(0, target.find('#'));
  const size_t question = target.find('?');
  std::string_view path = target.substr(0, question);
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view segment = path.substr(0, slash);
    if (!segment.empty()) parsed.segments.push_back(Unescape(segment));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  std::string_view query = question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
  while (!query.empty()) {
    const size_t ampersand = query.find('&');
    const std::string_view pair = query.substr(0, ampersand);
    const size_t equals = pair.find('=');
    if (!pair.empty()) {
      parsed.query.emplace_back(UnescapeQuery(pair.substr(0, equals)),
                                equals == std::string_view::npos ? "" : UnescapeQuery(pair.substr(equals + 1)));
    }
    query = ampersand == std::string_view::npos ? std::string_view() : query.substr(ampersand + 1);
  }
  return parsed;
}

std::string Escape(std::string_view text) {
  if (text.empty()) return {};  // For a length of 0, curl_easy_escape would call strlen.
  const CurlText escaped(curl_easy_escape(nullptr, text.data(), static_cast<int>(text.size())), &curl_free);
  return escaped == nullptr ? std::string() : std::string(escaped.get());
}

}  // namespace basalt::http
