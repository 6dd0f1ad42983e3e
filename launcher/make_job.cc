#include "launcher/make_job.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "launcher/checked_model.h"
#include "launcher/compiled_options.h"
#include "launcher/count_list.h"
#include "launcher/kernel_options.h"
#include "launcher/libtpu.h"
#include "launcher/options_environment.h"
#include "launcher/program_path.h"
#include "launcher/prompts.h"
#include "launcher/resume.h"
#include "runtime/chat_prompt.h"
#include "runtime/operator_rules.h"
#include "runtime/tokenizer.h"
#include "sharding/error.h"
#include "sharding/quantization.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kBenchNewTokens = 64;
constexpr int64_t kManyBatch = 8;             // prompts of a file, or requests, in flight
constexpr int64_t kConversationCache = 4096;  // positions of chat and serve
constexpr int64_t kLongestCache = int64_t{1} << 30;

std::string absolute(const std::string& path) {
  return path.empty() ? path : fs::absolute(path).string();
}

// Where the tokenizer is; empty when there is none.
std::string tokenizer_path(const Options& options, const fs::path& model_dir) {
  if (options.given("tokenizer")) return absolute(options.text("tokenizer"));
  std::error_code ignored;
  return fs::exists(model_dir / "tokenizer.json", ignored) ? (model_dir / "tokenizer.json").string() : "";
}

void require_writable_target(const char* option, const std::string& path) {
  if (path.empty()) return;
  std::error_code ignored;
  const fs::path parent = fs::absolute(path).parent_path();
  if (!fs::is_directory(parent, ignored)) throw Error(option, "no such directory: " + parent.string(), "make it first");
  if (fs::is_directory(path, ignored)) throw Error(option, path + " is a directory", "name a file");
  // Found out now, not when all is computed.
  if (access(fs::exists(path, ignored) ? path.c_str() : parent.c_str(), W_OK) != 0)
    throw Error(option, path + ": " + std::strerror(errno), "name a file that can be written");
}

void require_quantized_weights(const ResolvedPlan& plan, const std::string& option, const std::string& otherwise) {
  const auto is_quantized = [](const PlannedModule& planned) { return planned.kind != WeightKind::kStored; };
  if (std::none_of(plan.modules.begin(), plan.modules.end(), is_quantized))
    throw Error(option, otherwise, "--weights int8 or int4, or `weights:` in the plan");
}

// Opening an output empties it.
void keep_what_is_read(const Options& options, const std::string& output) {
  if (output.empty()) return;
  for (const char* name : {"input", "prompt-file"}) {
    std::error_code ignored;
    if (options.given(name) && fs::equivalent(options.text(name), output, ignored) && fs::is_regular_file(output, ignored))
      throw Error("--output", output + " is what --" + name + " reads, and would be lost", "name another file");
  }
}

// A new directory for a model that has something to save.
void require_save_target(const ResolvedPlan& plan, const Checkpoint& checkpoint, const std::string& dir) {
  constexpr const char* kOption = "--save-quantized";
  std::error_code ignored;
  if (fs::exists(dir, ignored) && !fs::is_empty(dir, ignored))
    throw Error(kOption, dir + " is there already", "name a directory that is new or empty");
  if (!fs::is_directory(fs::path(dir).parent_path(), ignored))
    throw Error(kOption, "no such directory: " + fs::path(dir).parent_path().string(), "make it first");
  require_quantized_weights(plan, kOption, "nothing is quantized");
  for (const PlannedModule& planned : plan.modules) {
    const ModuleSpec& module = planned.module;
    if (planned.kind == WeightKind::kStored) continue;
    saved_matrices(checkpoint, module);
    if (module.weight_shape.back() % unit_of(planned.kind) == 0) continue;
    throw Error(kOption,
                module.name + ": " + std::to_string(module.weight_shape.back()) + " inputs are not whole groups of " +
                    std::to_string(unit_of(planned.kind)) + ", which compressed-tensors has not",
                "--weights int4 or int8");
  }
}

// Its prompts come while it runs.
bool converses(const Job& job) {
  return job.command == "chat" || job.command == "serve";
}

// Positions that the longest prompt and its continuation take.
int64_t longest_need(const Job& job) {
  if (job.command == "bench") return *std::max_element(job.bench_prompts.begin(), job.bench_prompts.end()) + job.bench_new;
  int64_t longest = 1;
  for (const JobPrompt& prompt : job.prompts) {
    const auto tokens = static_cast<int64_t>(prompt.ids.size());
    const bool score = job.command == "score";
    const int64_t fresh = score ? 0 : prompt.max_new_tokens.value_or(job.max_new_tokens);
    const int64_t need = score && job.score_window > 0 ? std::min(tokens, job.score_window) : tokens + fresh;
    if (prompt.error.empty()) longest = std::max(longest, need);
  }
  return longest;
}

