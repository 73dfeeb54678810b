#include "common/shell/signals.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "common/testing/temp_dir.h"

namespace basalt::shell {
namespace {

// Runs in its own process, since PrepareProcess cannot be undone. Returns 0 if all checks pass.
int LooksAfterPreparing(const std::string& file) {
  umask(0);
  PrepareProcess();
  rlimit cores = {};
  getrlimit(RLIMIT_CORE, &cores);
  if (cores.rlim_cur != 0 || cores.rlim_max != 0) return 1;
  if (prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) != 0) return 2;
  if (!WriteFileWhole(file, "secret").ok() || mkdir((file + ".d").c_str(), 0777) != 0) return 3;
  struct stat made = {};
  if (stat(file.c_str(), &made) != 0 || (made.st_mode & 0777) != 0600) return 4;
  if (stat((file + ".d").c_str(), &made) != 0 || (made.st_mode & 0777) != 0700) return 5;
  return 0;
}

TEST(PrepareProcessTest, FilesOfAProcessArePrivateAndItsMemoryIsNotDumped) {
  const basalt::testing::TempDir folder;
  EXPECT_EXIT(_exit(LooksAfterPreparing(folder / "port")), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace basalt::shell
