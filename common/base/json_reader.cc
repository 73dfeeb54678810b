#include "common/base/json_reader.h"

#include <boost/json/basic_parser_impl.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace basalt::internal {
namespace {

namespace json = boost::json;
using Error = boost::system::error_code;

// Puts everything that Boost's parser finds on the stack from which values are built. The parser gets the whole text at
// once, so that each number comes in one piece.
struct Handler {
  static constexpr size_t max_object_size = json::object::max_size();
  static constexpr size_t max_array_size = json::array::max_size();
  static constexpr size_t max_key_size = json::string::max_size();
  static constexpr size_t max_string_size = json::string::max_size();

  bool on_document_begin(Error& /*error*/) {
    stack.reset();
    return true;
  }
  bool on_document_end(Error& /*error*/) { return true; }
  bool on_object_begin(Error& /*error*/) { return true; }
  bool on_object_end(size_t members, Error& /*error*/) {
    stack.push_object(members);
    return true;
  }
  bool on_array_begin(Error& /*error*/) { return true; }
  bool on_array_end(size_t values, Error& /*error*/) {
    stack.push_array(values);
    return true;
  }
  bool on_key_part(json::string_view text, size_t /*size*/, Error& /*error*/) {
    stack.push_chars(text);
    return true;
  }
  bool on_key(json::string_view text, size_t /*size*/, Error& /*error*/) {
    stack.push_key(text);
    return true;
  }
  bool on_string_part(json::string_view text, size_t /*size*/, Error& /*error*/) {
    stack.push_chars(text);
    return true;
  }
  bool on_string(json::string_view text, size_t /*size*/, Error& /*error*/) {
    stack.push_string(text);
    return true;
  }
  bool on_number_part(json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_int64(int64_t number, json::string_view /*text*/, Error& /*error*/) {
    stack.push_int64(number);
    return true;
  }
  bool on_uint64(uint64_t number, json::string_view /*text*/, Error& /*error*/) {
    stack.push_uint64(number);
    return true;
  }
  bool on_double(double number, json::string_view text, Error& error) {
    // A number that is nearer to zero than any double stays Boost's zero.
    double nearest = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), nearest);
    if (failed == std::errc() && end == text.data() + text.size()) number = nearest;
    if (!std::isfinite(number)) {
      error = json::error::exponent_overflow;
      return false;
    }
    stack.push_double(number);
    return true;
  }
  bool on_bool(bool value, Error& /*error*/) {
    stack.push_bool(value);
    return true;
  }
  bool on_null(Error& /*error*/) {
    stack.push_null();
    return true;
  }
  bool on_comment_part(json::string_view /*text*/, Error& /*error*/) { return true; }
  bool on_comment(json::string_view /*text*/, Error& /*error*/) { return true; }

  json::value_stack stack;
};

}  // namespace

JsonRead ReadJson(std::string_view text, size_t max_depth) {
  json::parse_options options;
  options.max_depth = max_depth;
  json::basic_parser<Handler> parser(options);
  JsonRead read;
  read.used = parser.write_some(/*more=*/false, text.data(), text.size(), read.error);
  if (!read.error) read.value = parser.handler().stack.release();
  return read;
}

}  // namespace basalt::internal
