#include "gateway/lead/kube_assignment_store.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/escaping.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/http/target.h"
#include "common/rpc/program_name.h"

namespace basalt::gateway {
namespace {

using storage::v1::AssignmentRecord;

constexpr char kBytes[] = "assignment";

std::string Base64(std::string_view bytes) { return absl::Base64Escape(ToAbsl(bytes)); }

absl::Status Lost(std::string_view what) { return MakeStatus(absl::StatusCode::kDataLoss, what); }

// Returns the bytes in the object. DATA_LOSS if there are none.
absl::StatusOr<std::string> BytesOf(const json::value& object) {
  const json::value* found = FindPath(object, {"binaryData", kBytes});
  std::string bytes;
  if (found == nullptr || !found->is_string()) return Lost("binaryData.assignment is not there");
  const std::string_view text(found->get_string().data(), found->get_string().size());
  if (!absl::Base64Unescape(ToAbsl(text), &bytes)) return Lost("binaryData.assignment is no base64");
  return bytes;
}

absl::StatusOr<json::value> ParseObject(const std::string& body) {
  absl::StatusOr<json::value> object = ParseJson(body);
  const json::value* metadata = object.ok() ? Find(*object, "metadata") : nullptr;
  if (metadata == nullptr || FindString(*metadata, "resourceVersion").empty()) {
    return MakeStatus(absl::StatusCode::kUnavailable, "the answer is no ConfigMap");
  }
  return object;
}

std::string_view WriterOf(const json::value& object) {
  const json::value* data = Find(object, "data");
  return data == nullptr ? std::string_view() : FindString(*data, "writer");
}

std::string MembersForPeople(const AssignmentRecord& record) {
  std::string text;
  for (const AssignmentRecord::Member& member : record.members()) {
    text += fmt::format("{} {}/{} {}\n", rpc::ProgramName(static_cast<v1::ServiceKind>(member.service()), "unknown"),
                        member.replica(), member.incarnation(), member.address());
  }
  return text;
}

}  // namespace

KubeAssignmentStore::KubeAssignmentStore(http::Client& client, KubeAssignmentStoreOptions options)
    : client_(client), options_(std::move(options)) {}

KubeAssignmentStore::~KubeAssignmentStore() = default;

void KubeAssignmentStore::Cancel() {
  saved_ = nullptr;
  call_.reset();
}

void KubeAssignmentStore::Send(KubeCall call, std::function<void(KubeAnswer)> then) {
  call.user_agent = options_.user_agent;
  call.timeout = options_.timeout;
  call_ = StartKubeCall(client_, std::move(call), [this, then = std::move(then)](KubeAnswer answer) {
    // The call runs this callback, so it must live until the end.
    const std::unique_ptr<http::Call> ended = std::move(call_);
    then(std::move(answer));
  });
}

// ---- loading ----

void KubeAssignmentStore::Load(Loaded done) {
  Cancel();
  Send({.target = Path(/*collection=*/false)},
       [this, done = std::move(done)](KubeAnswer answer) { OnLoaded(std::move(answer), done); });
}

void KubeAssignmentStore::OnLoaded(KubeAnswer answer, const Loaded& done) {
  using enum KubeAnswer::Outcome;
  if (answer.outcome == kRefused && answer.error.code() == 404) {
    base_.reset();
    return done(std::optional<AssignmentRecord>());
  }
  if (answer.outcome != kDone) {
    const bool denied = answer.outcome == kRefused && answer.error.code() == 403;
    return done(MakeStatus(denied ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kUnavailable,
                           fmt::format("cannot get {}: {}", Name(), answer.why)));
  }
  absl::StatusOr<json::value> object = ParseObject(answer.body);
  if (!object.ok()) return done(Annotate(object.status(), Name()));
  const absl::StatusOr<std::string> bytes = BytesOf(*object);
  if (!bytes.ok()) return done(Annotate(bytes.status(), Name()));
  AssignmentRecord record;
  if (!record.ParseFromString(*bytes)) return done(Annotate(Lost("binaryData.assignment cannot be read"), Name()));
  base_ = *std::move(object);
  done(std::optional<AssignmentRecord>(std::move(record)));
}

// ---- saving ----

void KubeAssignmentStore::Save(AssignmentRecord record, std::function<void(absl::Status)> done) {
  Cancel();
  saved_ = std::move(done);
  bytes_ = record.SerializeAsString();
  next_ = base_
              ? *base_
              : json::value({{"apiVersion", "v1"},
                             {"kind", "ConfigMap"},
                             {"metadata", {{"namespace", options_.config_namespace}, {"name", options_.config_name}}}});
  json::object& root = next_.as_object();
  ObjectIn(root, "binaryData")[kBytes] = Base64(bytes_);
  json::object& people = ObjectIn(root, "data");
  people["epoch"] = fmt::format("{}", record.epoch());
  people["members"] = MembersForPeople(record);
  people["writer"] = options_.writer;
  Write();
}

void KubeAssignmentStore::Write() {
  KubeCall call{.method = base_ ? "PUT" : "POST", .target = Path(/*collection=*/!base_), .body = ToText(next_)};
  Send(std::move(call), [this](KubeAnswer answer) { OnWritten(std::move(answer)); });
}

void KubeAssignmentStore::OnWritten(KubeAnswer answer) {
  using enum KubeAnswer::Outcome;
  const std::string why = fmt::format("cannot save {}: {}", Name(), answer.why);
  switch (answer.outcome) {
    case kDone: {
      absl::StatusOr<json::value> object = ParseObject(answer.body);
      if (!object.ok()) return ConfirmSave(MakeStatus(absl::StatusCode::kUnknown, why));
      base_ = *std::move(object);
      return EndSave(absl::OkStatus());
    }
    case kUnsent:
      return EndSave(MakeStatus(absl::StatusCode::kUnavailable, why));
    case kUnknown:
      return ConfirmSave(MakeStatus(absl::StatusCode::kUnknown, why));
    case kRefused:
      break;
  }
  switch (answer.error.code()) {
    case 409:
      return ConfirmSave(MakeStatus(absl::StatusCode::kAborted, why));
    case 404:
      // Somebody has deleted the ConfigMap, perhaps with its namespace. The next save creates it and fails if one is
      // there.
      base_.reset();
      return EndSave(MakeStatus(absl::StatusCode::kUnavailable, why));
    case 403:
      return EndSave(MakeStatus(absl::StatusCode::kPermissionDenied, why));
    default:
      return EndSave(MakeStatus(absl::StatusCode::kInternal, why));
  }
}

void KubeAssignmentStore::ConfirmSave(absl::Status otherwise) {
  Send({.target = Path(/*collection=*/false)},
       [this, otherwise = std::move(otherwise)](KubeAnswer answer) { OnConfirmed(std::move(answer), otherwise); });
}

void KubeAssignmentStore::OnConfirmed(KubeAnswer answer, const absl::Status& otherwise) {
  using enum KubeAnswer::Outcome;
  const absl::Status unknown = MakeStatus(absl::StatusCode::kUnknown, ToStd(otherwise.message()));
  if (answer.outcome == kRefused && answer.error.code() == 404) {
    // No ConfigMap is there, although one caused the refusal.
    if (absl::IsAborted(otherwise)) base_.reset();
    return EndSave(unknown);
  }
  absl::StatusOr<json::value> object = otherwise;
  if (answer.outcome == kDone) object = ParseObject(answer.body);
  if (answer.outcome != kDone || !object.ok()) return EndSave(unknown);
  const bool ours = WriterOf(*object) == options_.writer;
  const absl::StatusOr<std::string> bytes = BytesOf(*object);
  // Only other parts may have changed, a label for example.
  const bool unchanged =
      base_ && bytes.ok() && WriterOf(*base_) == WriterOf(*object) && BytesOf(*base_).value_or("") == *bytes;
  AssignmentRecord record;
  if (!unchanged && !(ours && bytes.ok() && record.ParseFromString(*bytes))) {
    return EndSave(MakeStatus(absl::StatusCode::kAborted, ToStd(otherwise.message())));
  }
  // The newest write is the one that base_ holds, or one of ours: this save or one that was given up.
  base_ = *std::move(object);
  EndSave(ours && *bytes == bytes_ ? absl::OkStatus() : unknown);
}

void KubeAssignmentStore::EndSave(absl::Status status) {
  if (saved_ == nullptr) return;
  const auto done = std::exchange(saved_, nullptr);
  done(std::move(status));
}

std::string KubeAssignmentStore::Path(bool collection) const {
  const std::string configs = fmt::format("/api/v1/namespaces/{}/configmaps", http::Escape(options_.config_namespace));
  return collection ? configs : fmt::format("{}/{}", configs, http::Escape(options_.config_name));
}

std::string KubeAssignmentStore::Name() const {
  return fmt::format("ConfigMap {}/{}", options_.config_namespace, options_.config_name);
}

}  // namespace basalt::gateway
