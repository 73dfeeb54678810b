#pragma once

#include "tests/coexistence/kube.h"

namespace basalt::coexistence {

// Expects that upstream's controllers can continue from the objects in the cluster. Every status has upstream's wire
// form, every live pod has the keys by which upstream finds pods, every group has a name that upstream looks for, and
// no object has a finalizer. Job spec 1.6, 3.2, 9.8 and 10.
void ExpectUpstreamCanGoOn(Kubernetes& kube);

}  // namespace basalt::coexistence
