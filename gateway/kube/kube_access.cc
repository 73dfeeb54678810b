#include "gateway/kube/kube_access.h"

namespace basalt::gateway {

std::string_view VerbOf(const v1::WriteRequest& request) {
  switch (request.operation_case()) {
    case v1::WriteRequest::kCreate:
      return "create";
    case v1::WriteRequest::kPatch:
      return "patch";
    case v1::WriteRequest::kDelete:
      return "delete";
    case v1::WriteRequest::kDeleteCollection:
      return "deletecollection";
    case v1::WriteRequest::OPERATION_NOT_SET:
      return "none";
  }
  return "none";
}

}  // namespace basalt::gateway
