#include "services/queuesvc/core/check_queue_spec.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "common/kube/names.h"

namespace basalt::queuesvc {
namespace {

using Amounts = google::protobuf::RepeatedPtrField<kube::v1::KeyValue>;

// This annotation of a queue has the weight of each part of volcano.sh/hierarchy, separated by slashes.
constexpr std::string_view kHierarchyWeights = "volcano.sh/hierarchy-weights";

// Whether Kubernetes' quotas accept only whole numbers of the resource.
bool IsCounted(std::string_view resource) {
  constexpr std::array<std::string_view, 9> kCounted = {"pods",
                                                        "services",
                                                        "secrets",
                                                        "configmaps",
                                                        "persistentvolumeclaims",
                                                        "replicationcontrollers",
                                                        "resourcequotas",
                                                        "services.nodeports",
                                                        "services.loadbalancers"};
  if (std::find(kCounted.begin(), kCounted.end(), resource) != kCounted.end()) return true;
  return resource.find('/') != resource.npos && resource.find("kubernetes.io/") == resource.npos &&
         !resource.starts_with("requests.");
}

bool Names(const Amounts& amounts, std::string_view resource) {
  return std::any_of(amounts.begin(), amounts.end(), [&](const auto& amount) { return amount.key() == resource; });
}

size_t PartsOf(std::string_view path) { return static_cast<size_t>(std::count(path.begin(), path.end(), '/')) + 1; }

bool IsAboveZero(std::string_view number) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  return error == std::errc() && end == number.data() + number.size() && value > 0;
}

class Checking {
 public:
  explicit Checking(const kube::v1::Queue& queue) : queue_(queue) {}

  std::vector<QueueProblem> Check() {
    CheckParent();
    CheckAmounts("spec.capability", queue_.capability());
    CheckAmounts("spec.deserved", queue_.deserved());
    CheckAmounts("spec.guarantee.resource", queue_.guarantee());
    CheckGuarantee();
    CheckDeserved();
    CheckHierarchy();
    return std::move(problems_);
  }

 private:
  void Add(std::string_view field, std::string rule) { problems_.push_back({std::string(field), std::move(rule)}); }

  void CheckParent() {
    const std::string& name = queue_.meta().name();
    if (!name.empty() && queue_.parent() == name) Add("spec.parent", "is the queue itself; name another queue");
  }

  void CheckAmounts(std::string_view field, const Amounts& amounts) {
    for (const kube::v1::KeyValue& amount : amounts) {
      const kube::Quantity quantity = AmountOf(amounts, amount.key());
      if (quantity.IsNegative()) {
        Add(field, fmt::format("{}: {} is negative; use 0 or more", amount.key(), amount.value()));
      } else if (IsCounted(amount.key()) && quantity != kube::Quantity::OfInt(quantity.Value())) {
        Add(field, fmt::format("{}: {} has a part of something that is counted; use a whole number", amount.key(),
                               amount.value()));
      }
    }
  }

  void CheckGuarantee() {
    for (const kube::v1::KeyValue& amount : queue_.guarantee()) {
      const std::string& resource = amount.key();
      if (!Names(queue_.deserved(), resource)) {
        Add("spec.guarantee.resource", fmt::format("{}: spec.deserved does not name it; add it there", resource));
        continue;
      }
      const kube::Quantity deserved = AmountOf(queue_.deserved(), resource);
      if (AmountOf(queue_.guarantee(), resource) <= deserved) continue;
      Add("spec.guarantee.resource", fmt::format("{}: {} is more than is deserved, {}; lower it, or raise deserved",
                                                 resource, amount.value(), deserved.Text()));
    }
  }

  void CheckDeserved() {
    for (const kube::v1::KeyValue& amount : queue_.deserved()) {
      const std::string& resource = amount.key();
      if (!Names(queue_.capability(), resource)) continue;
      const kube::Quantity most = AmountOf(queue_.capability(), resource);
      if (AmountOf(queue_.deserved(), resource) <= most) continue;
      Add("spec.deserved", fmt::format("{}: {} is more than the capability, {}; lower it, or raise capability",
                                       resource, amount.value(), most.Text()));
    }
  }

  void CheckHierarchy() {
    std::string_view path;
    std::string_view weights;
    for (const kube::v1::KeyValue& annotation : queue_.meta().annotations()) {
      if (annotation.key() == kHierarchyKey) path = annotation.value();
      if (annotation.key() == kHierarchyWeights) weights = annotation.value();
    }
    if (path.empty() && weights.empty()) return;
    if (PartsOf(path) != PartsOf(weights)) {
      return Add("metadata.annotations", fmt::format("{} \"{}\" and {} \"{}\" must have as many parts", kHierarchyKey,
                                                     path, kHierarchyWeights, weights));
    }
    for (std::string_view rest = weights;;) {
      const size_t slash = rest.find('/');
      if (!IsAboveZero(rest.substr(0, slash))) {
        return Add("metadata.annotations",
                   fmt::format("{} \"{}\": each part must be a number above 0", kHierarchyWeights, weights));
      }
      if (slash == rest.npos) return;
      rest.remove_prefix(slash + 1);
    }
  }

  const kube::v1::Queue& queue_;
  std::vector<QueueProblem> problems_;
};

}  // namespace

std::vector<QueueProblem> CheckQueueSpec(const kube::v1::Queue& queue) { return Checking(queue).Check(); }

std::string CircleText(std::vector<std::string_view> queues) {
  constexpr size_t kMostNames = 8;
  if (queues.size() < 2) return {};
  std::rotate(queues.begin(), std::min_element(queues.begin(), queues.end()), queues.end());
  const size_t named = std::min(queues.size(), kMostNames);
  std::string text =
      fmt::format("{}", fmt::join(queues.begin(), queues.begin() + static_cast<ptrdiff_t>(named), " -> "));
  if (named < queues.size()) text += fmt::format(" -> ... ({} more)", queues.size() - named);
  return fmt::format(
      "the parents of {} queues are a circle, {} -> {}: none of them counts as having a parent; name "
      "another parent for one of them",
      queues.size(), text, queues.front());
}

std::string QueueSpecWarning(const kube::v1::Queue& queue, std::string_view circle) {
  std::vector<QueueProblem> problems = CheckQueueSpec(queue);
  if (!circle.empty()) problems.push_back({"spec.parent", std::string(circle)});
  std::string text;
  for (const QueueProblem& problem : problems) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", problem.field, problem.rule);
  }
  return text;
}

}  // namespace basalt::queuesvc
