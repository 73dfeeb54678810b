#pragma once

// Runs upstream's example manifests and checks that each does what its fields and comments promise. Each function adds
// failures to the test that calls it.
#include <string>
#include <string_view>

namespace basalt::examples {

// Returns the text of such a manifest.
std::string KnownManifest(std::string_view file);

void PlayDeployment();
void PlayHierarchicalQueues();
void PlayJob();
void PlayJobPlugin();
void PlayMpi();
void PlayQueue();
void PlayTaskDependency();
void PlayTaskDependencyMpi();
void PlayTensorflow();

}  // namespace basalt::examples
