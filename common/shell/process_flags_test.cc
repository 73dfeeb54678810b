#include "common/shell/process_flags.h"

#include <gtest/gtest.h>

namespace basalt::shell {
namespace {

TEST(ProcessFlagsTest, TheFileThatDefinesAFlagSaysWhichProgramsHaveTheFlag) {
  struct Case {
    const char* file;
    bool gateway, jobsvc, pgsvc;
  };
  for (const Case& c : {Case{"common/shell/process_flags.cc", true, true, true},
                        Case{"/home/ann/main/common/shell/process_flags.cc", true, true, true},
                        Case{"/home/ann/gateway/main/common/shell/tls_flags.cc", true, true, true},
                        Case{"/src/gateway/main/program.cc", true, false, false},
                        Case{"services/jobsvc/main/program.cc", false, true, false},
                        Case{"/src/common/shell/options.cc", false, true, true},
                        Case{"/src/common/shell/cluster_flags.cc", true, true, false}}) {
    EXPECT_EQ(IsFlagOf(c.file, "gateway"), c.gateway) << c.file;
    EXPECT_EQ(IsFlagOf(c.file, "jobsvc"), c.jobsvc) << c.file;
    EXPECT_EQ(IsFlagOf(c.file, "pgsvc"), c.pgsvc) << c.file;
  }
}

}  // namespace
}  // namespace basalt::shell
