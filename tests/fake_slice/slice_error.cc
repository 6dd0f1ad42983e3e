#include "tests/fake_slice/slice_error.h"

#include <map>
#include <memory>
#include <mutex>

namespace tp::fake_slice {
namespace {

std::mutex mutex;
std::map<const PJRT_Error*, std::unique_ptr<SliceError>>& errors() {
  static auto* all = new std::map<const PJRT_Error*, std::unique_ptr<SliceError>>;
  return *all;
}

}  // namespace

PJRT_Error* make_error(PJRT_Error_Code code, const std::string& text) {
  auto error = std::make_unique<SliceError>(code, text);
  // The type is opaque to callers: the address is only a name.
  auto* name = reinterpret_cast<PJRT_Error*>(error.get());
  const std::lock_guard lock(mutex);
  errors().emplace(name, std::move(error));
  return name;
}

const SliceError* find_error(const PJRT_Error* error) {
  const std::lock_guard lock(mutex);
  const auto found = errors().find(error);
  return found == errors().end() ? nullptr : found->second.get();
}

void forget_error(PJRT_Error* error) {
  const std::lock_guard lock(mutex);
  errors().erase(error);
}

}  // namespace tp::fake_slice
