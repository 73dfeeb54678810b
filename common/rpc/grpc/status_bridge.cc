#include "common/rpc/grpc/status_bridge.h"

#include <string>
#include <string_view>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/rpc/error_details.h"

namespace basalt::rpc {
namespace {

constexpr char kAnswerKey[] = "basalt-answer";

// gRPC 1.51 states by these messages that it never had a connection to send on.
bool NeverConnected(std::string_view message) {
  return message.starts_with("failed to connect to all addresses") ||
         message.starts_with("connections to all backends failing") || message.starts_with("DNS resolution failed") ||
         message.starts_with("empty address list");
}

// Returns the size of a byte in the header grpc-message, which is percent-encoded.
size_t SizeInHeader(char byte) { return byte >= ' ' && byte <= '~' && byte != '%' ? 1 : 3; }

// Returns how many bytes of `message` take at most `room` bytes in the header.
size_t BytesThatFit(std::string_view message, size_t room) {
  size_t taken = 0;
  for (size_t i = 0; i < message.size(); ++i) {
    taken += SizeInHeader(message[i]);
    if (taken > room) return i;
  }
  return message.size();
}

std::string Cut(std::string_view message) {
  if (BytesThatFit(message, kMaxStatusMessage) == message.size()) return std::string(message);
  constexpr std::string_view kCutMark = " … (cut)";
  const size_t room = kMaxStatusMessage - 3 * kCutMark.size();
  return std::string(CutUtf8(message, BytesThatFit(message, room))) + std::string(kCutMark);
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  return {static_cast<grpc::StatusCode>(status.raw_code()), Cut(ToStd(status.message())),
          SerializeDetails(status, kMaxStatusDetails)};
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status out = MakeStatus(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  ParseDetails(status.error_details(), out);
  return out;
}

grpc::Status ToAnswer(const absl::Status& status, grpc::ServerContextBase& context) {
  if (!status.ok()) context.AddTrailingMetadata(kAnswerKey, "1");
  return ToGrpc(status);
}

absl::Status FromCall(const grpc::Status& status, const grpc::ClientContext& context) {
  if (status.error_code() != grpc::StatusCode::UNAVAILABLE || NeverConnected(status.error_message()) ||
      context.GetServerTrailingMetadata().count(kAnswerKey) > 0) {
    return FromGrpc(status);
  }
  return MakeStatus(absl::StatusCode::kUnknown, status.error_message());
}

}  // namespace basalt::rpc
