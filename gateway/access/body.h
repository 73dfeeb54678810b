#pragma once

// Whether what is created says itself that it belongs to the key for which it is created: nobody is to put an object
// into the hands of another slot's owner. Pure.
#include <string_view>

#include "absl/status/status.h"
#include "basalt/gateway/v1/gateway.pb.h"
#include "common/base/json.h"

namespace basalt::gateway {

// `body`: of request.create(). PERMISSION_DENIED names what it lacks. OK for services and kinds of which the name says
// all (permissions.h), and for what the gateway itself creates, which has no owner.
// `job_uid`: of the job that an object of a job has to name; empty: it is not compared.
absl::Status CheckCreatedBody(const v1::WriteRequest& request, const json::value& body, std::string_view job_uid = {});

}  // namespace basalt::gateway
