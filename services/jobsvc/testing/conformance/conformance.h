#pragma once

// The tests of this folder show rows of the job specification (tests/rows/spec/job-controller.tsv).
#include "services/jobsvc/testing/rig/job_test.h"

namespace basalt::jobsvc::testing {

class ConformanceTest : public JobTest {};

}  // namespace basalt::jobsvc::testing
