#pragma once

#include <string>
#include <vector>

namespace basalt::dev {

// Prints and runs `basaltctl WORDS`. Returns basaltctl's exit code.
int Basaltctl(const std::vector<std::string>& ctl_flags, const std::vector<std::string>& words);

// Runs the commands that a person would type: submits the jobs of the manifest, follows them to their end, shows their
// pods and their history. A manifest without jobs is given to RunWorkloads() instead. `kubeconfig` is a file for the
// API server. Returns exit code 0 when every job is Completed, else basaltctl's.
int RunManifest(const std::vector<std::string>& ctl_flags, const std::string& kubeconfig, const std::string& manifest);

}  // namespace basalt::dev
