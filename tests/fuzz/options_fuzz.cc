#include <cstdint>
#include <string>
#include <vector>

#include "launcher/option_table.h"
#include "launcher/options.h"
#include "sharding/error.h"

namespace {

void ask_for(const tp::Options& options, const tp::OptionRow& row) {
  switch (row.type) {
    case tp::OptionType::kFlag:
      options.flag(row.name);
      break;
    case tp::OptionType::kText:
      options.text(row.name);
      break;
    case tp::OptionType::kTexts:
      options.texts(row.name);
      break;
    case tp::OptionType::kCount:
      options.count(row.name);
      break;
    case tp::OptionType::kNumber:
      options.number(row.name);
      break;
  }
}

}  // namespace

// A command line, one argument a line, is refused with an Error or every option of it can be asked for.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<std::string> arguments(1);
  for (size_t i = 0; i < size; ++i) {
    if (data[i] == '\n') {
      arguments.emplace_back();
    } else if (data[i] != 0) {  // an argument has none
      arguments.back() += static_cast<char>(data[i]);
    }
  }
  try {
    const tp::Options options = tp::parse_options(arguments);
    for (const tp::OptionRow& row : tp::option_table()) ask_for(options, row);
  } catch (const tp::Error&) {
  }
  return 0;
}
