#pragma once

namespace basalt::queuesvc {

// The main function of the program. The exit code: 1 where it cannot serve, 2 for a wrong command line.
int Main(int argc, char** argv);

}  // namespace basalt::queuesvc
