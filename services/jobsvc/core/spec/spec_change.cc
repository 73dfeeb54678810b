#include "services/jobsvc/core/spec/spec_change.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/excerpt.h"
#include "services/jobsvc/core/plugins/stable_text.h"
#include "services/jobsvc/core/validate/validate.h"

namespace basalt::jobsvc {

namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using storage::v1::SpecRecord;
using Fields = google::protobuf::RepeatedPtrField<SpecRecord::Field>;

constexpr size_t kMostNamed = 8;  // Applies to changes with numbers and to named fields.
constexpr size_t kMostOfName = 63;

// Takes the field out of the message and returns its hash.
uint64_t TakeHash(const FieldDescriptor* field, Message& message) {
  const std::unique_ptr<Message> one(message.New());
  message.GetReflection()->SwapFields(&message, one.get(), {field});
  return StableHash(one->SerializeAsString());
}

bool HasJson(const FieldDescriptor& field) {
  const Descriptor& message = *field.containing_type();
  return (&message == kube::v1::TaskSpec::descriptor() &&
          field.number() == kube::v1::TaskSpec::kTemplateJsonFieldNumber) ||
         (&message == kube::v1::JobSpec::descriptor() && field.number() == kube::v1::JobSpec::kVolumesFieldNumber);
}

// Takes the fields that are left out of the message. `fixed` is the message's FixedPart.
void TakeFields(Message& message, Message& fixed, Fields& fields) {
  std::vector<const FieldDescriptor*> given;
  message.GetReflection()->ListFields(message, &given);
  for (const FieldDescriptor* field : given) {
    SpecRecord::Field& kept = *fields.Add();
    kept.set_number(field->number());
    kept.set_hash(TakeHash(field, message));
    if (HasJson(*field)) kept.set_meaning(TakeHash(field, fixed));
  }
}

// Returns the field's name as people write it.
std::string NameOf(const Descriptor& message, int number) {
  const FieldDescriptor* const field = message.FindFieldByNumber(number);
  // The record was kept by a newer version of Basalt, which knows the field.
  if (field == nullptr) return "?";
  std::string name(field->json_name());
  if (name.ends_with("Json")) name.resize(name.size() - 4);
  return name;
}

bool IsEdited(const SpecRecord::Field& before, const SpecRecord::Field& after) { return before.hash() != after.hash(); }

// Compares by meaning. False if only one of the two was kept with its meaning, so that nobody can know.
bool IsAnother(const SpecRecord::Field& before, const SpecRecord::Field& after) {
  if (before.meaning() == 0 && after.meaning() == 0) return IsEdited(before, after);
  return before.meaning() != 0 && after.meaning() != 0 && before.meaning() != after.meaning();
}

using Differs = bool (*)(const SpecRecord::Field& before, const SpecRecord::Field& after);

void CompareFields(const Fields& before, const Fields& after, const Descriptor& message, const std::string& path,
                   Differs differs, std::vector<std::string>& named) {
  int a = 0;
  int b = 0;
  while (a < before.size() || b < after.size()) {
    const bool only_before = b == after.size() || (a < before.size() && before[a].number() < after[b].number());
    const bool only_after = a == before.size() || (b < after.size() && after[b].number() < before[a].number());
    const int number = only_after ? after[b].number() : before[a].number();
    if (only_before || only_after || differs(before[a], after[b])) {
      named.push_back(path + NameOf(message, number));
    }
    a += only_after ? 0 : 1;
    b += only_before ? 0 : 1;
  }
}

template <typename Facts>
std::string MinAvailableOf(const Facts& facts) {
  return facts.has_min_available() ? fmt::format("{}", facts.min_available()) : "unset";
}

std::string PriorityText(const SpecRecord& spec) {
  return spec.priority_class_name().empty() ? "none" : Excerpt(spec.priority_class_name(), kMostOfName);
}

void AddIfDiffers(std::string_view what, const std::string& before, const std::string& after,
                  std::vector<std::string>& changes) {
  if (before != after) changes.push_back(fmt::format("{} {} -> {}", what, before, after));
}

// Names every changed field that is no size.
void NameChanges(const SpecRecord& before, const SpecRecord& after, Differs differs, std::vector<std::string>& named) {
  for (int i = 0; i < std::min(before.tasks_size(), after.tasks_size()); ++i) {
    const SpecRecord::Task& old_task = before.tasks(i);
    const SpecRecord::Task& new_task = after.tasks(i);
    const std::string path = fmt::format("tasks[{}].", i);
    if (old_task.name() != new_task.name()) named.push_back(path + "name");
    CompareFields(old_task.fields(), new_task.fields(), *kube::v1::TaskSpec::descriptor(), path, differs, named);
  }
  CompareFields(before.fields(), after.fields(), *kube::v1::JobSpec::descriptor(), "", differs, named);
}

void CompareTask(const SpecRecord::Task& before, const SpecRecord::Task& after, std::vector<std::string>& changes) {
  std::vector<std::string> sizes;
  AddIfDiffers("replicas", fmt::format("{}", before.replicas()), fmt::format("{}", after.replicas()), sizes);
  AddIfDiffers("minAvailable", MinAvailableOf(before), MinAvailableOf(after), sizes);
  if (!sizes.empty()) {
    changes.push_back(fmt::format("task {}: {}", Excerpt(before.name(), kMostOfName), fmt::join(sizes, ", ")));
  }
}

// Joins the first parts and adds the number of the others; `last` stands before that number.
std::string Join(const std::vector<std::string>& parts, std::string_view between, std::string_view last) {
  const size_t shown = std::min(parts.size(), kMostNamed);
  std::string text =
      fmt::format("{}", fmt::join(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(shown), between));
  if (shown < parts.size()) text += fmt::format("{}and {} more", last, parts.size() - shown);
  return text;
}

}  // namespace

