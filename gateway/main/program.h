#pragma once

namespace basalt::gateway {

// The main function of the program, and its exit code: 0 after SIGTERM or SIGINT; else standard error says why.
int Main(int argc, char** argv);

}  // namespace basalt::gateway
