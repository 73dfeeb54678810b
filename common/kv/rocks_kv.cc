#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "basalt/storage/v1/storage.pb.h"
#include "common/base/slots.h"
#include "common/base/status.h"
#include "common/base/status_macros.h"
#include "common/kv/kv_store.h"
#include "common/kv/migrations.h"
#include "common/obs/log.h"
#include "fmt/format.h"

namespace basalt::kv {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIdentityKey = "!identity";
// The names are in the order of Family. The first one is RocksDB's own default, so that the identity is readable
// whatever other families exist.
constexpr std::array<const char*, kFamilyCount> kFamilyNames = {"default", "records",       "pods",
                                                                "history", "history_index", "aux"};
constexpr std::string_view kRebuildHint = "--rebuild moves the folder aside and starts fresh from Kubernetes";

std::string StorePath(const OpenOptions& options) { return (fs::path(options.data_dir) / kStoreFolder).string(); }

rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

absl::Status FromRocks(const rocksdb::Status& status, std::string_view what) {
  if (status.ok()) return absl::OkStatus();
  const absl::StatusCode code = status.IsCorruption() ? absl::StatusCode::kDataLoss : absl::StatusCode::kInternal;
  return MakeStatus(code, fmt::format("{}: {}", what, status.ToString()));
}

rocksdb::ColumnFamilyOptions FamilyOptions(const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 4 << 20;
  // Do not set memtable_insert_with_hint_prefix_extractor, however much it saves: RocksDB 7.8 uses a hint of the points
  // for the deletion of a range, too, and then aborts or loses keys.
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  // This is the newest format that Debian 12's RocksDB 7.8 reads, so a store can go both ways between the versions.
  table.format_version = 5;
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

rocksdb::DBOptions DatabaseOptions() {
  rocksdb::DBOptions options;
  options.create_if_missing = true;
  options.create_missing_column_families = true;
  options.info_log_level = rocksdb::WARN_LEVEL;
  options.keep_log_file_num = 2;
  options.max_log_file_size = 1 << 20;
  options.db_write_buffer_size = 16 << 20;  // This limit is for all families together.
  options.max_total_wal_size = 64 << 20;
  options.max_open_files = 256;
  options.max_background_jobs = 2;
  options.stats_dump_period_sec = 0;
  return options;
}

class RocksKv final : public KvStore {
 public:
  RocksKv(std::unique_ptr<rocksdb::DB> db, std::vector<rocksdb::ColumnFamilyHandle*> families, bool sync)
      : db_(std::move(db)), families_(std::move(families)), sync_(sync) {}

  ~RocksKv() override {
    for (rocksdb::ColumnFamilyHandle* family : families_) db_->DestroyColumnFamilyHandle(family).PermitUncheckedError();
    db_->Close().PermitUncheckedError();
  }

  absl::Status Write(const WriteBatch& batch) override {
    if (batch.empty()) return absl::OkStatus();
    rocksdb::WriteBatch out;
    for (size_t i = 0; i < batch.size(); ++i) {
      const WriteBatch::Operation operation = batch[i];
      rocksdb::ColumnFamilyHandle* family = Handle(operation.family);
      rocksdb::Status status;
      switch (operation.type) {
        case WriteBatch::Operation::Type::kPut:
          status = out.Put(family, ToSlice(operation.key), ToSlice(operation.value));
          break;
        case WriteBatch::Operation::Type::kDelete:
          status = out.Delete(family, ToSlice(operation.key));
          break;
        case WriteBatch::Operation::Type::kDeleteRange:
          if (operation.key < operation.value)
            status = out.DeleteRange(family, ToSlice(operation.key), ToSlice(operation.value));
          break;
      }
      BASALT_RETURN_IF_ERROR(FromRocks(status, "store write"));
    }
    rocksdb::WriteOptions options;
    options.sync = sync_;
    return FromRocks(db_->Write(options, &out), "store write");
  }

  absl::StatusOr<std::optional<std::string>> Get(Family family, std::string_view key) const override {
    std::string value;
    const rocksdb::Status status = db_->Get({}, Handle(family), ToSlice(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    BASALT_RETURN_IF_ERROR(FromRocks(status, "store read"));
    return std::optional<std::string>(std::move(value));
  }

  absl::Status Scan(Family family, std::string_view begin, std::string_view end, const Visitor& visit) const override {
    rocksdb::ReadOptions options;
    const rocksdb::Slice bound = ToSlice(end);
    if (!end.empty()) options.iterate_upper_bound = &bound;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, Handle(family)));
    for (it->Seek(ToSlice(begin)); it->Valid(); it->Next()) {
      if (!visit(ToView(it->key()), ToView(it->value()))) break;
    }
    return FromRocks(it->status(), "store scan");
  }

  bool IsEmpty() const {
    for (rocksdb::ColumnFamilyHandle* family : families_) {
      const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator({}, family));
      it->SeekToFirst();
      if (it->Valid()) return false;
    }
    return true;
  }

 private:
  rocksdb::ColumnFamilyHandle* Handle(Family family) const { return families_[static_cast<size_t>(family)]; }

  const std::unique_ptr<rocksdb::DB> db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;
  const bool sync_;
};

// Makes the folder of the store if the folder is missing. Other contents of data_dir are left alone: a volume brings
// its own folders, such as lost+found.
absl::Status MakeFolder(const OpenOptions& options) {
  const std::string path = StorePath(options);
  std::error_code error;
  if (fs::exists(options.data_dir, error) && !fs::is_directory(options.data_dir, error)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, fmt::format("{} is not a folder", options.data_dir));
  }
  if (fs::exists(path, error)) {
    // An earlier version left the folder open to all. The permissions of another user's folder cannot be changed.
    fs::permissions(path, fs::perms::owner_all, error);
    return absl::OkStatus();
  }
  if (fs::exists(fs::path(options.data_dir) / "CURRENT", error)) {
    if (!options.rebuild) {
      return MakeStatus(
          absl::StatusCode::kFailedPrecondition,
          fmt::format("a store lies directly in {}, where earlier versions had it: move its files (CURRENT, IDENTITY, "
                      "LOCK, LOG*, MANIFEST-*, OPTIONS-*, *.log, *.sst) to {}, or let --rebuild leave them where they "
                      "are and start fresh from Kubernetes",
                      options.data_dir, path));
    }
    obs::LogWarning("a store of an earlier version is left where it is", {{"folder", options.data_dir}});
  }
  const bool is_new = !fs::exists(options.data_dir, error);
  fs::create_directories(path, error);
  if (!error) {
    if (is_new) fs::permissions(options.data_dir, fs::perms::owner_all, error);
    fs::permissions(path, fs::perms::owner_all, error);
    return absl::OkStatus();
  }
  const bool is_denied = error == std::errc::permission_denied;
  return MakeStatus(
      absl::StatusCode::kFailedPrecondition,
      fmt::format("{} cannot be made: {}{}", path, error.message(),
                  is_denied ? fmt::format("; user {} must be able to write to {}", geteuid(), options.data_dir) : ""));
}

