#pragma once

namespace basalt::queuesvc {

// The main function of the program. Returns its exit code: 0 after SIGTERM or SIGINT; else standard error states why.
int Main(int argc, char** argv);

}  // namespace basalt::queuesvc
