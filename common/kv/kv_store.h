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

// A column family for each kind of record. Keys of families that belong to slots start with PutSlot(slot).
enum class Family : uint8_t { kMeta = 0, kRecords, kPods, kHistory, kHistoryIndex, kAux };
inline constexpr size_t kFamilyCount = 6;

// All writes of one step, which are applied all or nothing. Keys and values lie in one buffer. Not thread-safe.
class WriteBatch {
 public:
  // The views point into the batch.
  struct Operation {
    enum class Type : uint8_t { kPut, kDelete, kDeleteRange } type;
    Family family;
    std::string_view key;
    std::string_view value;  // For kDeleteRange this is the end of the range, exclusive.
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

// An ordered store of bytes. Thread-safe. A failed Write is final for the process: the caller stops serving, and never
// goes on from memory alone.
class KvStore {
 public:
  virtual ~KvStore() = default;
  // Applies the batch. After OK, the writes survive the death of the process, and the death of the machine if the store
  // was opened with `sync`.
  virtual absl::Status Write(const WriteBatch& batch) = 0;
  // Nullopt if the key is absent. DATA_LOSS if the store is damaged.
  virtual absl::StatusOr<std::optional<std::string>> Get(Family family, std::string_view key) const = 0;
  // Visits keys in [begin, end) in order until `visit` returns false. An empty `end` means the end of the family. Reads
  // one consistent state.
  using Visitor = std::function<bool(std::string_view key, std::string_view value)>;
  virtual absl::Status Scan(Family family, std::string_view begin, std::string_view end,
                            const Visitor& visit) const = 0;
};

// Returns the smallest key that is greater than every key starting with `prefix`. Empty if there is no such key.
std::string PrefixEnd(std::string_view prefix);

// ---- key codec: the bytes of the parts sort as their values do ----
void PutSlot(std::string& key, uint32_t slot);          // Puts 2 bytes, big endian. Requires: slot < kSlotCount.
void PutFixed64(std::string& key, uint64_t value);      // Puts 8 bytes, big endian.
void PutText(std::string& key, std::string_view text);  // Puts the text and a NUL. Requires: the text has no NUL.
bool TakeSlot(std::string_view& key, uint32_t& slot);
bool TakeFixed64(std::string_view& key, uint64_t& value);
bool TakeText(std::string_view& key, std::string& text);

// The folder of the store in OpenOptions::data_dir.
inline constexpr std::string_view kStoreFolder = "store";

struct OpenOptions {
  std::string data_dir;  // May be a mount point with other contents: only kStoreFolder in it is used.
  std::string cluster = "default";
  std::string service;  // Is jobsvc, …
  std::string replica;
  bool sync = false;       // Calls fsync for every write: the store survives power loss, at a tenth of the speed.
  int64_t created_ms = 0;  // Goes into the identity of a new folder. The caller has the clock.
  // Moves a corrupt or foreign store aside, to "store.aside-<n>" beside it, instead of refusing the store.
  bool rebuild = false;
};

// Opens RocksDB in its own folder below data_dir. Makes both folders if they are missing. Migrates a store of an older
// schema (migrations.h). FAILED_PRECONDITION: the store belongs to another cluster, service, replica or slot count (the
// message has both values), a newer program wrote the store with a schema that this program cannot read, another
// process has the store open, the store lies in data_dir itself as with earlier versions, or the folder cannot be made.
// DATA_LOSS: the store is damaged. Each message names the folder, and states what --rebuild would do where that helps.
absl::StatusOr<std::unique_ptr<KvStore>> OpenRocksKv(const OpenOptions& options);

// The bytes of a store in memory. Stores that are opened over the same MemDisk have the same bytes, as after a reopen.
class MemDisk;
std::shared_ptr<MemDisk> MakeMemDisk();
// Copies the present contents. Later writes to one disk do not reach the other.
std::shared_ptr<MemDisk> CopyMemDisk(MemDisk& disk);
std::unique_ptr<KvStore> OpenMemKv(std::shared_ptr<MemDisk> disk);

}  // namespace basalt::kv
