#pragma once

#include <functional>
#include <string>

#include "sharding/json_document.h"

namespace tp {

// Reads a file of one JSON object per line (`-` is standard input) and gives each to `take` with its line number; blank lines
// are passed over. What is not an object, and what `take` refuses by throwing Error, is collected; one Error then lists all bad
// lines with their numbers. A file without any object is an Error too.
void read_jsonl(const std::string& path, const std::function<void(const Json& object, int64_t line)>& take);

// Throws Error for keys of `object` that are not in `known`, with near names.
void require_known_keys(const Json& object, const std::vector<std::string>& known);

}  // namespace tp
