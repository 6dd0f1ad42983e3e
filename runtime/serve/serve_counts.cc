#include "runtime/serve/serve_counts.h"

#include <cstdio>

namespace tp {
namespace {

std::string head(const std::string& name, const char* type, const char* help) {
  return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

std::string metric(const std::string& name, const char* type, const char* help, int64_t value) {
  return head(name, type, help) + name + " " + std::to_string(value) + "\n";
}

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

std::string histogram(const ServeCounts& counts) {
  const std::string name = "tprun_time_to_first_token_seconds";
  std::string text = head(name, "histogram", "From a request's arrival to its first token.");
  int64_t below = 0;
  for (size_t i = 0; i < counts.first_token_buckets.size(); ++i) {
    below += counts.first_token_buckets[i];
    const std::string bound = i < ServeCounts::kBounds.size() ? decimal(ServeCounts::kBounds[i]) : "+Inf";
    text += name + "_bucket{le=\"" + bound + "\"} " + std::to_string(below) + "\n";
  }
  return text + name + "_sum " + decimal(counts.first_token_sum_s) + "\n" + name + "_count " + std::to_string(below) + "\n";
}

}  // namespace

std::string prometheus_text(const ServeCounts& counts, int tp_size) {
  const std::string finished = "tprun_continuations_total";
  const auto with_reason = [&](const char* reason, int64_t value) {
    return finished + "{finish_reason=\"" + reason + "\"} " + std::to_string(value) + "\n";
  };
  return metric("tprun_chips", "gauge", "Chips, or ranks, that hold the model together.", tp_size) +
         metric("tprun_requests_waiting", "gauge", "Continuations that wait for a slot.", counts.waiting) +
         metric("tprun_requests_running", "gauge", "Continuations in flight.", counts.running) +
         metric("tprun_requests_refused_total", "counter", "Requests refused because too many waited.", counts.refused) +
         metric("tprun_prompt_tokens_total", "counter", "Tokens of prompts.", counts.prompt_tokens) +
         metric("tprun_prompt_tokens_reused_total", "counter", "Tokens of prompts found in the cache.",
                counts.reused_prompt_tokens) +
         metric("tprun_generated_tokens_total", "counter", "Tokens generated.", counts.generated_tokens) +
         head(finished, "counter", "Continuations that ended.") + with_reason("eos", counts.finished_eos) +
         with_reason("stop", counts.finished_stop) + with_reason("length", counts.finished_length) +
         with_reason("cancelled", counts.cancelled) + histogram(counts);
}

}  // namespace tp