void settle_cache(const Options& options, const ModelConfig& config, CheckedJob& checked) {
  Job& job = checked.job;
  int64_t need = longest_need(job);
  const auto given = options.count("cache-len");
  if (converses(job) && !given) {
    need = kConversationCache;
    if (config.max_position_embeddings > 0) need = std::min(need, config.max_position_embeddings);
    if (config.index_topk > 0) need = std::min(need, config.index_topk);
  }
  if (given && *given < need) {
    throw Error("--cache-len", std::to_string(need) + " positions are needed, the cache has " + std::to_string(*given),
                "--cache-len " + std::to_string(need) + ", or fewer tokens");
  }
  job.cache_len = given.value_or(need);
  if (job.cache_len > kLongestCache) {
    throw Error(given ? "--cache-len" : "--max-new-tokens", std::to_string(job.cache_len) + " positions are too many",
                "at most " + std::to_string(kLongestCache));
  }
  require_full_attention(config, job.cache_len, given ? "--cache-len" : "--max-new-tokens");
  if (config.max_position_embeddings > 0 && job.cache_len > config.max_position_embeddings) {
    checked.notes.push_back("the cache has " + std::to_string(job.cache_len) + " positions, the model was made for " +
                            std::to_string(config.max_position_embeddings) + " (max_position_embeddings)");
  }
}

std::string model_name(const std::string& given) {
  const fs::path path(given);
  std::error_code ignored;
  if (!fs::exists(path, ignored)) return given;  // org/name
  const fs::path last = fs::absolute(path).lexically_normal();
  return (last.has_filename() ? last : last.parent_path()).filename().string();
}

// What chat and serve make prompts with; a template that cannot be used is known before anything starts.
void settle_conversation(const Options& options, CheckedJob& checked) {
  Job& job = checked.job;
  job.chat_template = absolute(options.text("chat-template"));
  const std::string system = options.text("system");
  if (job.command == "chat" || !job.chat_template.empty())
    ChatPrompt(job.model_dir, job.chat_template, system).text_of_user("Hello");
  // In a conversation the terminal keeps the messages, and the user may change this one.
  if (job.command == "serve") job.system = system;
  if (job.command == "chat" && job.tokenizer.empty())
    throw Error("chat", "needs a tokenizer, and the model directory has no tokenizer.json", "--tokenizer DIR|FILE");
  // Without a word about it an answer may use what the cache has left.
  if (checked.settings.max_new_tokens_by_default) job.max_new_tokens = 0;
  job.serve = {options.text("bind"),
               *options.count("port"),
               options.given("api-key") ? options.text("api-key") : environment("TPRUN_API_KEY").value_or(""),
               model_name(options.text("model")),
               *options.count("max-queue"),
               *options.count("request-bytes"),
               *options.number("request-timeout")};
}

void add_prompts(const Options& options, const ModelConfig& config, CheckedJob& checked) {
  Job& job = checked.job;
  if (job.command == "bench") {
    job.bench_prompts = {*options.count("prompt-tokens")};
    job.bench_batches = {job.batch};
    if (options.given("sweep-prompt")) job.bench_prompts = count_list(options, "sweep-prompt");
    if (options.given("sweep-batch")) job.bench_batches = count_list(options, "sweep-batch");
    job.bench_new = options.count("max-new-tokens").value_or(kBenchNewTokens);
    job.bench_json = options.flag("json");
    job.bench_plot = absolute(options.text("plot"));
    require_writable_target("--plot", job.bench_plot);
    if (job.bench_prompts[0] < 1) throw Error("--prompt-tokens", "0 is not a length", "1 or more");
    return;
  }
  const auto tokenizer = job.tokenizer.empty() ? nullptr : Tokenizer::load(job.tokenizer);
  if (converses(job)) return settle_conversation(options, checked);
  const ChatPrompt chat(job.model_dir, options.text("chat-template"), options.text("system"));
  const bool score = job.command == "score";
  job.prompts = read_prompts(options, {tokenizer, chat, config.vocab_size, checked.settings,
                                       score ? std::nullopt : options.count("cache-len"), score});
}

void settle_windows(const Options& options, Job& job) {
  for (const char* name : {"window", "stride"}) {
    if (options.given(name) && job.command != "score") throw Error("--" + std::string(name), "is for score", "leave it out");
  }
  job.score_window = options.count("window").value_or(0);
  job.score_stride = options.count("stride").value_or((job.score_window + 1) / 2);
  if (options.given("window") && job.score_window < 2) throw Error("--window", "has no token to predict", "2 or more");
  if (options.given("stride") && (job.score_stride < 1 || job.score_stride > job.score_window))
    throw Error("--stride", std::to_string(job.score_stride) + " would leave tokens out", "1 to --window");
}

