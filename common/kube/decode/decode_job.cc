#include "common/kube/decode/decode_job.h"

#include <fmt/format.h>

#include "common/base/status.h"
#include "common/kube/decode/job.h"

namespace basalt::kube {
namespace {

constexpr size_t kMaxErrors = 20;

absl::StatusOr<DecodedJob> Decode(std::string_view text, decode::Source source) {
  const auto broken = [](simdjson::error_code error) {
    return Invalid(fmt::format("not valid JSON: {}", simdjson::error_message(error)));
  };
  simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(text.data(), text.size());
  simdjson::ondemand::document document;
  decode::Value root;
  if (const auto error = parser.iterate(padded).get(document)) return broken(error);
  // This call fails for a scalar at the root.
  if (document.get_value().get(root) != simdjson::SUCCESS) return Invalid("expected an object");
  simdjson::ondemand::json_type type;
  if (const auto error = root.type().get(type)) return broken(error);
  if (type != simdjson::ondemand::json_type::object) return Invalid("expected an object");
  decode::Reader reader(source, kMaxErrors);
  decode::Envelope envelope;
  DecodedJob decoded;
  decode::ReadJob(reader, root, envelope, decoded.job);
  if (reader.broken()) return broken(reader.break_code());
  decoded.api_version = envelope.api_version;
  decoded.kind = envelope.kind;
  decoded.errors = reader.TakeErrors();
  return decoded;
}

}  // namespace

std::string_view WireEvent(std::string_view event) {
  if (event == "Any") return "*";
  return event == "JobUnknown" ? "Unknown" : event;
}

std::string_view WireIteration(std::string_view iteration) {
  if (iteration == "IterationAny") return "any";
  return iteration == "IterationAll" ? "all" : iteration;
}

absl::StatusOr<DecodedJob> DecodeStoredJob(std::string_view text) { return Decode(text, decode::Source::kStored); }

absl::StatusOr<DecodedJob> DecodeWrittenJob(std::string_view text) { return Decode(text, decode::Source::kWritten); }

}  // namespace basalt::kube
