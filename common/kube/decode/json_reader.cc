#include "common/kube/decode/json_reader.h"

#include <fmt/format.h>

#include <cmath>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/kube/text.h"

namespace basalt::kube::decode {
namespace {

using simdjson::ondemand::json_type;

std::string_view TypeName(json_type type) {
  switch (type) {
    case json_type::array:
      return "a list";
    case json_type::object:
      return "an object";
    case json_type::number:
      return "a number";
    case json_type::string:
      return "a string";
    case json_type::boolean:
      return "a boolean";
    case json_type::null:
      return "null";
    default:  // Newer versions of simdjson have a type for a value that begins like none of these.
      return "something else";
  }
}

}  // namespace

std::string Path::Text() const {
  std::string text = parent == nullptr ? std::string() : parent->Text();
  if (index >= 0) return fmt::format("{}[{}]", text, index);
  if (name.empty()) return text;
  if (name.find_first_of("./") != std::string_view::npos) return fmt::format("{}[{}]", text, Excerpt(name));
  if (!text.empty()) text += '.';
  return text + Excerpt(name);
}

void Reader::Fail(const Path& path, std::string_view rule) {
  if (errors_.size() < max_errors_) errors_.push_back(fmt::format("{}: {}", path.Text(), rule));
}

bool Reader::Is(const Path& path, Value& value, json_type wanted) {
  json_type type;
  if (const auto error = value.type().get(type)) {
    Break(error);
    return false;
  }
  if (type == wanted) return true;
  if (type != json_type::null) Fail(path, fmt::format("expected {}, found {}", TypeName(wanted), TypeName(type)));
  return false;
}

bool Reader::IsNull(Value& value) {
  json_type type;
  return value.type().get(type) == simdjson::SUCCESS && type == json_type::null;
}

std::string_view Reader::String(const Path& path, Value& value) {
  if (!Is(path, value, json_type::string)) return {};
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    Fail(path, "not a valid string");
    return {};
  }
  return text;
}

std::optional<int64_t> Reader::Int(const Path& path, Value& value, int64_t low, int64_t high) {
  if (!Is(path, value, json_type::number)) return std::nullopt;
  int64_t number = 0;
  if (value.get_int64().get(number) != simdjson::SUCCESS) {
    // A whole number may be written as 3.0.
    double real = 0;
    if (value.get_double().get(real) != simdjson::SUCCESS || std::floor(real) != real || std::abs(real) > 1e15) {
      Fail(path, "expected a whole number");
      return std::nullopt;
    }
    number = static_cast<int64_t>(real);
  }
  if (number < low || number > high) {
    Fail(path, fmt::format("{} is not between {} and {}", number, low, high));
    return std::nullopt;
  }
  return number;
}

std::optional<int32_t> Reader::OptionalInt32(const Path& path, Value& value) {
  const std::optional<int64_t> number =
      Int(path, value, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
  if (!number.has_value()) return std::nullopt;
  return static_cast<int32_t>(*number);
}

bool Reader::Bool(const Path& path, Value& value) {
  if (!Is(path, value, json_type::boolean)) return false;
  bool yes = false;
  if (value.get_bool().get(yes) != simdjson::SUCCESS) Fail(path, "expected true or false");
  return yes;
}

int64_t Reader::Time(const Path& path, Value& value) {
  const std::string_view text = String(path, value);
  if (text.empty()) return 0;
  const absl::StatusOr<int64_t> ms = kube::ParseTime(text);
  if (!ms.ok()) Fail(path, ToStd(ms.status().message()));
  return ms.value_or(0);
}

std::string_view Reader::IntOrString(const Path& path, Value& value) {
  json_type type;
  if (value.type().get(type) == simdjson::SUCCESS && type == json_type::number) {
    const std::string_view token = value.raw_json_token();
    return token.substr(0, token.find_last_not_of(" \t\r\n") + 1);
  }
  return String(path, value);
}

std::string_view Reader::RawText(const Path& path, Value& value, simdjson::ondemand::object& object) {
  if (!Is(path, value, json_type::object)) return {};
  std::string_view text;
  if (const auto error = value.get_object().get(object)) {
    Break(error);
    return {};
  }
  if (const auto error = object.raw_json().get(text)) {
    Break(error);
    return {};
  }
  text = text.substr(0, text.find_last_of('}') + 1);
  return text;
}

}  // namespace basalt::kube::decode
