#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace basalt::kv {

// Column families: one per kind of record. Keys of slot-owned families start with PutSlot(slot).
enum class Family : uint8_t { kMeta = 0, kRecords, kPods, kHistory, kHistoryIndex, kAux };
inline constexpr size_t kFamilyCount = 6;

// Everything that one step records; applied all or nothing. Keys and values lie in one buffer. Not thread-safe.
class WriteBatch {
 public:
  // Views into the batch.
  struct Operation {
    enum class Type : uint8_t { kPut, kDelete, kDeleteRange } type;
    Family family;
    std::string_view key;
    std::string_view value;  // kDeleteRange: the end, exclusive.
  };
  void Put(Family family, std::string_view key, std::string_view value) {
    Add(Operation::Type::kPut, family, key, value);
  }
  void Delete(Family family, std::string_view key) { Add(Operation::Type::kDelete, family, key, {}); }
  void DeleteRange(Family family, std::string_view begin, std::string_view end) {
    Add(Operation::Type::kDeleteRange, family, begin, end);
  }
  bool empty() const { return pieces_.empty(); }
  size_t size() const { return pieces_.size(); }
  Operation operator[](size_t i) const {
    const Piece& piece = pieces_[i];
    const std::string_view bytes(bytes_);
    return {piece.type, piece.family, bytes.substr(piece.at, piece.key_size),
            bytes.substr(piece.at + piece.key_size, piece.value_size)};
  }
  void Clear() {
    pieces_.clear();
    bytes_.clear();
  }

 private:
  struct Piece {
    Operation::Type type;
    Family family;
    uint32_t key_size;
    uint32_t value_size;
    size_t at;
  };
  void Add(Operation::Type type, Family family, std::string_view key, std::string_view value) {
    pieces_.push_back(
        {type, family, static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size()), bytes_.size()});
    bytes_ += key;
    bytes_ += value;
  }

  std::vector<Piece> pieces_;
  std::string bytes_;
};

// An ordered store of bytes. Thread-safe. A failed Write is final for the process: the caller stops serving, it never
// goes on from memory alone.
class KvStore {
 public:
  virtual ~KvStore() = default;
  // Durable against the death of the process (not of the machine, unless opened with sync) when it returns OK.
  virtual absl::Status Write(const WriteBatch& batch) = 0;
  // Absent: nullopt. DATA_LOSS: the store is damaged.
  virtual absl::StatusOr<std::optional<std::string>> Get(Family family, std::string_view key) const = 0;
  // Visits keys in [begin, end) in order (end empty = to the end of the family) until `visit` returns false. Sees one
  // consistent state.
  using Visitor = std::function<bool(std::string_view key, std::string_view value)>;
  virtual absl::Status Scan(Family family, std::string_view begin, std::string_view end,
                            const Visitor& visit) const = 0;
};

// The smallest key that is greater than every key starting with `prefix`; empty when there is none.
std::string PrefixEnd(std::string_view prefix);

// ---- key codec: parts that sort as they mean ----
void PutSlot(std::string& key, uint32_t slot);          // 2 bytes, big endian. Requires: it is below kSlotCount.
void PutFixed64(std::string& key, uint64_t value);      // Big endian.
void PutText(std::string& key, std::string_view text);  // Text without NUL, ended by NUL.
bool TakeSlot(std::string_view& key, uint32_t& slot);
bool TakeFixed64(std::string_view& key, uint64_t& value);
bool TakeText(std::string_view& key, std::string& text);

// The folder of the store in OpenOptions::data_dir.
inline constexpr std::string_view kStoreFolder = "store";

struct OpenOptions {
  std::string data_dir;  // May be a mount point, and hold other things: only kStoreFolder in it is used.
  std::string cluster = "default";
  std::string service;  // jobsvc, …
  std::string replica;
  bool sync = false;       // fsync every write: survives power loss at a tenth of the speed.
  int64_t created_ms = 0;  // Goes into the identity of a new folder; the caller has the clock.
  // A corrupt or foreign store is moved aside, to "store.aside-<n>" beside it, instead of refused.
  bool rebuild = false;
};

// RocksDB in a folder of its own below data_dir; both are made where they are missing. FAILED_PRECONDITION: the store
// belongs to another cluster, service, replica or slot count (both values in the message), a newer program wrote it
// with a schema that this one cannot read (migrations.h; one of an older schema is migrated), another process has it
// open, it lies in data_dir itself as earlier versions had it, or the folder cannot be made. DATA_LOSS: damaged. Each
// message names the folder, and says what --rebuild would do where that helps.
absl::StatusOr<std::unique_ptr<KvStore>> OpenRocksKv(const OpenOptions& options);

// In memory. Several opened over the same MemDisk see the same bytes: that is a reopen.
class MemDisk;
std::shared_ptr<MemDisk> MakeMemDisk();
// What it holds now: what is written to the one later is not in the other.
std::shared_ptr<MemDisk> CopyMemDisk(MemDisk& disk);
std::unique_ptr<KvStore> OpenMemKv(std::shared_ptr<MemDisk> disk);

}  // namespace basalt::kv
