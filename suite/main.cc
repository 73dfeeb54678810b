// basalt: gateway, jobsvc, pgsvc, queuesvc and basaltctl in one binary. The name by which the binary is called (a link)
// selects the program that runs. If that is no program's name, the first word selects the program.
#include <cstdio>
#include <string_view>

#include "cli/commands.h"
#include "gateway/main/program.h"
#include "services/jobsvc/main/program.h"
#include "services/pgsvc/main/program.h"
#include "services/queuesvc/main/program.h"

namespace {

using Program = int (*)(int argc, char** argv);

Program ProgramNamed(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name == "gateway") return basalt::gateway::Main;
  if (name == "jobsvc") return basalt::jobsvc::Main;
  if (name == "pgsvc") return basalt::pgsvc::Main;
  if (name == "queuesvc") return basalt::queuesvc::Main;
  if (name == "basaltctl") return [](int argc, char** argv) { return basalt::cli::Main(argc, argv); };
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 0) {
    if (const Program program = ProgramNamed(argv[0]); program != nullptr) return program(argc, argv);
  }
  if (argc > 1) {
    if (const Program program = ProgramNamed(argv[1]); program != nullptr) return program(argc - 1, argv + 1);
  }
  std::fputs("basalt: the first word has to be gateway, jobsvc, pgsvc, queuesvc or basaltctl\n", stderr);
  return 2;
}
