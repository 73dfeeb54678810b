#include "services/pgsvc/core/grouping/karta/karta_set.h"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "common/base/status.h"

namespace basalt::pgsvc {
namespace {

// This label of a Karta has the API group of the kind that the Karta describes. Kartas' own operator writes it.
constexpr std::string_view kGroupLabel = "run.ai/karta-group";
// This label of a Karta has the API version of the kind that the Karta describes. Kartas' own operator writes it.
constexpr std::string_view kVersionLabel = "run.ai/karta-version";
// This label of a Karta has the kind that the Karta describes. Kartas' own operator writes it.
constexpr std::string_view kKindLabel = "run.ai/karta-kind";

std::string KindTextOf(std::string_view group, std::string_view version, std::string_view kind) {
  return fmt::format("{}/{}/{}", group, version, kind);
}

std::string LabelledKind(ObjectView karta) {
  const auto label = [karta](std::string_view key) {
    const json::string* const text = karta.Label(key);
    return text == nullptr ? std::string_view() : std::string_view(*text);
  };
  return KindTextOf(label(kGroupLabel), label(kVersionLabel), label(kKindLabel));
}

}  // namespace

std::string KartaSet::KindText(ObjectView top) { return KindTextOf(top.group(), top.version(), top.kind()); }

std::vector<std::string> KartaSet::Set(ObjectView karta) {
  std::vector<std::string> kinds = Erase(karta.name());
  const KindName kind = KindOfKarta(karta);
  const std::string text = KindTextOf(kind.group, kind.version, kind.kind);
  if (karta.IsBeingDeleted() || !HasGangInstructions(karta) || LabelledKind(karta) != text) return kinds;
  Entry entry{.uid = std::string(karta.uid()), .kind = text, .karta = nullptr, .problem = {}};
  if (absl::StatusOr<Karta> read = ReadKarta(karta); read.ok()) {
    entry.karta = std::make_shared<const Karta>(*std::move(read));
  } else {
    entry.problem = fmt::format("Karta {}: {}", karta.name(), ToStd(read.status().message()));
  }
  entries_[std::string(karta.name())] = std::move(entry);
  kinds.push_back(text);
  return kinds;
}

std::vector<std::string> KartaSet::Erase(std::string_view name) {
  const auto found = entries_.find(name);
  if (found == entries_.end()) return {};
  std::vector<std::string> kinds{found->second.kind};
  entries_.erase(found);
  return kinds;
}

KartaChoice KartaSet::For(ObjectView top) const {
  const std::string kind = KindText(top);
  KartaChoice choice;
  std::string chosen;
  for (const auto& [name, entry] : entries_) {
    if (entry.kind != kind) continue;
    if (entry.karta == nullptr) {
      if (choice.problem.empty()) choice.problem = entry.problem;
      choice.unusable.push_back({name, entry.uid});
      continue;
    }
    if (!chosen.empty()) {
      return {.karta = nullptr,
              .problem = fmt::format("Kartas {} and {} are both for kind {}", chosen, name, kind),
              .unusable = {{chosen, entries_.find(chosen)->second.uid}, {name, entry.uid}}};
    }
    chosen = name;
    choice.karta = entry.karta;
  }
  if (choice.karta != nullptr) return {.karta = choice.karta};
  return choice;
}

}  // namespace basalt::pgsvc
