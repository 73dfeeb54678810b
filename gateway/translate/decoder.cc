#include "gateway/translate/decoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include <cstring>
#include <optional>
#include <utility>

#include "common/base/excerpt.h"
#include "common/base/status.h"
#include "common/kube/decode/job.h"
#include "common/kube/kinds.h"
#include "gateway/translate/fields.h"

namespace basalt::gateway {
namespace {

// A buffer that one large list has enlarged beyond this size is freed.
constexpr size_t kKeptBuffer = 4 << 20;

std::string_view ReasonOf(int http_status) {
  switch (http_status) {
    case 400:
      return "BadRequest";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "NotFound";
    case 405:
      return "MethodNotAllowed";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 413:
      return "RequestEntityTooLarge";
    case 415:
      return "UnsupportedMediaType";
    case 422:
      return "Invalid";
    case 429:
      return "TooManyRequests";
    case 500:
      return "InternalError";
    case 503:
      return "ServiceUnavailable";
    case 504:
      return "Timeout";
    default:
      return "Unknown";
  }
}

// Turns foreign text into one line of ASCII, for a message.
std::string Printable(std::string_view text) {
  std::string out;
  for (const char c : text) out += c >= ' ' && c <= '~' ? c : ' ';
  return out;
}

std::string Joined(const std::vector<std::string>& errors) { return fmt::format("{}", fmt::join(errors, "; ")); }

std::optional<WatchType> TypeOf(std::string_view text) {
  if (text == "ADDED") return WatchType::kAdded;
  if (text == "MODIFIED") return WatchType::kModified;
  if (text == "DELETED") return WatchType::kDeleted;
  if (text == "BOOKMARK") return WatchType::kBookmark;
  if (text == "ERROR") return WatchType::kError;
  return std::nullopt;
}

// Resets the event, but a pod keeps the memory of its strings: thousands of similar pods come in a second.
void Forget(WatchEvent& event) {
  kube::v1::Object object = std::move(event.decoded.object);
  if (object.has_pod()) {
    object.mutable_pod()->Clear();
  } else {
    object.Clear();
  }
  event = WatchEvent();
  event.decoded.object = std::move(object);
}

}  // namespace

ObjectKind KindOf(std::string_view group, std::string_view plural) {
  static constexpr std::pair<kube::Kind, ObjectKind> kKinds[] = {
      {kube::kPods, ObjectKind::kPod},
      {kube::kJobs, ObjectKind::kJob},
      {kube::kCommands, ObjectKind::kCommand},
      {kube::kPodGroups, ObjectKind::kPodGroup},
      {kube::kQueues, ObjectKind::kQueue},
      {kube::kPriorityClasses, ObjectKind::kPriorityClass},
      {kube::kKaiPodGroups, ObjectKind::kKaiPodGroup},
      {kube::kKaiQueues, ObjectKind::kKaiQueue},
  };
  for (const auto& [kind, object_kind] : kKinds) {
    if (kind.Is(group, plural)) return object_kind;
  }
  return ObjectKind::kGeneric;
}

struct Decoder::Impl {
  ObjectKind kind;
  Json json;
  Wants wants;  // Null if everything is wanted.
  simdjson::ondemand::parser parser;
  std::string buffer;  // The text and the padding that the parser may read.
  simdjson::ondemand::document document;
  Reader reader;
  Envelope envelope;

  Impl(ObjectKind object_kind, Json keep) : kind(object_kind), json(keep) {}

  absl::Status Start(std::string_view text, Value& root) {
    if (text.size() > simdjson::SIMDJSON_MAXSIZE_BYTES - simdjson::SIMDJSON_PADDING) return Invalid("too large");
    if (buffer.size() < text.size() + simdjson::SIMDJSON_PADDING) {
      buffer.resize(text.size() + text.size() / 4 + simdjson::SIMDJSON_PADDING);
    }
    if (!text.empty()) std::memcpy(buffer.data(), text.data(), text.size());
    std::memset(buffer.data() + text.size(), ' ', simdjson::SIMDJSON_PADDING);
    reader.Reset();
    if (const auto error = parser.iterate(buffer.data(), text.size(), buffer.size()).get(document)) {
      return Broken(error);
    }
    // get_value fails if the root is a scalar.
    if (const auto error = document.get_value().get(root)) return Broken(error);
    return absl::OkStatus();
  }

  absl::Status Broken(simdjson::error_code error) const {
    return Invalid(fmt::format("not valid JSON: {}", simdjson::error_message(error)));
  }

