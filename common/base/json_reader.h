#pragma once

// Reads JSON text with the doubles that are nearest to its numbers: Boost's own parser is off by the last digit for
// numbers of many digits, so that a value which is written and read would not stay the same. For ParseJson and the
// reader of YAML alone.
#include <cstddef>
#include <string_view>

#include <boost/json.hpp>

namespace basalt::internal {

struct JsonRead {
  boost::json::value value;
  size_t used = 0;                  // Bytes of the text up to the end of the value, or up to the mistake.
  boost::system::error_code error;  // `exponent_overflow`: a number that no double holds; `incomplete`: the text ended.
};

// One value at the beginning of the text, with white space around it.
JsonRead ReadJson(std::string_view text, size_t max_depth);

}  // namespace basalt::internal
