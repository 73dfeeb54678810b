#include "services/pgsvc/core/grouping/object_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "common/base/status.h"

namespace basalt::pgsvc {

namespace {

const json::object* ObjectOf(const json::value* value) { return value == nullptr ? nullptr : value->if_object(); }

// `found` is the object's value at the path.
template <typename Path>
absl::StatusOr<std::optional<int32_t>> IntOf(const json::value* found, ObjectView object, const Path& path) {
  if (found == nullptr || found->is_null()) return std::optional<int32_t>();
  int64_t number = std::numeric_limits<int64_t>::max();
  if (found->is_int64()) number = found->get_int64();
  if (found->is_uint64() && found->get_uint64() <= std::numeric_limits<int32_t>::max()) {
    number = static_cast<int64_t>(found->get_uint64());
  }
  if (number < std::numeric_limits<int32_t>::min() || number > std::numeric_limits<int32_t>::max()) {
    return Invalid(fmt::format("{}: {}: must be an integer of 32 bits", object.Described(),
                               fmt::join(path.begin(), path.end(), ".")));
  }
  return std::optional<int32_t>(static_cast<int32_t>(number));
}

}  // namespace

std::string_view ObjectView::api_version() const {
  return object_ == nullptr ? std::string_view() : FindString(*object_, "apiVersion");
}

std::string_view GroupOfApiVersion(std::string_view api_version) {
  const size_t slash = api_version.find('/');
  return slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
}

std::string_view ObjectView::group() const { return GroupOfApiVersion(api_version()); }

std::string_view ObjectView::version() const {
  const std::string_view both = api_version();
  const size_t slash = both.find('/');
  return slash == std::string_view::npos ? both : both.substr(slash + 1);
}

std::string_view ObjectView::kind() const {
  return object_ == nullptr ? std::string_view() : FindString(*object_, "kind");
}

std::string_view ObjectView::ns() const { return TextAt({"metadata", "namespace"}); }
std::string_view ObjectView::name() const { return TextAt({"metadata", "name"}); }
std::string_view ObjectView::uid() const { return TextAt({"metadata", "uid"}); }

std::vector<OwnerReference> ObjectView::owners() const {
  std::vector<OwnerReference> owners;
  const json::value* const list = At({"metadata", "ownerReferences"});
  if (list == nullptr || !list->is_array()) return owners;
  for (const json::value& entry : list->get_array()) {
    if (!entry.is_object()) continue;
    const json::value* const controller = Find(entry, "controller");
    owners.push_back({.api_version = FindString(entry, "apiVersion"),
                      .kind = FindString(entry, "kind"),
                      .name = FindString(entry, "name"),
                      .uid = FindString(entry, "uid"),
                      .is_controller = controller != nullptr && controller->is_bool() && controller->get_bool()});
  }
  return owners;
}

bool ObjectView::IsBeingDeleted() const { return !TextAt({"metadata", "deletionTimestamp"}).empty(); }

const json::object* ObjectView::Texts(std::string_view member) const { return ObjectOf(At({"metadata", member})); }
const json::object* ObjectView::labels() const { return Texts("labels"); }
const json::object* ObjectView::annotations() const { return Texts("annotations"); }
const json::string* ObjectView::Label(std::string_view key) const { return TextOf(labels(), key); }
const json::string* ObjectView::Annotation(std::string_view key) const { return TextOf(annotations(), key); }

const json::value* ObjectView::At(std::initializer_list<std::string_view> path) const {
  if (object_ == nullptr) return nullptr;
  const json::value* const found = FindPath(*object_, path);
  return found == nullptr || found->is_null() ? nullptr : found;
}

std::string_view ObjectView::TextAt(std::initializer_list<std::string_view> path) const {
  const json::value* const found = At(path);
  return found != nullptr && found->is_string() ? std::string_view(found->get_string()) : std::string_view();
}

absl::StatusOr<std::optional<int32_t>> ObjectView::IntAt(std::initializer_list<std::string_view> path) const {
  return IntOf(At(path), *this, path);
}

absl::StatusOr<std::optional<int32_t>> ObjectView::IntAt(const std::vector<std::string>& path) const {
  const json::value* found = object_;
  for (const std::string& part : path) found = found == nullptr ? nullptr : Find(*found, part);
  return IntOf(found, *this, path);
}

std::string ObjectView::Described() const {
  if (!where_.empty()) return std::string(where_);
  return ns().empty() ? fmt::format("{} {}", kind(), name()) : fmt::format("{} {}/{}", kind(), ns(), name());
}

const json::string* TextOf(const json::object* texts, std::string_view key) {
  if (texts == nullptr) return nullptr;
  const auto found = texts->find(key);
  return found == texts->end() ? nullptr : found->value().if_string();
}

}  // namespace basalt::pgsvc
