#include "runtime/store_keys.h"

#include <algorithm>
#include <chrono>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "sharding/error.h"

namespace tp {
namespace {

// A call that needs no other rank's doing takes a network round trip.
constexpr std::chrono::milliseconds kCallTimeout{30'000};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::max<int64_t>(1, static_cast<int64_t>(seconds * 1000)));
}

std::vector<uint8_t> bytes_of(const std::string& text) {
  return {text.begin(), text.end()};
}

std::string text_of(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

// Without the C++ stack that c10 adds.
std::string first_line(const char* what) {
  const std::string text(what);
  return text.substr(0, text.find('\n'));
}

}  // namespace

struct StoreKeys::Store {
  std::string address;
  c10::intrusive_ptr<c10d::TCPStore> keys;

  template <class Call>
  auto guarded(Call call) {
    try {
      return call(*keys);
    } catch (const c10::Error& error) {
      throw Error("store " + address, first_line(error.what_without_backtrace()));
    }
  }
};

StoreKeys::StoreKeys(const std::string& host, int port, bool serve, double timeout_s) : store_(std::make_unique<Store>()) {
  store_->address = host + ":" + std::to_string(port);
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(port);
  options.isServer = serve;
  options.waitWorkers = false;
  options.timeout = milliseconds(timeout_s);
  try {
    store_->keys = c10::make_intrusive<c10d::TCPStore>(host, options);
    store_->keys->setTimeout(kCallTimeout);
  } catch (const c10::Error& error) {
    throw Error(
        "store " + store_->address,
        (serve ? "rank 0 cannot keep it: " : "rank 0's cannot be reached: ") + first_line(error.what_without_backtrace()),
        serve ? "a free --master-port, and a --master-addr that is this host"
              : "--master-addr and --master-port of the first host, where tprun --node-rank 0 must run");
  }
}

StoreKeys::~StoreKeys() = default;

void StoreKeys::set(const std::string& key, const std::string& value) {
  store_->guarded([&](c10d::TCPStore& keys) { keys.set(key, bytes_of(value)); });
}

bool StoreKeys::has(const std::string& key) {
  return store_->guarded([&](c10d::TCPStore& keys) { return keys.check({key}); });
}

std::optional<std::string> StoreKeys::get(const std::string& key) {
  if (!has(key)) return std::nullopt;
  return store_->guarded([&](c10d::TCPStore& keys) { return text_of(keys.get(key)); });
}

std::vector<std::string> StoreKeys::get_all(const std::vector<std::string>& keys) {
  std::vector<std::string> values;
  for (const auto& value : store_->guarded([&](c10d::TCPStore& store) { return store.multiGet(keys); }))
    values.push_back(text_of(value));
  return values;
}

bool StoreKeys::wait(const std::vector<std::string>& keys, double timeout_s) {
  try {
    store_->keys->wait(keys, timeout_s > 0 ? milliseconds(timeout_s) : c10d::Store::kNoTimeout);
    return true;
  } catch (const c10::DistStoreError&) {
    return false;
  } catch (const c10::Error& error) {
    throw Error("store " + store_->address, first_line(error.what_without_backtrace()));
  }
}

int64_t StoreKeys::add(const std::string& key, int64_t amount) {
  return store_->guarded([&](c10d::TCPStore& keys) { return keys.add(key, amount); });
}

void StoreKeys::erase(const std::string& key) {
  store_->guarded([&](c10d::TCPStore& keys) { keys.deleteKey(key); });
}

}  // namespace tp
