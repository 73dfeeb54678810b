#pragma once

// The commands of `basaltctl certs`, which manage an authority and certificates in a folder (folder.h).
namespace CLI {
class App;
}  // namespace CLI

namespace basalt::cli {

struct GlobalOptions;

void AddCertsCommands(CLI::App& app, GlobalOptions& options, int& exit_code);

}  // namespace basalt::cli
