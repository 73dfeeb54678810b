#pragma once

namespace CLI {
class App;
}

namespace basalt::cli {

struct GlobalOptions;

// Adds `basaltctl preflight`, which asks the API server itself, not the gateway.
void AddPreflightCommand(CLI::App& app, GlobalOptions& options, int& exit_code);

}  // namespace basalt::cli
