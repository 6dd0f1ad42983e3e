#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tp {

// A connection to the key-value store of a job (libtorch's c10d::TCPStore). One thread at a time. Everything throws Error when
// the store is gone.
class StoreKeys {
 public:
  // With `serve` the store itself starts in this process, on `port`, and lives as long as the connection; otherwise tries to
  // reach it for `timeout_s`. Throws Error.
  StoreKeys(const std::string& host, int port, bool serve, double timeout_s);
  ~StoreKeys();
  StoreKeys(const StoreKeys&) = delete;
  StoreKeys& operator=(const StoreKeys&) = delete;

  void set(const std::string& key, const std::string& value);
  std::optional<std::string> get(const std::string& key);  // nullopt when nobody has set it
  // Values of keys that are all there.
  std::vector<std::string> get_all(const std::vector<std::string>& keys);
  // False when time is up before all of them are there. 0 = wait for ever.
  bool wait(const std::vector<std::string>& keys, double timeout_s);
  bool has(const std::string& key);
  // The sum of everything that was added under the key, this amount included.
  int64_t add(const std::string& key, int64_t amount);
  void erase(const std::string& key);

 private:
  struct Store;
  std::unique_ptr<Store> store_;
};

}  // namespace tp
