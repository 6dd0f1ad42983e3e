#include "launcher/resume.h"

#include <filesystem>
#include <fstream>

#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace {

// Is `line` what the run would write for this prompt, as far as that is known before it runs?
bool belongs_to(const std::string& line, const JobPrompt& prompt) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("index", Json()) != prompt.index) return false;
  if (!prompt.error.empty()) return json.contains("error");
  const Json sample = prompt.sample ? Json(*prompt.sample) : Json();
  return json.value("sample", Json()) == sample && json.value("prompt_ids", Json()) == Json(prompt.ids) &&
         json.contains("finish_reason");
}

}  // namespace

size_t keep_finished_lines(Job& job) {
  std::ifstream file(job.output, std::ios::binary);
  size_t kept = 0;
  for (std::string line; std::getline(file, line) && !file.eof(); ++kept) {
    if (kept == job.prompts.size() || !belongs_to(line, job.prompts[kept]))
      throw Error(job.output + ":" + std::to_string(kept + 1), "is not a line of this input's output",
                  "give the --input and options that the file was begun with, or another --output");
    job.output_kept_bytes += static_cast<int64_t>(line.size()) + 1;
  }
  job.prompts.erase(job.prompts.begin(), job.prompts.begin() + static_cast<std::ptrdiff_t>(kept));
  return kept;
}

}  // namespace tp
