#include "common/rpc/error_details.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "absl/strings/cord.h"
#include "common/base/status.h"

namespace basalt::rpc {
namespace {

constexpr std::string_view kTypePrefix = "type.googleapis.com/";

template <typename Message>
std::string UrlOf() {
  return fmt::format("{}{}", kTypePrefix, Message::descriptor()->full_name());
}

template <typename Message>
void Attach(const Message& message, absl::Status& status) {
  status.SetPayload(UrlOf<Message>(), absl::Cord(message.SerializeAsString()));
}

template <typename Message>
std::optional<Message> Find(const absl::Status& status) {
  const absl::optional<absl::Cord> payload = status.GetPayload(UrlOf<Message>());
  Message message;
  if (!payload.has_value() || !message.ParseFromString(std::string(*payload))) return std::nullopt;
  return message;
}

// Removes violations from the end until the rest takes at most `max_bytes`.
std::string FirstViolations(std::optional<google::rpc::BadRequest> request, size_t max_bytes) {
  if (!request.has_value()) return {};
  while (request->ByteSizeLong() > max_bytes) request->mutable_field_violations()->RemoveLast();
  return request->SerializeAsString();
}

}  // namespace

absl::Status InvalidFields(const std::vector<FieldViolation>& violations) {
  constexpr size_t kMaxViolations = 20;
  std::vector<std::string> lines;
  google::rpc::BadRequest request;
  for (const FieldViolation& violation : violations) {
    if (lines.size() == kMaxViolations) {
      lines.push_back(fmt::format("(and {} more)", violations.size() - kMaxViolations));
      break;
    }
    lines.push_back(violation.sentence);
    google::rpc::BadRequest::FieldViolation& out = *request.add_field_violations();
    out.set_field(violation.field);
    out.set_description(violation.sentence);
  }
  absl::Status status = Invalid(fmt::format("{}", fmt::join(lines, "\n")));
  Attach(request, status);
  return status;
}

absl::Status InvalidField(std::string_view field, std::string_view rule) {
  return InvalidFields({{std::string(field), fmt::format("{}: {}", field, rule)}});
}

absl::Status WithResource(absl::Status status, const kube::Kind& kind, std::string_view name) {
  if (status.ok()) return status;
  google::rpc::ResourceInfo info;
  info.set_resource_type(kind.group.empty() ? std::string(kind.plural) : fmt::format("{}.{}", kind.plural, kind.group));
  info.set_resource_name(std::string(name));
  Attach(info, status);
  return status;
}

std::optional<google::rpc::BadRequest> BadRequestOf(const absl::Status& status) {
  return Find<google::rpc::BadRequest>(status);
}

std::optional<google::rpc::ResourceInfo> ResourceInfoOf(const absl::Status& status) {
  return Find<google::rpc::ResourceInfo>(status);
}

std::string SerializeDetails(const absl::Status& status, size_t max_bytes) {
  google::rpc::Status out;
  out.set_code(status.raw_code());
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) {
    // Tags and lengths of the detail itself.
    constexpr size_t kFraming = 16;
    const size_t taken = out.ByteSizeLong() + url.size() + kFraming;
    const size_t room = max_bytes - std::min(max_bytes, taken);
    std::string value = ToStd(url) == UrlOf<google::rpc::BadRequest>() ? FirstViolations(BadRequestOf(status), room)
                                                                       : std::string(payload);
    if (value.empty() || value.size() > room) return;
    google::protobuf::Any& detail = *out.add_details();
    detail.set_type_url(std::string(ToStd(url)));
    detail.set_value(std::move(value));
  });
  return out.details().empty() ? std::string() : out.SerializeAsString();
}

void ParseDetails(std::string_view serialized, absl::Status& status) {
  google::rpc::Status in;
  if (status.ok() || serialized.empty() || !in.ParseFromArray(serialized.data(), static_cast<int>(serialized.size()))) {
    return;
  }
  for (const google::protobuf::Any& detail : in.details()) {
    status.SetPayload(detail.type_url(), absl::Cord(detail.value()));
  }
}

}  // namespace basalt::rpc
