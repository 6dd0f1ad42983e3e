#include "launcher/compiled_options.h"

#include <filesystem>

#include "sharding/error.h"

namespace tp {
namespace {

// A program writes the cache slot by slot: its text grows with each, and the compiler's time with it.
constexpr int64_t kMostSlots = 1024;

}  // namespace

void refuse_what_programs_lack(const Options& options) {
  if (options.given("activations"))
    throw Error("--activations", "chips multiply in the model's dtype", "leave it out, or --device cpu");
  if (options.given("cache-dtype"))
    throw Error("--cache-dtype", "chips keep the cache in the model's dtype", "leave it out, or --device cpu");
  if (const int64_t batch = options.count("batch").value_or(1); batch > kMostSlots) {
    throw Error("--batch",
                std::to_string(batch) + " prompts in flight are more than the " + std::to_string(kMostSlots) +
                    " that a program is made for",
                "--batch " + std::to_string(kMostSlots) + " or less");
  }
  const std::filesystem::path dump = options.text("dump-hlo");
  std::error_code ignored;
  if (!dump.empty() && std::filesystem::exists(dump, ignored) && !std::filesystem::is_directory(dump, ignored))
    throw Error("--dump-hlo", dump.string() + " is not a directory", "name a directory, which is made if it is not there");
}

}  // namespace tp