// Checks the contents of the folder, since RocksDB's Open makes a new database in any folder that has no CURRENT.
absl::Status CheckFolder(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, fmt::format("{} is not a folder; {}", path, kRebuildHint));
  }
  if (fs::exists(fs::path(path) / "CURRENT", error)) return absl::OkStatus();
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    const std::string name = entry.path().filename().string();
    const std::string extension = entry.path().extension().string();
    if (extension == ".sst" || extension == ".log") {
      return MakeStatus(absl::StatusCode::kDataLoss,
                        fmt::format("the store in {} is damaged: CURRENT is missing; {}", path, kRebuildHint));
    }
    // A first start that was killed before its end leaves such files.
    const bool ours = name == "LOCK" || name == "IDENTITY" || name.starts_with("LOG") ||
                      name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-") || extension == ".dbtmp";
    if (!ours) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        fmt::format("{} holds something else than a store ({}); {}", path, name, kRebuildHint));
    }
  }
  return absl::OkStatus();
}

// Returns whether another process has the folder open. This is the only error that persists if the folder is moved
// aside.
bool IsLocked(const rocksdb::Status& status) {
  const std::string text = status.ToString();
  return status.IsIOError() && (text.find("lock hold by current process") != std::string::npos ||
                                text.find("While lock file") != std::string::npos);
}