  void Trim() {
    if (buffer.size() <= kKeptBuffer) return;
    buffer = std::string();
    document = simdjson::ondemand::document();
    parser = simdjson::ondemand::parser();
  }

  // The envelope belongs to the object before, whose text is gone.
  void ForgetEnvelope() {
    envelope.api_version = envelope.kind = {};
    envelope.meta.Clear();
  }

  void Project(Value& value, Decoded& out) {
    ForgetEnvelope();
    switch (kind) {
      case ObjectKind::kJob:
        return kube::decode::ReadJob(reader, value, envelope, *out.object.mutable_job());
      case ObjectKind::kPod:
        return ReadPod(reader, value, envelope, *out.object.mutable_pod());
      case ObjectKind::kPodGroup:
        return ReadPodGroup(reader, value, envelope, *out.object.mutable_pod_group());
      case ObjectKind::kQueue:
        return ReadQueue(reader, value, envelope, *out.object.mutable_queue());
      case ObjectKind::kCommand:
        return ReadCommand(reader, value, envelope, *out.object.mutable_command());
      case ObjectKind::kPriorityClass:
        return ReadPriorityClass(reader, value, envelope, *out.object.mutable_priority_class());
      case ObjectKind::kWorkload:
        return ReadWorkload(reader, value, envelope, *out.object.mutable_workload());
      case ObjectKind::kKaiPodGroup:
        return ReadKaiPodGroup(reader, value, envelope, json == Json::kKeep, *out.object.mutable_kai_pod_group());
      case ObjectKind::kKaiQueue:
        return ReadKaiQueue(reader, value, envelope, *out.object.mutable_kai_queue());
      case ObjectKind::kOwner:
        out.is_unwanted = !ReadOwnerObject(reader, value, envelope, wants, *out.object.mutable_generic());
        return;
      case ObjectKind::kClusterRule:
        return ReadClusterRule(reader, value, envelope, *out.object.mutable_generic());
      case ObjectKind::kGeneric:
        return ReadGeneric(reader, value, envelope, *out.object.mutable_generic());
    }
  }