void refuse_misplaced(const Options& options) {
  if (options.given("json") && options.command != "bench")
    throw Error("--json", "is for devices, env, plan and bench", "--format json");
  for (const char* option : {"plot", "sweep-prompt", "sweep-batch", "sweep-tp"}) {
    if (options.given(option) && options.command != "bench")
      throw Error("--" + std::string(option), "is for bench", "leave it out");
  }
  for (const std::string& stop : options.texts("stop")) {
    if (stop.empty()) throw Error("--stop", "is empty", "give a text");
  }
  if (options.command == "chat" || options.command == "serve") {
    for (const char* name : {"prompt", "prompt-file", "input", "ids", "output", "chat", "num-return-sequences"}) {
      if (options.given(name)) throw Error("--" + std::string(name), "is for generate", "leave it out");
    }
  }
  if (*options.count("max-queue") < 1) throw Error("--max-queue", "0 lets nothing in", "1 or more");
  if (*options.count("port") > 65535) throw Error("--port", options.text("port") + " is not a port", "0 to 65535");
  if (*options.number("request-timeout") <= 0) throw Error("--request-timeout", "0 is not a time", "a number of seconds");
  if (options.count("batch") == 0) throw Error("--batch", "0 is not a number of prompts", "1 or more");
  const bool json = options.command == "generate" && options.text("format") == "json";
  if (options.given("logprobs") && !json) throw Error("--logprobs", "are part of the JSON output", "--format json");
  if (options.flag("skip-bad") && !(json && options.given("input")))
    throw Error("--skip-bad", "is for a file of prompts, and tells of bad lines in the JSON output",
                "--input FILE.jsonl --format json");
  if (options.flag("resume") && !(json && options.given("input") && options.given("output")))
    throw Error("--resume", "goes on with a file of JSON lines", "--input FILE.jsonl --format json --output FILE");
}

// Whole programs are what chips run unless told otherwise; the CPU runs op by op.
void refuse_for_device(const Options& options, const std::string& device) {
  if (options.flag("disable-compile") && options.given("dump-hlo"))
    throw Error("--dump-hlo", "with --disable-compile there are no whole programs", "leave one of them out");
  if (device == "tpu") refuse_what_programs_lack(options);
  for (const char* option : {"compile-cache", "dump-hlo"}) {
    if (device == "cpu" && options.given(option))
      throw Error("--" + std::string(option), "the CPU runs op by op, without compiled programs", "leave it out");
  }
}

}  // namespace

CheckedJob make_job(const Options& options, const LaunchSettings& launch) {
  refuse_misplaced(options);
  refuse_for_device(options, launch.device.device);
  if (launch.place.nnodes > 1 && launch.device.device == "cpu") {
    throw Error("--nnodes", "on CPU tensors travel over MPI, which one tprun starts on all hosts",
                "--host A:N,B:N or --hostfile FILE, once, from one host");
  }
  CheckedJob checked;
  Job& job = checked.job;
  const CheckedModel model = check_model(options, launch.world_size());
  checked.notes = model.notes;
  checked.settings = generation_settings(options, model.dir, model.config);
  checked.notes.insert(checked.notes.end(), checked.settings.notes.begin(), checked.settings.notes.end());
  job.command = options.command;
  job.model_dir = model.dir;
  job.plan = model.plan_request;
  job.plans_dir = plans_directory();
  job.tokenizer = tokenizer_path(options, model.dir);
  job.dtype = options.text("dtype");
  job.weights = options.text("weights");
  job.activations = options.text("activations");
  if (!job.activations.empty())
    require_quantized_weights(model.plan, "--activations",
                              "no weight is quantized, so there is nothing that integers multiply");
  job.cache_dtype = options.text("cache-dtype");
  job.save_quantized = absolute(options.text("save-quantized"));
  if (!job.save_quantized.empty()) require_save_target(model.plan, model.checkpoint, job.save_quantized);
  job.load_format = options.text("load-format");
  job.device = launch.device.device;
  if (job.device == "tpu") job.pjrt_plugin = launch.pjrt_plugin.empty() ? find_libtpu() : launch.pjrt_plugin;
  job.compile_cache = absolute(options.text("compile-cache"));
  job.dump_hlo = absolute(options.text("dump-hlo"));
  job.disable_compile = options.flag("disable-compile");
  job.threads = launch.threads;
  job.timeout_s = launch.timeout_s;
  job.max_new_tokens = checked.settings.max_new_tokens;
  job.batch = options.count("batch").value_or(
      options.command == "serve" || (options.command == "generate" && options.given("input")) ? kManyBatch : 1);
  job.options = checked.settings.prompt;
  job.eos_token_ids = checked.settings.eos_token_ids;
  job.prefix_cache = options.given("prefix-cache") ? options.flag("prefix-cache") : converses(job) || options.given("input");
  job.echo = !options.flag("no-echo");
  job.format = options.text("format");
  job.output = absolute(options.text("output"));
  job.stats = absolute(options.text("stats"));
  job.trace = absolute(options.text("trace"));
  require_writable_target("--output", job.output);
  keep_what_is_read(options, job.output);
  require_writable_target("--stats", job.stats);
  require_writable_target("--trace", job.trace);
  settle_windows(options, job);
  add_prompts(options, model.config, checked);
  settle_cache(options, model.config, checked);
  job.kernels = kernel_sources(options, job.device);
  if (job.device == "tpu") {
    check_packages(job.kernels, job.pjrt_plugin);
  } else {
    const OperatorRules sound(job.kernels);
  }
  if (options.flag("resume")) {
    const size_t kept = keep_finished_lines(job);
    if (kept > 0) checked.notes.push_back("--resume: " + std::to_string(kept) + " lines of " + job.output + " are kept");
  }
  return checked;
}

}  // namespace tp
