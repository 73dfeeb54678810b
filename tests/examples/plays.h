#pragma once

// What each manifest of upstream's examples promises, played: by its fields and comments. Each adds failures to the
// test that calls it.
#include <string>
#include <string_view>

namespace basalt::examples {

// The text of such a manifest.
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
