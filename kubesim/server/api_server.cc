#include "kubesim/server/api_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/http/date.h"
#include "common/http/target.h"
#include "kubesim/schema/builtin/builtin.h"
#include "kubesim/server/admission/references.h"
#include "kubesim/server/exchange.h"
#include "kubesim/server/read/list.h"
#include "kubesim/server/request/errors.h"

namespace basalt::kubesim {
namespace {

// The shortest time in which a server answers. A request with a shorter timeout times out, also under a simulated time
// that does not move meanwhile.
constexpr absl::Duration kFastest = absl::Microseconds(1);

bool IsWrite(std::string_view verb) { return verb != "get" && verb != "list" && verb != "watch"; }

}  // namespace

ApiServer::ApiServer(Loop& loop, Random& random, ApiServerOptions options)
    : core_(loop, random, std::move(options)),
      writer_(core_),
      deleter_(core_),
      subresources_(core_, writer_, deleter_),
      watches_(core_),
      crds_(core_, writer_, deleter_),
      namespaces_(core_, writer_, deleter_),
      quotas_(core_, writer_),
      garbage_(core_, writer_, deleter_),
      faults_(random),
      log_(core_.options.request_log_size) {
  for (const TypeInfoPtr& type : BuiltinTypes()) core_.types.Add(type);
  Seed();
}

ApiServer::~ApiServer() = default;

void ApiServer::Seed() {
  const auto create = [this](const json::value& object) {
    if (const auto made = CreateObject(object); !made.ok() && startup_status_.ok()) startup_status_ = made.status();
  };
  for (const char* name : {"default", "kube-system", "kube-public", "kube-node-lease"}) {
    create(json::object{{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", json::object{{"name", name}}}});
  }
  create(SystemPriorityClass("system-cluster-critical", 2'000'000'000));
  create(SystemPriorityClass("system-node-critical", 2'000'001'000));
  for (const json::value& crd : core_.options.crds) create(crd);
}

absl::StatusOr<json::value> ApiServer::CreateObject(const json::value& object) {
  RequestInfo info;
  info.verb = "create";
  info.type = core_.types.FindKind(FindString(object, "apiVersion"), FindString(object, "kind"));
  if (info.type == nullptr) return NoSuchResource();
  if (info.type->namespaced) info.ns = MetaString(object, "namespace");
  if (info.type->namespaced && info.ns.empty()) info.ns = "default";
  info.manager = "kubesim";
  BASALT_ASSIGN_OR_RETURN(const Answer answer, writer_.Create(info, object));
  return answer.revision->object();
}

std::shared_ptr<const json::value> ApiServer::Get(std::string_view resource, std::string_view ns,
                                                  std::string_view name) const {
  const RevisionPtr found = core_.store.Get(resource, {std::string(ns), std::string(name)});
  if (found == nullptr) return nullptr;
  return {found, &found->object()};
}

void ApiServer::Restart() {
  watches_.DropAll({});
  for (const auto& [id, exchange] : pending_) {
    if (exchange->deletion != nullptr) Log(*exchange, absl::UnavailableError("restarted"));
  }
  pending_.clear();
}

bool ApiServer::IsDeletingCollection() const {
  return std::any_of(pending_.begin(), pending_.end(), [](const auto& one) { return one.second->deletion != nullptr; });
}

void ApiServer::ForgetHistory() {
  watches_.PumpAll();
  core_.store.Compact();
}

void ApiServer::Handle(const http::Request& request, std::shared_ptr<http::ResponseWriter> writer) {
  auto exchange = std::make_shared<Exchange>();
  exchange->request = request;
  exchange->writer = std::move(writer);
  exchange->target = http::ParseTarget(request.target);
  if (request.body.size() > core_.options.max_request_bytes) {
    Send(*exchange, TooLarge(fmt::format("Request entity too large: limit is {}", core_.options.max_request_bytes)));
    return;
  }
  if (!IsResourcePath(exchange->target)) {
    HandleOther(*exchange);
    return;
  }
  absl::StatusOr<RequestInfo> info = ParseRequest(request, exchange->target, core_.types);
  if (!info.ok()) {
    Send(*exchange, info.status());
    return;
  }
  exchange->info = *std::move(info);
  Dispatch(exchange);
}

void ApiServer::Dispatch(const std::shared_ptr<Exchange>& exchange) {
  const RequestInfo& info = *exchange->info;
  FaultInjector::Verdict verdict;
  if (!faults_.empty()) {
    verdict = faults_.VerdictOn({info.verb, info.type->plural, info.subresource, info.ns, info.name});
  }
  if (verdict.drop_request) {
    exchange->dropped_request = true;
    Log(*exchange, absl::UnavailableError("dropped"));
    exchange->writer.reset();
    return;
  }
  exchange->drop_answer = verdict.drop_answer;
  exchange->injected_code = verdict.code;
  exchange->retry_after_seconds = verdict.retry_after_seconds;
  exchange->injected_by_admission = verdict.admission;
  // A request whose timeout is shorter than the delay has no effect, as with a real server.
  const bool too_late = info.timeout < std::max(verdict.delay, kFastest);
  const absl::Duration delay = too_late ? info.timeout : verdict.delay;
  if (delay < kFastest) {
    Proceed(exchange, too_late);
    return;
  }
  const uint64_t id = next_exchange_++;
  pending_[id] = exchange;
  core_.tasks.RunAfter(delay, [this, id, too_late] {
    const auto found = pending_.find(id);
    if (found == pending_.end()) return;
    const std::shared_ptr<Exchange> due = std::move(found->second);
    pending_.erase(found);
    Proceed(due, too_late);
  });
}

void ApiServer::Proceed(const std::shared_ptr<Exchange>& exchange, bool too_late) {
  if (too_late) {
    Send(*exchange, TimedOut());
  } else {
    HandleResource(exchange);
  }
}

void ApiServer::HandleResource(const std::shared_ptr<Exchange>& shared) {
  Exchange& exchange = *shared;
  const RequestInfo& info = *exchange.info;
  if (exchange.injected_code != 0) {
    const absl::Status fault = FaultStatus(exchange.injected_code, exchange.retry_after_seconds);
    if (exchange.injected_code != 429 || exchange.injected_by_admission) {
      Send(exchange, fault);
    } else {
      SendTooManyRequests(exchange, fault);
    }
    return;
  }
  if (info.verb == "watch") {
    if (exchange.drop_answer) return;
    const absl::Status started = watches_.Start(info, exchange.writer, MakeHeaders());
    if (!started.ok()) Send(exchange, started);
    return;
  }
  if (info.verb == "list" && info.subresource.empty()) {
    HandleList(exchange);
    return;
  }
  if (info.subresource == "log" && IsPod(*info.type) && info.verb == "get") {
    const absl::StatusOr<std::string> text = subresources_.Log(info);
    if (text.ok()) {
      SendText(exchange, 200, *text);
    } else {
      Send(exchange, text.status());
    }
    return;
  }
  if (info.verb == "deletecollection" && info.subresource.empty()) {
    HandleDeleteCollection(shared);
    return;
  }
  Send(exchange, Act(info, exchange.request.body));
}

absl::StatusOr<Answer> ApiServer::Act(const RequestInfo& info, std::string_view body) {
  const bool status = info.subresource == "status" && info.type->has_status;
  if (!info.subresource.empty() && !status) return subresources_.Handle(info, body);
  if (info.verb == "get") {
    RevisionPtr live = core_.store.Get(info.type->Resource(), info.Key());
    if (live == nullptr) return NotFound(*info.type, info.name);
    return Answer{200, std::move(live), nullptr};
  }
  if (info.verb == "patch") return writer_.Patch(info, body);
  if (info.verb == "create" && !status) {
    BASALT_ASSIGN_OR_RETURN(json::value object, ParseBody(info.content_type, body));
    return writer_.Create(info, std::move(object));
  }
  if (info.verb == "update") {
    BASALT_ASSIGN_OR_RETURN(json::value object, ParseBody(info.content_type, body));
    return writer_.Update(info, std::move(object));
  }
  if (info.verb == "delete" && !status) return deleter_.Delete(info, body);
  return MethodNotAllowed("the server does not allow this method on the requested resource");
}

void ApiServer::HandleList(Exchange& exchange) {
  const RequestInfo& info = *exchange.info;
  const absl::StatusOr<ListResult> list = List(core_, info);
  if (!list.ok()) {
    Send(exchange, list.status());
    return;
  }
  if (!exchange.drop_answer) SendList(exchange, list->items, list->metadata);
}

void ApiServer::HandleDeleteCollection(const std::shared_ptr<Exchange>& exchange) {
  absl::StatusOr<CollectionDeletion> deletion =
      CollectionDeletion::Start(core_, deleter_, *exchange->info, exchange->request.body);
  if (!deletion.ok()) {
    Send(*exchange, deletion.status());
    return;
  }
  const uint64_t id = next_exchange_++;
  exchange->deletion = std::make_unique<CollectionDeletion>(*std::move(deletion));
  pending_[id] = exchange;
  AdvanceDeletion(id);
}

void ApiServer::AdvanceDeletion(uint64_t id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  const absl::StatusOr<bool> finished = found->second->deletion->Advance();
  if (finished.ok() && !*finished) {
    const auto next = [this, id] { AdvanceDeletion(id); };
    if (core_.options.collection_pause > absl::ZeroDuration()) {
      core_.tasks.RunAfter(core_.options.collection_pause, next);
    } else {
      core_.tasks.Post(next);
    }
    return;
  }
  const std::shared_ptr<Exchange> exchange = std::move(found->second);
  pending_.erase(found);
  if (!finished.ok()) {
    Send(*exchange, finished.status());
    return;
  }
  Log(*exchange, Answer());
  if (!exchange->drop_answer) SendList(*exchange, exchange->deletion->deleted(), {.version = core_.store.version()});
}

http::Headers ApiServer::MakeHeaders(std::string_view content_type) const {
  return {{"Content-Type", content_type.empty() ? "application/json" : std::string(content_type)},
          {"Cache-Control", "no-cache, private"},
          {"Date", http::FormatDate(core_.Now())}};
}

void ApiServer::Send(Exchange& exchange, const absl::StatusOr<Answer>& answer) {
  if (exchange.info.has_value() && IsWrite(exchange.info->verb)) Log(exchange, answer);
  if (exchange.drop_answer) {
    exchange.writer.reset();
    return;
  }
  if (!answer.ok() && IsNoSuchPage(answer.status())) {
    SendText(exchange, 404, "404 page not found\n");
    return;
  }
  if (!answer.ok()) {
    const json::value status = StatusObject(answer.status());
    const json::value* details = Find(status, "details");
    const int64_t retry = details == nullptr ? 0 : FindInt(*details, "retryAfterSeconds");
    http::Headers headers = MakeHeaders();
    if (retry > 0) headers.emplace_back("Retry-After", std::to_string(retry));
    exchange.writer->Whole(static_cast<int>(FindInt(status, "code", 500)), std::move(headers), ToText(status));
    return;
  }
  if (answer->revision == nullptr) {
    SendDocument(exchange, answer->code, answer->document);
    return;
  }
  const RequestInfo& info = *exchange.info;
  http::Headers headers = MakeHeaders();
  for (const std::string& warning : answer->warnings) {
    headers.emplace_back("Warning", fmt::format("299 - {}", ToText(json::value(warning))));
  }
  exchange.writer->Whole(answer->code, std::move(headers),
                         EncodeObject(*info.type, answer->revision, info.representation, core_.Now()));
}

void ApiServer::SendList(Exchange& exchange, const std::vector<RevisionPtr>& items, const ListMetadata& metadata) {
  const RequestInfo& info = *exchange.info;
  exchange.writer->Head(200, MakeHeaders());
  EncodeList(*info.type, items, metadata, info.representation, core_.Now(),
             [&](std::string_view piece) { exchange.writer->Chunk(piece); });
  exchange.writer->End();
}

void ApiServer::SendDocument(Exchange& exchange, int code, const json::value& document, std::string_view content_type) {
  exchange.writer->Whole(code, MakeHeaders(content_type), ToText(document));
}

void ApiServer::SendText(Exchange& exchange, int code, std::string_view text) {
  if (exchange.drop_answer) {
    exchange.writer.reset();
    return;
  }
  exchange.writer->Whole(code, MakeHeaders("text/plain; charset=utf-8"), text);
}

void ApiServer::SendTooManyRequests(Exchange& exchange, const absl::Status& fault) {
  if (IsWrite(exchange.info->verb)) Log(exchange, fault);
  if (exchange.drop_answer) {
    exchange.writer.reset();
    return;
  }
  http::Headers headers = MakeHeaders("text/plain; charset=utf-8");
  headers.emplace_back("Retry-After", std::to_string(RetryAfterSeconds(fault)));
  exchange.writer->Whole(429, headers, "Too many requests, please try again later.\n");
}

void ApiServer::Log(const Exchange& exchange, const absl::StatusOr<Answer>& answer) {
  const RequestInfo& info = *exchange.info;
  LoggedRequest entry;
  entry.time = core_.Now();
  entry.verb = info.verb;
  entry.group = info.type->group;
  entry.resource = info.type->plural;
  entry.ns = info.ns;
  entry.name = info.name;
  entry.subresource = info.subresource;
  entry.user_agent = info.user_agent;
  entry.dry_run = info.dry_run;
  entry.dropped_answer = exchange.drop_answer;
  entry.dropped_request = exchange.dropped_request;
  if (answer.ok()) {
    entry.status = answer->code;
    if (answer->revision != nullptr) {
      const json::value& object = answer->revision->object();
      entry.uid = UidOf(object);
      entry.resource_version = answer->revision->version();
      entry.name = MetaString(object, "name");
    } else if (const json::value* details = Find(answer->document, "details"); details != nullptr) {
      entry.uid = FindString(*details, "uid");
    }
  } else if (!exchange.dropped_request) {
    entry.status = HttpCode(answer.status());
  }
  if (exchange.deletion != nullptr) {
    entry.label_selector = exchange.target.Query("labelSelector");
    entry.chosen = exchange.deletion->chosen();
    for (const RevisionPtr& deleted : exchange.deletion->deleted()) {
      entry.deleted.push_back(
          {std::string(MetaString(deleted->object(), "name")), std::string(UidOf(deleted->object()))});
    }
  }
  if (core_.options.log_bodies && !exchange.request.body.empty()) {
    if (absl::StatusOr<json::value> body = ParseJson(exchange.request.body); body.ok()) entry.body = *std::move(body);
    if (entry.name.empty()) {
      if (const json::value* name = FindPath(entry.body, {"metadata", "name"}); name != nullptr && name->is_string()) {
        entry.name = std::string(name->get_string());
      }
    }
  }
  log_.Add(std::move(entry));
}

}  // namespace basalt::kubesim
