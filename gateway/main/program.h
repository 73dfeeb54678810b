#pragma once

namespace basalt::gateway {

// Runs the program. Returns its exit code: 0 after SIGTERM or SIGINT; otherwise standard error names the reason.
int Main(int argc, char** argv);

}  // namespace basalt::gateway
