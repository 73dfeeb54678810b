#pragma once

// Reads JSON text with the doubles that are nearest to its numbers: Boost's own parser is off by the last digit for
// numbers of many digits, so that a value would change by being written and read. Used only by ParseJson and the reader
// of YAML.
#include <cstddef>
#include <string_view>

#include <boost/json.hpp>

namespace basalt::internal {

struct JsonRead {
  boost::json::value value;
  size_t used = 0;  // Number of bytes of the text up to the end of the value, or up to the mistake.
  // Is `exponent_overflow` for a number that no double holds, and `incomplete` if the text ended too early.
  boost::system::error_code error;
};

// Reads one value at the beginning of the text, and the white space around the value.
JsonRead ReadJson(std::string_view text, size_t max_depth);

}  // namespace basalt::internal
