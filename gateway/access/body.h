#pragma once

// Checks that the body of an object to be created names the key for which the object is created: no replica may put an
// object into the hands of another slot's owner. Pure.
#include <string_view>

#include "absl/status/status.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/json.h"

namespace basalt::gateway {

// `body` is the content of request.create(). PERMISSION_DENIED names the part that the body lacks. OK for services and
// kinds of which the name suffices (permissions.h), and for objects that the gateway itself creates, which have no
// owner.
// `job_uid` is the UID of the job that an object of a job has to name. Empty if the UID is not compared.
absl::Status CheckCreatedBody(const v1::WriteRequest& request, const json::value& body, std::string_view job_uid = {});

}  // namespace basalt::gateway
