#include "tests/fake_slice/slice_options.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <sstream>

#include "tests/fake_slice/slice_error.h"

namespace tp::fake_slice {
namespace {

std::string text_of(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t number_in(const std::string& text, const char* name) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw SliceError(PJRT_Error_Code_INVALID_ARGUMENT, std::string(name) + "=" + text + " is no number");
  }
  return value;
}

int64_t number_of(const char* name, int64_t otherwise) {
  const std::string text = text_of(name);
  return text.empty() ? otherwise : number_in(text, name);
}

}  // namespace

std::vector<int64_t> coordinates_from_environment() {
  constexpr const char* kName = "TPRUN_FAKE_SLICE_COORDS";
  std::vector<int64_t> coordinates;
  std::istringstream list(text_of(kName));
  for (std::string one; std::getline(list, one, ',');) coordinates.push_back(number_in(one, kName));
  return coordinates;
}

std::string inner_plugin_from_environment() {
  const std::string named = text_of("TPRUN_FAKE_SLICE_PLUGIN");
  return named.empty() ? FAKE_SLICE_CPU_PLUGIN : named;
}

SliceOptions options_from_environment() {
  SliceOptions options;
  const std::string addresses = text_of("TPU_PROCESS_ADDRESSES");
  options.world_size = 1 + static_cast<int>(std::count(addresses.begin(), addresses.end(), ','));
  options.rank = static_cast<int>(number_of("CLOUD_TPU_TASK_ID", 0));
  if (options.rank >= options.world_size) {
    throw SliceError(PJRT_Error_Code_INVALID_ARGUMENT, "CLOUD_TPU_TASK_ID=" + std::to_string(options.rank) +
                                                           " but TPU_PROCESS_ADDRESSES names " +
                                                           std::to_string(options.world_size) + " processes");
  }
  options.job = addresses + " " + text_of("TORCH_TPU_XPROF_SESSION_ID");
  options.timeout = std::chrono::seconds(number_of("TPRUN_FAKE_SLICE_TIMEOUT", 60));
  options.memory_bytes = number_of("TPRUN_FAKE_SLICE_MEMORY", 0);
  options.fail_call = number_of("TPRUN_FAKE_SLICE_FAIL_CALL", 0);
  options.fail_rank = static_cast<int>(number_of("TPRUN_FAKE_SLICE_FAIL_RANK", 0));
  return options;
}

}  // namespace tp::fake_slice
