#pragma once

#include <string>
#include <vector>

namespace basalt::dev {

// `basaltctl WORDS`, with a line that says so. Its exit code.
int Basaltctl(const std::vector<std::string>& ctl_flags, const std::vector<std::string>& words);

// What a person would type: submits the jobs of the manifest, follows them to their end, shows their pods and their
// history; of a manifest without jobs, what run_workloads.h says. `kubeconfig`: of the API server. Exit code: 0 when
// every job is Completed, else basaltctl's.
int RunManifest(const std::vector<std::string>& ctl_flags, const std::string& kubeconfig, const std::string& manifest);

}  // namespace basalt::dev
