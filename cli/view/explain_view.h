#pragma once

// How an explanation looks to people.
#include <string>
#include <string_view>

#include "basalt/job/v1/job.pb.h"

namespace basalt::cli {

// The summary as a paragraph, then each cause with its times and what can be done. 0 = a width without end.
std::string FormatExplanation(const job::v1::JobExplanation& explanation, size_t width);

// Lines of at most `width` code points, broken between words, each after the first with `indent` spaces in front; 0 =
// one line. A word that is longer stands alone.
std::string Wrap(std::string_view text, size_t width, size_t indent = 0);

}  // namespace basalt::cli
