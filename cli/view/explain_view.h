#pragma once

// Explanations of jobs, formatted for people.
#include <string>
#include <string_view>

#include "basalt/job/v1/job.pb.h"

namespace basalt::cli {

// Returns the summary as a paragraph, then each cause with its times and advice. Width 0 means no limit.
std::string FormatExplanation(const job::v1::JobExplanation& explanation, size_t width);

}  // namespace basalt::cli
