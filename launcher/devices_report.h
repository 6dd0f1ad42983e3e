#pragma once

#include <string>

#include "launcher/chips.h"

namespace tp {

// `tprun devices`: "True 4" or "False 0", then a table, or what was looked for.
std::string devices_text(const HostChips& host, const std::string& root);
// `tprun devices --json`, as cli.md has it; chips that cannot be used are under "unusable" with the reason.
std::string devices_json(const HostChips& host);

}  // namespace tp
