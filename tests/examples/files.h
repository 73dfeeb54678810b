#pragma once

// Manifests on disk, as parameters of tests.
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace basalt::examples {

std::string ReadFile(const std::string& path);

// Returns the files below `folder` as sorted paths relative to it. Empty if there is no such folder.
std::vector<std::string> FilesBelow(const std::string& folder);

// Returns a test's name, for INSTANTIATE_TEST_SUITE_P.
std::string NameOfFile(const ::testing::TestParamInfo<std::string>& file);

}  // namespace basalt::examples