struct Opened {
  std::unique_ptr<RocksKv> store;  // Null if `status` is an error.
  absl::Status status;
  bool rebuildable = false;
};

// Migrates a store of an older schema. Takes a store of a newer schema back, if the store states that this program may
// read it.
absl::Status CheckSchema(const std::string& path, storage::v1::StoreIdentity stored, KvStore& store) {
  const uint32_t there = stored.schema_version();
  if (there == kSchemaVersion) return absl::OkStatus();
  const bool is_readable = stored.readable_from() != 0 && stored.readable_from() <= kSchemaVersion;
  if (there > kSchemaVersion && !is_readable) {
    const std::string readers =
        stored.readable_from() == 0
            ? ""
            : fmt::format(", which programs of schema {} and later read", stored.readable_from());
    return MakeStatus(
        absl::StatusCode::kFailedPrecondition,
        fmt::format("the store in {} was written by a newer program: its schema is {}{}, and the schema of "
                    "this program is {}. Start the newer program again; {}",
                    path, there, readers, kSchemaVersion, kRebuildHint));
  }
  // From here on this program writes records of its own schema. A newer program will migrate them when it comes back.
  if (there < kSchemaVersion) BASALT_RETURN_IF_ERROR(Migrate(there, store));
  stored.set_schema_version(kSchemaVersion);
  stored.set_readable_from(kReadableFrom);
  WriteBatch batch;
  batch.Put(Family::kMeta, std::string(kIdentityKey), stored.SerializeAsString());
  BASALT_RETURN_IF_ERROR(store.Write(batch));
  obs::LogInfo(there < kSchemaVersion ? "store migrated" : "store of a newer schema taken back",
               {{"path", path}, {"from_schema", fmt::to_string(there)}, {"to_schema", fmt::to_string(kSchemaVersion)}});
  return absl::OkStatus();
}

absl::Status CheckIdentity(RocksKv& store, const OpenOptions& options) {
  const std::string path = StorePath(options);
  storage::v1::StoreIdentity wanted;
  wanted.set_schema_version(kSchemaVersion);
  wanted.set_readable_from(kReadableFrom);
  wanted.set_cluster(options.cluster);
  wanted.set_service(options.service);
  wanted.set_replica(options.replica);
  wanted.set_slot_count(kSlotCount);
  wanted.set_created_ms(options.created_ms);
  BASALT_ASSIGN_OR_RETURN(const std::optional<std::string> bytes, store.Get(Family::kMeta, kIdentityKey));
  if (!bytes.has_value()) {
    if (!store.IsEmpty()) {
      return MakeStatus(
          absl::StatusCode::kFailedPrecondition,
          fmt::format("{} is a RocksDB of something else: it has no identity record; {}", path, kRebuildHint));
    }
    WriteBatch batch;
    batch.Put(Family::kMeta, std::string(kIdentityKey), wanted.SerializeAsString());
    return store.Write(batch);
  }
  storage::v1::StoreIdentity stored;
  if (!stored.ParseFromString(*bytes)) {
    return MakeStatus(
        absl::StatusCode::kDataLoss,
        fmt::format("the store in {} is damaged: its identity record cannot be read; {}", path, kRebuildHint));
  }
  std::string differences;
  const auto compare = [&](std::string_view name, const auto& there, const auto& here) {
    if (there != here) {
      differences +=
          fmt::format("{}{} is '{}' there and '{}' here", differences.empty() ? "" : ", ", name, there, here);
    }
  };
  compare("cluster", stored.cluster(), wanted.cluster());
  compare("service", stored.service(), wanted.service());
  compare("replica", stored.replica(), wanted.replica());
  compare("slot count", stored.slot_count(), wanted.slot_count());
  if (differences.empty()) return CheckSchema(path, stored, store);
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    fmt::format("the store in {} belongs to another: {}; {}", path, differences, kRebuildHint));
}

