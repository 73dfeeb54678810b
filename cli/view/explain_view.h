#pragma once

// How an explanation looks to people.
#include <string>
#include <string_view>

#include "basalt/job/v1/job.pb.h"

namespace basalt::cli {

// The summary as a paragraph, then each cause with its times and what can be done. 0 = a width without end.
std::string FormatExplanation(const job::v1::JobExplanation& explanation, size_t width);

}  // namespace basalt::cli
