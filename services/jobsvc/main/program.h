#pragma once

namespace basalt::jobsvc {

// The main function of the program. Returns the exit code: 0 after SIGTERM or SIGINT; else standard error states why.
int Main(int argc, char** argv);

}  // namespace basalt::jobsvc
