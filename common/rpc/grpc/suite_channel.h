#pragma once

// Makes channel credentials that trust only servers of the suite. Internal to this folder. Any thread. Heavy (gRPC):
// only in .cc files.
#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>

#include "common/identity/denied.h"
#include "common/identity/identity.h"
#include "common/rpc/grpc/library_tls.h"

namespace basalt::rpc {

// A server needs a certificate of the provider's authorities with an identity of the cluster and one of these roles (a
// mask of identity::Only), whatever its host name is. `has_certificate`: the provider has a certificate of the client,
// too.
std::shared_ptr<grpc::ChannelCredentials> MakeSuiteChannelCredentials(
    const TlsProvider& provider, bool has_certificate, const identity::IdentityRules& rules, uint32_t servers,
    std::shared_ptr<const identity::DeniedList> denied);

}  // namespace basalt::rpc
