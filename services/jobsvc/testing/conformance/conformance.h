#pragma once

// Each test of this folder is named after the rows of the job specification that it proves (docs/conformance.md).
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {

class ConformanceTest : public JobTest {};

}  // namespace basalt::jobsvc::testing
