#pragma once

#include <functional>
#include <string>

#include "sharding/json_document.h"

namespace tp {

// Reads a file of one JSON object per line (`-` is standard input) and gives each to `take` with the line's text, which still
// has the order of the keys; blank lines are passed over. What is not an object, and what `take` refuses by throwing Error, is
// collected; one Error then lists all bad lines with their numbers, unless `pass_over` takes each as "line N: what". A file
// without any line is an Error too.
void read_jsonl(const std::string& path, const std::function<void(const Json& object, const std::string& text)>& take,
                const std::function<void(const std::string& problem)>& pass_over = nullptr);

// Throws Error for keys of `object` that are not in `known`, with near names.
void require_known_keys(const Json& object, const std::vector<std::string>& known);

}  // namespace tp