SpecRecord SpecFacts(kube::v1::JobSpec spec) {
  ClearDefaults(spec);  // A default that is introduced later then fills the field without an edit.
  kube::v1::JobSpec fixed = FixedPart(spec);
  SpecRecord facts;
  facts.set_format(kSpecFormat);
  if (spec.has_min_available()) facts.set_min_available(spec.min_available());
  facts.set_priority_class_name(spec.priority_class_name());
  for (int i = 0; i < spec.tasks_size(); ++i) {
    kube::v1::TaskSpec& task = *spec.mutable_tasks(i);
    SpecRecord::Task& kept = *facts.add_tasks();
    kept.set_name(task.name().empty() ? fmt::format("default{}", i) : task.name());
    kept.set_replicas(task.replicas());
    if (task.has_min_available()) kept.set_min_available(task.min_available());
    task.clear_name();
    task.clear_replicas();
    task.clear_min_available();
    TakeFields(task, *fixed.mutable_tasks(i), *kept.mutable_fields());
  }
  spec.clear_min_available();
  spec.clear_priority_class_name();
  spec.clear_tasks();
  TakeFields(spec, fixed, *facts.mutable_fields());
  return facts;
}

std::string SpecChange(const SpecRecord& before, const SpecRecord& after) {
  std::vector<std::string> changes;
  std::vector<std::string> named;
  AddIfDiffers("minAvailable", MinAvailableOf(before), MinAvailableOf(after), changes);
  AddIfDiffers("priorityClassName", PriorityText(before), PriorityText(after), changes);
  AddIfDiffers("tasks", fmt::format("{}", before.tasks_size()), fmt::format("{}", after.tasks_size()), changes);
  for (int i = 0; i < std::min(before.tasks_size(), after.tasks_size()); ++i) {
    CompareTask(before.tasks(i), after.tasks(i), changes);
  }
  NameChanges(before, after, IsEdited, named);
  if (!named.empty()) {
    const std::string others = "spec edited: " + Join(named, ", ", " ");
    return changes.empty() ? others : fmt::format("{}; {}", Join(changes, "; ", "; "), others);
  }
  return Join(changes, "; ", "; ");
}

std::string ForbiddenChange(const SpecRecord& before, const SpecRecord& after) {
  std::vector<std::string> named;
  NameChanges(before, after, IsAnother, named);
  std::string first;
  size_t more = named.size();
  if (before.tasks_size() != after.tasks_size()) {
    first = fmt::format("spec.tasks {}", TaskCountChanged(before.tasks_size(), after.tasks_size()));
  } else if (!named.empty()) {
    first = fmt::format("spec.{} {}", named.front(), kCannotChange);
    --more;
  }
  return more == 0 ? first : fmt::format("{} (and {} more)", first, more);
}

std::string Departure(const SpecRecord& spec) {
  return spec.has_begun_with() ? ForbiddenChange(spec.begun_with(), spec) : std::string();
}

std::string FollowEdit(const SpecRecord& before, bool is_refused, int64_t now_ms, SpecRecord& after) {
  if (before.never_accepted()) {
    after.set_never_accepted(is_refused);
    return {};
  }
  const SpecRecord& begun = before.has_begun_with() ? before.begun_with() : before;
  std::string departure = ForbiddenChange(begun, after);
  if (departure.empty()) return {};
  *after.mutable_begun_with() = begun;
  after.set_departed_ms(before.has_begun_with() ? before.departed_ms() : now_ms);
  return ForbiddenChange(before, after).empty() ? std::string() : departure;
}

}  // namespace basalt::jobsvc
