#include "runtime/job.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sharding/error.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

// The layout of the JSON below. A worker of another build is refused rather than run with half of its settings.
constexpr int kJobVersion = 8;

// One list of the fields serves both directions: `field(name, member)`.
template <typename Options, typename Field>
void sampling_fields(Options& options, Field&& field) {
  field("do_sample", options.do_sample);
  field("temperature", options.temperature);
  field("top_k", options.top_k);
  field("top_p", options.top_p);
  field("min_p", options.min_p);
  field("repetition_penalty", options.repetition_penalty);
  field("presence_penalty", options.presence_penalty);
  field("frequency_penalty", options.frequency_penalty);
  field("no_repeat_ngram_size", options.no_repeat_ngram_size);
  field("logit_bias", options.logit_bias);
  field("seed", options.seed);
}

template <typename Options, typename Field>
void option_fields(Options& options, Field&& field) {
  field("sampling", options.sampling);
  field("stop", options.stop);
  field("ignore_eos", options.ignore_eos);
  field("top_logprobs", options.top_logprobs);
}

template <typename Prompt, typename Field>
void prompt_fields(Prompt& prompt, Field&& field) {
  field("ids", prompt.ids);
  field("text", prompt.text);
  field("max_new_tokens", prompt.max_new_tokens);
  field("options", prompt.options);
  field("index", prompt.index);
  field("sample", prompt.sample);
  field("random_stream", prompt.random_stream);
  field("error", prompt.error);
}

template <typename Request, typename Field>
void plan_fields(Request& request, Field&& field) {
  field("plan", request.plan);
  field("overrides", request.overrides);
  field("tied", request.tied);
}

template <typename Options, typename Field>
void serve_fields(Options& options, Field&& field) {
  field("bind", options.bind);
  field("port", options.port);
  field("api_key", options.api_key);
  field("model_name", options.model_name);
  field("most_waiting", options.most_waiting);
  field("request_bytes", options.request_bytes);
  field("request_timeout_s", options.request_timeout_s);
}

template <typename JobType, typename Field>
void job_fields(JobType& job, Field&& field) {
  field("command", job.command);
  field("model_dir", job.model_dir);
  field("plan", job.plan);
  field("plans_dir", job.plans_dir);
  field("tokenizer", job.tokenizer);
  field("dtype", job.dtype);
  field("weights", job.weights);
  field("activations", job.activations);
  field("cache_dtype", job.cache_dtype);
  field("save_quantized", job.save_quantized);
  field("load_format", job.load_format);
  field("device", job.device);
  field("pjrt_plugin", job.pjrt_plugin);
  field("compile_cache", job.compile_cache);
  field("dump_hlo", job.dump_hlo);
  field("disable_compile", job.disable_compile);
  field("kernels", job.kernels);
  field("threads", job.threads);
  field("timeout_s", job.timeout_s);
  field("prompts", job.prompts);
  field("max_new_tokens", job.max_new_tokens);
  field("cache_len", job.cache_len);
  field("batch", job.batch);
  field("options", job.options);
  field("eos_token_ids", job.eos_token_ids);
  field("prefix_cache", job.prefix_cache);
  field("echo", job.echo);
  field("format", job.format);
  field("output", job.output);
  field("output_kept_bytes", job.output_kept_bytes);
  field("stats", job.stats);
  field("trace", job.trace);
  field("chat_template", job.chat_template);
  field("system", job.system);
  field("serve", job.serve);
  field("score_window", job.score_window);
  field("score_stride", job.score_stride);
  field("bench_prompts", job.bench_prompts);
  field("bench_batches", job.bench_batches);
  field("bench_new", job.bench_new);
  field("bench_json", job.bench_json);
  field("bench_plot", job.bench_plot);
  field("bench_results", job.bench_results);
}

template <typename T>
Json json_of(const T& value) {
  return Json(value);
}
Json json_of(const SamplingOptions& options) {
  Json json = Json::object();
  sampling_fields(options, [&](const char* name, const auto& member) { json[name] = json_of(member); });
  return json;
}
Json json_of(const PromptOptions& options);
template <typename T>
Json json_of(const std::optional<T>& value) {
  return value ? json_of(*value) : Json(nullptr);
}
Json json_of(const PromptOptions& options) {
  Json json = Json::object();
  option_fields(options, [&](const char* name, const auto& member) { json[name] = json_of(member); });
  return json;
}
Json json_of(const PlanRequest& request) {
  Json json = Json::object();
  plan_fields(request, [&](const char* name, const auto& member) { json[name] = json_of(member); });
  return json;
}
Json json_of(const ServeOptions& options) {
  Json json = Json::object();
  serve_fields(options, [&](const char* name, const auto& member) { json[name] = json_of(member); });
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
void read(const Json& json, SamplingOptions& options) {
  sampling_fields(options, [&](const char* name, auto& member) { read(json.at(name), member); });
}
void read(const Json& json, PromptOptions& options);
template <typename T>
void read(const Json& json, std::optional<T>& value) {
  value.reset();
  if (!json.is_null()) read(json, value.emplace());
}
void read(const Json& json, PromptOptions& options) {
  option_fields(options, [&](const char* name, auto& member) { read(json.at(name), member); });
}
void read(const Json& json, PlanRequest& request) {
  plan_fields(request, [&](const char* name, auto& member) { read(json.at(name), member); });
}
void read(const Json& json, ServeOptions& options) {
  serve_fields(options, [&](const char* name, auto& member) { read(json.at(name), member); });
}
void read(const Json& json, std::vector<JobPrompt>& prompts) {
  for (const Json& item : json) {
    JobPrompt& prompt = prompts.emplace_back();
    prompt_fields(prompt, [&](const char* name, auto& member) { read(item.at(name), member); });
  }
}

}  // namespace

int64_t slots_of(const Job& job) {
  if (job.command == "score") return 1;
  if (job.command == "bench") return *std::max_element(job.bench_batches.begin(), job.bench_batches.end());
  if (job.command == "serve") return job.batch;
  return std::clamp<int64_t>(static_cast<int64_t>(job.prompts.size()), 1, std::max<int64_t>(1, job.batch));
}

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
