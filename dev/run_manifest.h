#pragma once

#include <string>

namespace basalt::dev {

// What a person would type: submits the jobs of the manifest, follows them to their end, shows their pods and their
// history. Exit code: 0 when every job is Completed, else basaltctl's.
int RunManifest(const std::string& gateway, const std::string& manifest);

}  // namespace basalt::dev
