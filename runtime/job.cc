#include "runtime/job.h"

#include <nlohmann/json.hpp>

#include "sharding/error.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

// The layout of the JSON below. A worker of another build is refused rather than run with half of its settings.
constexpr int kJobVersion = 2;

// One list of the fields serves both directions: `field(name, member)`.
template <typename Options, typename Field>
void sampling_fields(Options& options, Field&& field) {
  field("do_sample", options.do_sample);
  field("temperature", options.temperature);
  field("top_k", options.top_k);
  field("top_p", options.top_p);
  field("min_p", options.min_p);
  field("repetition_penalty", options.repetition_penalty);
  field("seed", options.seed);
}

template <typename Prompt, typename Field>
void prompt_fields(Prompt& prompt, Field&& field) {
  field("ids", prompt.ids);
  field("text", prompt.text);
  field("max_new_tokens", prompt.max_new_tokens);
}

template <typename Request, typename Field>
void plan_fields(Request& request, Field&& field) {
  field("plan", request.plan);
  field("overrides", request.overrides);
  field("tied", request.tied);
}

template <typename JobType, typename Field>
void job_fields(JobType& job, Field&& field) {
  field("command", job.command);
  field("model_dir", job.model_dir);
  field("plan", job.plan);
  field("plans_dir", job.plans_dir);
  field("tokenizer", job.tokenizer);
  field("dtype", job.dtype);
  field("load_format", job.load_format);
  field("device", job.device);
  field("pjrt_plugin", job.pjrt_plugin);
  field("compile_cache", job.compile_cache);
  field("dump_hlo", job.dump_hlo);
  field("threads", job.threads);
  field("timeout_s", job.timeout_s);
  field("prompts", job.prompts);
  field("max_new_tokens", job.max_new_tokens);
  field("cache_len", job.cache_len);
  field("batch", job.batch);
  field("sampling", job.sampling);
  field("eos_token_ids", job.eos_token_ids);
  field("stop", job.stop);
  field("echo", job.echo);
  field("format", job.format);
  field("output", job.output);
  field("stats", job.stats);
  field("bench_prompt", job.bench_prompt);
  field("bench_new", job.bench_new);
  field("bench_json", job.bench_json);
}

template <typename T>
Json json_of(const T& value) {
  return Json(value);
}
template <typename T>
Json json_of(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json json_of(const SamplingOptions& options) {
  Json json = Json::object();
  sampling_fields(options, [&](const char* name, const auto& member) { json[name] = json_of(member); });
  return json;
}
Json json_of(const PlanRequest& request) {
  Json json = Json::object();
  plan_fields(request, [&](const char* name, const auto& member) { json[name] = json_of(member); });
  return json;
}
Json json_of(const std::vector<JobPrompt>& prompts) {
  Json json = Json::array();
  for (const JobPrompt& prompt : prompts) {
    Json& item = json.emplace_back(Json::object());
    prompt_fields(prompt, [&](const char* name, const auto& member) { item[name] = json_of(member); });
  }
  return json;
}

template <typename T>
void read(const Json& json, T& value) {
  json.get_to(value);
}
template <typename T>
void read(const Json& json, std::optional<T>& value) {
  value = json.is_null() ? std::nullopt : std::optional<T>(json.get<T>());
}
void read(const Json& json, SamplingOptions& options) {
  sampling_fields(options, [&](const char* name, auto& member) { read(json.at(name), member); });
}
void read(const Json& json, PlanRequest& request) {
  plan_fields(request, [&](const char* name, auto& member) { read(json.at(name), member); });
}
void read(const Json& json, std::vector<JobPrompt>& prompts) {
  for (const Json& item : json) {
    JobPrompt& prompt = prompts.emplace_back();
    prompt_fields(prompt, [&](const char* name, auto& member) { read(item.at(name), member); });
  }
}

}  // namespace

std::string to_json(const Job& job) {
  Json json = Json::object();
  json["job_version"] = kJobVersion;
  job_fields(job, [&](const char* name, const auto& member) { json[name] = json_of(member); });
  // A prompt may hold broken UTF-8; its ids are made already, so the echo alone shows U+FFFD.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Job job_from_json(const std::string& text) {
  const std::string where = "job";
  const std::string fix = "tprun and tprun-rank must come from the same build";
  try {
    const Json json = Json::parse(text);
    const int version = json.at("job_version").get<int>();
    if (version != kJobVersion) {
      throw Error(where, "version " + std::to_string(version) + " of the job is not " + std::to_string(kJobVersion), fix);
    }
    Job job;
    job_fields(job, [&](const char* name, auto& member) { read(json.at(name), member); });
    return job;
  } catch (const Json::exception& e) {
    throw Error(where, std::string("cannot be read: ") + e.what(), fix);
  }
}

}  // namespace tp
