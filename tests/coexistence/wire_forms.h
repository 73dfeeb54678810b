#pragma once

#include "tests/coexistence/kube.h"

namespace basalt::coexistence {

// What stands in the cluster is what upstream's controllers can go on from: every status in their wire forms, every
// live pod with the keys by which they find it, every group under a name that they look for, nothing that only we
// could take away. Job spec 1.6, 3.2, 9.8 and 10.
void ExpectUpstreamCanGoOn(Kubernetes& kube);

}  // namespace basalt::coexistence