Opened OpenOnce(const OpenOptions& options) {
  const std::string path = StorePath(options);
  if (absl::Status status = MakeFolder(options); !status.ok()) return {nullptr, std::move(status), false};
  if (absl::Status status = CheckFolder(path); !status.ok()) return {nullptr, std::move(status), true};
  const std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(32 << 20);
  std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
  for (const char* name : kFamilyNames) descriptors.emplace_back(name, FamilyOptions(cache));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status opened = rocksdb::DB::Open(DatabaseOptions(), path, descriptors, &handles, &db);
  if (!opened.ok()) {
    if (IsLocked(opened)) {
      return {
          nullptr,
          MakeStatus(absl::StatusCode::kFailedPrecondition,
                     fmt::format("another process has the store in {} open ({}); --rebuild would not help: stop that "
                                 "process or use another folder",
                                 path, opened.ToString())),
          false};
    }
    if (opened.IsInvalidArgument()) {
      return {
          nullptr,
          MakeStatus(absl::StatusCode::kFailedPrecondition,
                     fmt::format("{} is a RocksDB of something else ({}); {}", path, opened.ToString(), kRebuildHint)),
          true};
    }
    if (opened.IsCorruption() || opened.IsPathNotFound() || opened.IsNotFound()) {
      return {nullptr,
              MakeStatus(absl::StatusCode::kDataLoss,
                         fmt::format("the store in {} is damaged ({}); {}", path, opened.ToString(), kRebuildHint)),
              true};
    }
    return {nullptr,
            MakeStatus(absl::StatusCode::kInternal,
                       fmt::format("the store in {} cannot be opened ({})", path, opened.ToString())),
            false};
  }
  auto store = std::make_unique<RocksKv>(std::unique_ptr<rocksdb::DB>(db), std::move(handles), options.sync);
  if (absl::Status status = CheckIdentity(*store, options); !status.ok()) {
    // A store whose disk is full or fails must not be moved aside.
    const bool is_another = absl::IsFailedPrecondition(status) || absl::IsDataLoss(status);
    return {nullptr, std::move(status), is_another};
  }
  return {std::move(store), absl::OkStatus(), false};
}

absl::Status MoveAside(const std::string& path) {
  for (int n = 1;; ++n) {
    const std::string aside = fmt::format("{}.aside-{}", path, n);
    std::error_code error;
    if (fs::exists(aside, error)) continue;
    fs::rename(path, aside, error);
    if (error == std::errc::device_or_resource_busy) {
      return MakeStatus(
          absl::StatusCode::kFailedPrecondition,
          fmt::format("{} is a mount point and cannot be moved aside: mount the volume at {} instead, and "
                      "the store gets a folder of its own in it",
                      path, fs::path(path).parent_path().string()));
    }
    if (error) {
      return MakeStatus(absl::StatusCode::kInternal,
                        fmt::format("{} cannot be moved to {}: {}", path, aside, error.message()));
    }
    obs::LogWarning("store moved aside", {{"from", path}, {"to", aside}});
    return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<KvStore>> OpenRocksKv(const OpenOptions& options) {
  Opened opened = OpenOnce(options);
  if (!opened.status.ok() && opened.rebuildable && options.rebuild) {
    obs::LogWarning("store is rebuilt", {{"why", std::string(ToStd(opened.status.message()))}});
    BASALT_RETURN_IF_ERROR(MoveAside(StorePath(options)));
    opened = OpenOnce(options);
  }
  BASALT_RETURN_IF_ERROR(opened.status);
  return std::unique_ptr<KvStore>(std::move(opened.store));
}

}  // namespace basalt::kv