  // Requires: the value is an object. `text` is the whole object's text, for generic objects whose JSON is kept.
  absl::Status Read(Value& value, std::string_view text, Decoded& out) {
    simdjson::ondemand::json_type type;
    if (const auto error = value.type().get(type)) return Broken(error);
    if (type != simdjson::ondemand::json_type::object) return Invalid("expected an object");
    Project(value, out);
    if (reader.broken()) return Broken(reader.break_code());
    if (envelope.kind == "Status" && envelope.api_version == "v1") {
      out.object.Clear();
      out.is_status = true;
      return absl::OkStatus();
    }
    if (envelope.meta.name.empty()) return Invalid("metadata.name is missing: the object cannot be told from others");
    if (envelope.meta.uid.empty()) reader.Fail(kRoot, "metadata.uid is missing");
    out.deletion_grace_seconds = envelope.meta.deletion_grace_seconds;
    out.finalizers = envelope.meta.finalizers;
    if (reader.has_error()) {
      out.error = Joined(reader.TakeErrors());
      if (out.object.has_job()) out.object.mutable_job()->set_decode_error(out.error);
      reader.Reset();
    }
    if (kind == ObjectKind::kGeneric && json == Json::kKeep) {
      out.object.mutable_generic()->set_json(std::string(text));
    }
    return absl::OkStatus();
  }
};

Decoder::Decoder(ObjectKind kind, Json json) : impl_(std::make_unique<Impl>(kind, json)) {}
Decoder::~Decoder() = default;
Decoder::Decoder(Decoder&&) noexcept = default;
Decoder& Decoder::operator=(Decoder&&) noexcept = default;

void Decoder::KeepOnly(Wants wants) { impl_->wants = std::move(wants); }

absl::StatusOr<Decoded> Decoder::DecodeObject(std::string_view text) {
  absl::StatusOr<Decoded> result = Decoded();
  Value root;
  absl::Status status = impl_->Start(text, root);
  if (status.ok()) status = impl_->Read(root, text, *result);
  impl_->Trim();
  if (!status.ok()) return status;
  return result;
}

absl::StatusOr<WatchEvent> Decoder::DecodeWatchLine(std::string_view text) {
  absl::StatusOr<WatchEvent> event = WatchEvent();
  if (absl::Status status = DecodeWatchLine(text, *event); !status.ok()) return status;
  return event;
}

absl::Status Decoder::DecodeWatchLine(std::string_view text, WatchEvent& event) {
  Forget(event);
  Impl& impl = *impl_;
  Value root;
  if (absl::Status status = impl.Start(text, root); !status.ok()) return status;
  simdjson::ondemand::object line;
  if (const auto error = root.get_object().get(line)) return impl.Broken(error);
  std::string_view name;
  if (line.find_field_unordered("type").get_string().get(name) != simdjson::SUCCESS) {
    return Invalid("a watch line needs a type and an object");
  }
  const std::optional<WatchType> type = TypeOf(name);
  if (!type.has_value()) return Invalid(fmt::format("'{}' is not a type of watch event", Excerpt(name, 40)));
  event.type = *type;
  Value object;
  if (line.find_field_unordered("object").get(object) != simdjson::SUCCESS) {
    return Invalid("a watch line needs a type and an object");
  }
  switch (*type) {
    case WatchType::kError:
      ReadStatus(impl.reader, object, event.error);
      break;
    case WatchType::kBookmark: {
      kube::v1::GenericObject ignored;
      impl.ForgetEnvelope();
      ReadGeneric(impl.reader, object, impl.envelope, ignored);
      event.resource_version = impl.envelope.meta.resource_version;
      event.initial_events_end = Lookup(impl.envelope.meta.annotations, "k8s.io/initial-events-end") == "true";
      break;
    }
    default: {
      if (absl::Status status = impl.Read(object, {}, event.decoded); !status.ok()) return status;
      event.resource_version = impl.envelope.meta.resource_version;
    }
  }
  if (impl.reader.broken()) return impl.Broken(impl.reader.break_code());
  impl.Trim();
  return absl::OkStatus();
}

absl::StatusOr<DecodedList> Decoder::DecodeList(std::string_view text) {
  absl::StatusOr<DecodedList> result = DecodedList();
  Impl& impl = *impl_;
  Value root;
  if (absl::Status status = impl.Start(text, root); !status.ok()) return status;
  absl::Status status;
  bool items_seen = false;
  impl.reader.Members(kRoot, root, [&](std::string_view key, Value& member) {
    const Path path = kRoot / key;
    if (key == "metadata") {
      impl.reader.Members(path, member, [&](std::string_view name, Value& part) {
        if (name == "continue") result->continue_token = std::string(impl.reader.String(path / name, part));
        if (name == "resourceVersion") {
          const std::string_view version = impl.reader.String(path / name, part);
          for (const char c : version) {
            if (c < '0' || c > '9' || result->resource_version > INT64_MAX / 10 - 1) {
              return impl.reader.Fail(path / name, "expected a decimal number");
            }
            result->resource_version = result->resource_version * 10 + (c - '0');
          }
        }
      });
      if (impl.reader.has_error()) status = Invalid(Joined(impl.reader.TakeErrors()));
    } else if (key == "items") {
      items_seen = true;
      impl.reader.Elements(path, member, [&](const Path& at, Value& item) {
        if (!status.ok()) return;
        Decoded& decoded = result->items.emplace_back();
        status = Annotate(impl.Read(item, {}, decoded), at.Text());
        if (decoded.is_unwanted) result->items.pop_back();
      });
    }
  });
  if (status.ok() && impl.reader.broken()) status = impl.Broken(impl.reader.break_code());
  if (status.ok() && !items_seen) status = Invalid("a list needs items");
  impl.Trim();
  if (!status.ok()) return status;
  return result;
}

v1::KubeError DecodeStatusError(int http_status, std::string_view body) {
  v1::KubeError error;
  simdjson::ondemand::parser parser;
  simdjson::padded_string padded(body.data(), body.size());
  simdjson::ondemand::document document;
  Value root;
  Reader reader;
  if (parser.iterate(padded).get(document) == simdjson::SUCCESS &&
      document.get_value().get(root) == simdjson::SUCCESS) {
    ReadStatus(reader, root, error);
    if (reader.broken()) error.Clear();
  }
  // The status line shows the server's answer, whatever a proxy put into the body.
  error.set_code(http_status != 0 ? http_status : error.code());
  if (error.reason().empty()) error.set_reason(std::string(ReasonOf(error.code())));
  if (error.message().empty()) {
    error.set_message(fmt::format("HTTP {}: {}", error.code(), Printable(body.substr(0, 200))));
  }
  return error;
}

}  // namespace basalt::gateway
