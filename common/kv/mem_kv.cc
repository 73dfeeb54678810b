#include <array>
#include <map>

#include "common/base/mutex.h"
#include "common/kv/kv_store.h"

namespace basalt::kv {

class MemDisk {
 public:
  using Table = std::map<std::string, std::string, std::less<>>;

  Mutex mutex;
  std::array<Table, kFamilyCount> tables BASALT_GUARDED_BY(mutex);
};

namespace {

class MemKv final : public KvStore {
 public:
  explicit MemKv(std::shared_ptr<MemDisk> disk) : disk_(std::move(disk)) {}

  absl::Status Write(const WriteBatch& batch) override {
    MutexLock lock(disk_->mutex);
    for (size_t i = 0; i < batch.size(); ++i) {
      const WriteBatch::Operation operation = batch[i];
      MemDisk::Table& table = disk_->tables[static_cast<size_t>(operation.family)];
      switch (operation.type) {
        case WriteBatch::Operation::Type::kPut:
          table.insert_or_assign(std::string(operation.key), std::string(operation.value));
          break;
        case WriteBatch::Operation::Type::kDelete:
          if (const auto found = table.find(operation.key); found != table.end()) table.erase(found);
          break;
        case WriteBatch::Operation::Type::kDeleteRange:
          if (operation.key < operation.value) {
            table.erase(table.lower_bound(operation.key), table.lower_bound(operation.value));
          }
          break;
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<std::string>> Get(Family family, std::string_view key) const override {
    MutexLock lock(disk_->mutex);
    const MemDisk::Table& table = disk_->tables[static_cast<size_t>(family)];
    const auto found = table.find(key);
    if (found == table.end()) return std::optional<std::string>();
    return std::optional<std::string>(found->second);
  }

  absl::Status Scan(Family family, std::string_view begin, std::string_view end, const Visitor& visit) const override {
    std::vector<std::pair<std::string, std::string>> seen;  // Is a copy, since the visitor may use the store.
    {
      MutexLock lock(disk_->mutex);
      const MemDisk::Table& table = disk_->tables[static_cast<size_t>(family)];
      for (auto it = table.lower_bound(begin); it != table.end() && (end.empty() || it->first < end); ++it) {
        seen.emplace_back(*it);
      }
    }
    for (const auto& [key, value] : seen) {
      if (!visit(key, value)) break;
    }
    return absl::OkStatus();
  }

 private:
  const std::shared_ptr<MemDisk> disk_;
};

}  // namespace

std::shared_ptr<MemDisk> MakeMemDisk() { return std::make_shared<MemDisk>(); }

std::shared_ptr<MemDisk> CopyMemDisk(MemDisk& disk) {
  auto copy = MakeMemDisk();
  MutexLock lock(disk.mutex);
  MutexLock copy_lock(copy->mutex);
  copy->tables = disk.tables;
  return copy;
}

std::unique_ptr<KvStore> OpenMemKv(std::shared_ptr<MemDisk> disk) { return std::make_unique<MemKv>(std::move(disk)); }

}  // namespace basalt::kv
