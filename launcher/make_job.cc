#include "launcher/make_job.h"

#include <algorithm>
#include <filesystem>

#include "launcher/chat_prompt.h"
#include "launcher/checked_model.h"
#include "launcher/libtpu.h"
#include "launcher/program_path.h"
#include "launcher/prompts.h"
#include "runtime/tokenizer.h"
#include "sharding/error.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

constexpr int64_t kBenchNewTokens = 64;
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
}

struct Need {
  size_t prompt = 0;
  int64_t prompt_tokens = 0, new_tokens = 0;
  int64_t total() const { return prompt_tokens + new_tokens; }
};

// The prompt that needs the longest cache.
Need longest_need(const Job& job) {
  Need longest;
  if (job.command == "bench") return {0, job.bench_prompt, job.bench_new};
  for (size_t i = 0; i < job.prompts.size(); ++i) {
    const Need need{i, static_cast<int64_t>(job.prompts[i].ids.size()),
                    job.command == "score" ? 0 : job.prompts[i].max_new_tokens.value_or(job.max_new_tokens)};
    if (i == 0 || need.total() > longest.total()) longest = need;
  }
  return longest;
}

void settle_cache(const Options& options, const ModelConfig& config, CheckedJob& checked) {
  Job& job = checked.job;
  const Need need = longest_need(job);
  const auto given = options.count("cache-len");
  if (given && *given < need.total()) {
    const std::string parts = std::to_string(need.prompt_tokens) + " tokens" +
                              (need.new_tokens > 0 ? " + max_new_tokens " + std::to_string(need.new_tokens) : "");
    throw Error("--cache-len",
                "prompt " + std::to_string(need.prompt) + " needs " + std::to_string(need.total()) + " positions (" + parts +
                    "), the cache has " + std::to_string(*given),
                "--cache-len " + std::to_string(need.total()) + ", or fewer tokens");
  }
  job.cache_len = given.value_or(need.total());
  if (job.cache_len > kLongestCache) {
    throw Error(given ? "--cache-len" : "--max-new-tokens", std::to_string(job.cache_len) + " positions are too many",
                "at most " + std::to_string(kLongestCache));
  }
  if (config.max_position_embeddings > 0 && job.cache_len > config.max_position_embeddings) {
    checked.notes.push_back("the cache has " + std::to_string(job.cache_len) + " positions, the model was made for " +
                            std::to_string(config.max_position_embeddings) + " (max_position_embeddings)");
  }
}

// max_length bounds prompt and continuation together, so each prompt gets what is left.
void apply_max_length(const GenerationSettings& settings, Job& job) {
  if (!settings.max_length) return;
  for (size_t i = 0; i < job.prompts.size(); ++i) {
    JobPrompt& prompt = job.prompts[i];
    if (prompt.max_new_tokens) continue;
    const int64_t left = *settings.max_length - static_cast<int64_t>(prompt.ids.size());
    if (left < 1) {
      throw Error("generation_config.json",
                  "prompt " + std::to_string(i) + " has " + std::to_string(prompt.ids.size()) + " tokens, max_length is " +
                      std::to_string(*settings.max_length),
                  "give --max-new-tokens");
    }
    prompt.max_new_tokens = left;
  }
}

void add_prompts(const Options& options, const ModelConfig& config, CheckedJob& checked) {
  Job& job = checked.job;
  if (job.command == "bench") {
    job.bench_prompt = *options.count("prompt-tokens");
    job.bench_new = options.count("max-new-tokens").value_or(kBenchNewTokens);
    job.bench_json = options.flag("json");
    if (job.bench_prompt < 1) throw Error("--prompt-tokens", "0 is not a length", "1 or more");
    return;
  }
  const auto tokenizer = job.tokenizer.empty() ? nullptr : Tokenizer::load(job.tokenizer);
  const ChatPrompt chat(job.model_dir, options.text("chat-template"), options.text("system"));
  job.prompts = read_prompts(options, tokenizer, chat, config.vocab_size, job.command == "score");
  if (job.command == "generate") apply_max_length(checked.settings, job);
  if (!job.stop.empty() && !tokenizer)
    throw Error("--stop", "needs a tokenizer, and the model directory has no tokenizer.json", "--tokenizer DIR|FILE");
}

void refuse_misplaced(const Options& options) {
  if (options.given("json") && options.command != "bench")
    throw Error("--json", "is for devices, env, plan and bench", "--format json");
  for (const std::string& stop : options.texts("stop")) {
    if (stop.empty()) throw Error("--stop", "is empty", "give a text");
  }
  if (*options.count("batch") < 1) throw Error("--batch", "0 is not a number of prompts", "1 or more");
}

// Chips run compiled programs, the CPU runs op by op.
void refuse_for_device(const Options& options, const std::string& device) {
  if (device == "tpu" && options.flag("disable-compile"))
    throw Error("--disable-compile", "chips run compiled programs only", "leave it out, or --device cpu, which runs op by op");
  for (const char* option : {"compile-cache", "dump-hlo"}) {
    if (device == "cpu" && options.given(option))
      throw Error("--" + std::string(option), "the CPU runs op by op, without compiled programs", "leave it out");
  }
}

}  // namespace

CheckedJob make_job(const Options& options, const LaunchSettings& launch) {
  refuse_misplaced(options);
  refuse_for_device(options, launch.device.device);
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
  job.load_format = options.text("load-format");
  job.device = launch.device.device;
  if (job.device == "tpu") job.pjrt_plugin = launch.pjrt_plugin.empty() ? find_libtpu() : launch.pjrt_plugin;
  job.compile_cache = absolute(options.text("compile-cache"));
  job.dump_hlo = absolute(options.text("dump-hlo"));
  job.threads = launch.threads;
  job.timeout_s = launch.timeout_s;
  job.max_new_tokens = checked.settings.max_new_tokens;
  job.batch = *options.count("batch");
  job.sampling = checked.settings.sampling;
  job.eos_token_ids = checked.settings.eos_token_ids;
  job.stop = options.texts("stop");
  job.echo = !options.flag("no-echo");
  job.format = options.text("format");
  job.output = absolute(options.text("output"));
  job.stats = absolute(options.text("stats"));
  require_writable_target("--output", job.output);
  require_writable_target("--stats", job.stats);
  add_prompts(options, model.config, checked);
  settle_cache(options, model.config, checked);
  return checked;
}

}  // namespace tp
