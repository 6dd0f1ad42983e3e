#include "launcher/option_table.h"

#include <algorithm>
#include <stdexcept>

namespace tp {
namespace {

constexpr auto kFlag = OptionType::kFlag;
constexpr auto kText = OptionType::kText;
constexpr auto kTexts = OptionType::kTexts;
constexpr auto kCount = OptionType::kCount;
constexpr auto kNumber = OptionType::kNumber;
constexpr auto kLauncher = OptionGoal::kLauncher;
constexpr auto kJob = OptionGoal::kJob;
constexpr auto kBoth = OptionGoal::kBoth;

std::vector<OptionRow> launch_rows() {
  constexpr auto kG = OptionGroup::kLaunch;
  return {
      {"nproc-per-node",
       kText,
       kG,
       kLauncher,
       "N|auto",
       "",
       "1; with TPU chips all devices",
       "ranks on this host; auto = all devices (--device cpu: all cores). Also -n, -np",
       {}},
      {"nnodes", kCount, kG, kLauncher, "N", "1", "", "hosts of the job", {}},
      {"node-rank",
       kCount,
       kG,
       kLauncher,
       "I",
       "",
       "NODE_RANK; on a slice JOB_COMPLETION_INDEX",
       "which of the hosts this one is, with one tprun per host",
       {}},
      {"master-addr", kText, kG, kLauncher, "HOST", "", "127.0.0.1; on a slice its first host", "MASTER_ADDR of the ranks", {}},
      {"master-port",
       kCount,
       kG,
       kLauncher,
       "PORT",
       "",
       "a free port; 29500 with one tprun per host",
       "MASTER_PORT of the ranks",
       {}},
      {"host", kText, kG, kLauncher, "A[:N],B[:N]", "", "", "hosts to start ranks on", {}},
      {"hostfile", kText, kG, kLauncher, "FILE", "", "", "file of hosts to start ranks on, as mpirun reads it", {}},
      {"launch-agent", kText, kG, kLauncher, "CMD", "", "ssh", "what starts a process on another host", {}},
      {"device",
       kText,
       kG,
       kBoth,
       "cpu|tpu",
       "",
       "tpu where usable chips are found, else cpu",
       "where the ranks compute",
       {"cpu", "tpu"}},
      {"pjrt-plugin", kText, kG, kBoth, "FILE", "", "libtpu", "PJRT plugin of the chips (TPU_LIBRARY_PATH of a program)", {}},
      {"threads", kCount, kG, kBoth, "N", "", "OMP_NUM_THREADS, else cores / ranks", "threads of each rank", {}},
      {"log-dir", kText, kG, kLauncher, "DIR", "", "", "write a file per rank and stream", {}},
      {"tee", kFlag, kG, kLauncher, "", "", "", "show what goes to --log-dir on the console too, even with --quiet", {}},
      {"quiet", kFlag, kG, kLauncher, "", "", "", "console: rank 0's standard output and errors of the job alone", {}},
      {"timeout", kNumber, kG, kBoth, "SECONDS", "300", "", "bound on start-up and on each collective", {}},
      {"grace", kNumber, kG, kLauncher, "SECONDS", "10", "", "what ranks get between SIGTERM and SIGKILL", {}},
      {"interface", kText, kG, kLauncher, "NAME|SUBNET", "", "lo on one host", "network of every layer", {}},
      {"max-restarts", kCount, kG, kLauncher, "N", "0", "", "start the whole job again after a failure, N times at most", {}},
      {"allow-run-as-root", kFlag, kG, kLauncher, "", "", "", "let mpirun start ranks as root", {}},
      {"dry-run", kFlag, kG, kLauncher, "", "", "", "check everything, print what would run, start nothing", {}},
      {"host-root", kText, kG, kLauncher, "DIR", "", "/", "for tests: look for /sys, /dev and /proc under DIR", {}},
      {"help", kFlag, kG, kLauncher, "", "", "", "print this text. Also -h", {}},
      {"version", kFlag, kG, kLauncher, "", "", "", "print the version. Also -V", {}},
  };
}

std::vector<OptionRow> model_rows() {
  constexpr auto kG = OptionGroup::kModel;
  return {
      {"model", kText, kG, kBoth, "DIR|org/name", "", "", "checkpoint; a name is looked up in the Hugging Face cache", {}},
      {"plan",
       kText,
       kG,
       kBoth,
       "FILE|auto",
       "",
       "the default plan of the model's family",
       "tp_plan; auto = what `plan suggest` prints",
       {}},
      {"override", kTexts, kG, kBoth, "PATTERN=STYLE", "", "", "one rule laid over the plan (repeatable)", {}},
      {"dtype",
       kText,
       kG,
       kBoth,
       "auto|float32|bfloat16|float16",
       "auto",
       "",
       "dtype of the weights and the cache",
       {"auto", "float32", "bfloat16", "float16"}},
      {"tied",
       kText,
       kG,
       kBoth,
       "reject|untie|vocab_parallel",
       "",
       "as the plan says, else reject",
       "what to do with tied embeddings",
       {"reject", "untie", "vocab_parallel"}},
      {"weights",
       kText,
       kG,
       kJob,
       "KIND",
       "",
       "as they are stored",
       "quantize linear weights while they are loaded",
       {"int8", "int4", "int4-128"}},
      {"activations",
       kText,
       kG,
       kJob,
       "KIND",
       "",
       "in the model's dtype",
       "quantize what quantized weights multiply: whole products of integers, for faster prefill (CPU)",
       {"int8"}},
      {"cache-dtype",
       kText,
       kG,
       kJob,
       "KIND",
       "",
       "the model's dtype",
       "int8: keys and values are kept as integers, a scale for each head and position (CPU)",
       {"int8"}},
      {"save-quantized",
       kText,
       kG,
       kJob,
       "DIR",
       "",
       "",
       "write the quantized weights to DIR as a checkpoint (compressed-tensors; docs/quantization.md)",
       {}},
      {"load-format", kText, kG, kJob, "mmap|copy", "mmap", "", "map the checkpoint or copy it", {"mmap", "copy"}},
      {"tokenizer", kText, kG, kBoth, "DIR|FILE", "", "the model's", "a tokenizer.json or a directory that has one", {}},
      {"tp", kCount, kG, kLauncher, "N", "", "--nproc-per-node, else the devices of --topology", "tp_size of `plan`", {}},
      {"topology", kText, kG, kLauncher, "NAME", "", "", "plan: chips of one host, such as v5e:2x2", {}},
      {"prefill", kText, kG, kLauncher, "128,512", "", "every bucket of the cache", "plan aot: prompt lengths", {}},
      {"kernels",
       kTexts,
       kG,
       kBoth,
       "DIR|org/name",
       "",
       "",
       "kernel package in the place of an operation (repeatable; docs/kernels.md)",
       {}},
  };
}

std::vector<OptionRow> generate_rows() {
  constexpr auto kG = OptionGroup::kGenerate;
  return {
      {"prompt", kText, kG, kJob, "TEXT", "", "", "the prompt", {}},
      {"prompt-file", kText, kG, kJob, "FILE", "", "", "file that is the prompt, byte for byte", {}},
      {"input", kText, kG, kJob, "FILE.jsonl", "", "", "prompts, one JSON object a line", {}},
      {"ids", kText, kG, kJob, "1,2,3", "", "", "the prompt as token ids", {}},
      {"chat", kFlag, kG, kJob, "", "", "", "the prompt is a message to the assistant", {}},
      {"system", kText, kG, kJob, "TEXT", "", "", "system message of --chat", {}},
      {"chat-template", kText, kG, kJob, "FILE", "", "", "template of --chat", {}},
      {"max-new-tokens", kCount, kG, kJob, "N", "", "generation_config.json, else 20", "tokens to generate at most", {}},
      {"do-sample", kFlag, kG, kJob, "", "", "generation_config.json, else false", "sample instead of greedy", {}},
      {"temperature", kNumber, kG, kJob, "X", "", "generation_config.json, else 1", "divides the logits; 0 = greedy", {}},
      {"top-k", kCount, kG, kJob, "N", "", "generation_config.json, else 0", "sample among the N likeliest; 0 = all", {}},
      {"top-p", kNumber, kG, kJob, "X", "", "generation_config.json, else 1", "sample among the likeliest that reach X", {}},
      {"min-p", kNumber, kG, kJob, "X", "", "generation_config.json, else 0", "sample among those of X times the best", {}},
      {"repetition-penalty",
       kNumber,
       kG,
       kJob,
       "X",
       "",
       "generation_config.json, else 1",
       "penalty on tokens already there",
       {}},
      {"presence-penalty",
       kNumber,
       kG,
       kJob,
       "X",
       "",
       "generation_config.json, else 0",
       "taken off the logits of tokens already there",
       {}},
      {"frequency-penalty",
       kNumber,
       kG,
       kJob,
       "X",
       "",
       "generation_config.json, else 0",
       "the same, as often as a token is there",
       {}},
      {"no-repeat-ngram-size",
       kCount,
       kG,
       kJob,
       "N",
       "",
       "generation_config.json, else 0",
       "no N tokens in a row come twice; 0 = they may",
       {}},
      {"logit-bias", kTexts, kG, kJob, "ID=X", "", "", "add X to the logit of token ID (repeatable)", {}},
      {"num-return-sequences",
       kCount,
       kG,
       kJob,
       "N",
       "",
       "generation_config.json, else 1",
       "continuations of each prompt, with --do-sample",
       {}},
      {"logprobs", kCount, kG, kJob, "N", "", "", "JSON: logprob of each token, and the N likeliest ids", {}},
      {"seed", kCount, kG, kJob, "N", "0", "", "seed of the sampler", {}},
      {"stop", kTexts, kG, kJob, "TEXT", "", "", "end the continuation at TEXT (repeatable)", {}},
      {"ignore-eos", kFlag, kG, kJob, "", "", "", "generate on after the end of sequence", {}},
      {"no-echo", kFlag, kG, kJob, "", "", "", "print the continuation alone", {}},
      {"cache-len",
       kCount,
       kG,
       kBoth,
       "N",
       "",
       "what the longest prompt + max-new-tokens needs; chat, serve: 4096",
       "positions of the cache",
       {}},
      {"batch", kCount, kG, kJob, "N", "", "1; of a file and of serve 8", "prompts in flight", {}},
      {"disable-compile", kFlag, kG, kJob, "", "", "", "chips: run op by op, to find what fails; the CPU always does", {}},
      {"compile-cache", kText, kG, kJob, "DIR", "", "", "keep compiled programs in DIR", {}},
      {"dump-hlo", kText, kG, kJob, "DIR", "", "", "write the programs' StableHLO to DIR", {}},
      {"prefix-cache",
       kFlag,
       kG,
       kJob,
       "",
       "",
       "on with --input, chat and serve",
       "compute common beginnings of prompts once",
       {}},
      {"skip-bad", kFlag, kG, kJob, "", "", "", "pass over bad lines of --input and say so in the output", {}},
      {"resume", kFlag, kG, kJob, "", "", "", "go on after the last whole line of --output", {}},
      {"show-config", kFlag, kG, kLauncher, "", "", "", "print the generation settings and where they come from", {}},
  };
}

std::vector<OptionRow> serve_rows() {
  constexpr auto kG = OptionGroup::kServe;
  return {
      {"bind", kText, kG, kJob, "ADDRESS", "127.0.0.1", "", "address that serve listens on; 0.0.0.0 = every one", {}},
      {"port", kCount, kG, kJob, "N", "8000", "", "port of serve; 0 = any that is free", {}},
      {"api-key",
       kText,
       kG,
       kJob,
       "KEY",
       "",
       "TPRUN_API_KEY, else none",
       "what requests to /v1 must bring (Authorization: Bearer KEY)",
       {}},
      {"max-queue", kCount, kG, kJob, "N", "256", "", "continuations that wait for a slot; more get status 429", {}},
      {"request-timeout", kNumber, kG, kJob, "SECONDS", "600", "", "bound on one request, waiting included", {}},
      {"request-bytes", kCount, kG, kJob, "N", "4194304", "", "largest body of a request; more gets status 413", {}},
  };
}

std::vector<OptionRow> report_rows() {
  constexpr auto kG = OptionGroup::kReports;
  return {
      {"format", kText, kG, kJob, "text|json", "text", "", "form of the output", {"text", "json"}},
      {"output", kText, kG, kJob, "FILE", "", "standard output", "where the output goes", {}},
      {"stats", kText, kG, kJob, "FILE", "", "", "write counts and speeds as JSON", {}},
      {"trace", kText, kG, kJob, "FILE", "", "", "write a timeline of every rank (Chrome, Perfetto)", {}},
      {"json", kFlag, kG, kBoth, "", "", "", "devices, env, plan, bench: print JSON", {}},
      {"rank", kCount, kG, kLauncher, "R", "", "", "env: the variables of rank R; plan show: what rank R holds", {}},
      {"html", kText, kG, kLauncher, "FILE", "", "", "plan show: write a page that draws the weights on the chips", {}},
      {"prompt-tokens", kCount, kG, kJob, "N", "128", "", "bench: length of the prompt", {}},
      {"sweep-prompt", kText, kG, kJob, "128,512", "", "", "bench: a run for each of these lengths", {}},
      {"sweep-batch", kText, kG, kJob, "1,8", "", "", "bench: a run for each of these numbers of prompts in flight", {}},
      {"sweep-tp", kText, kG, kLauncher, "1,2", "", "", "bench: a job for each of these numbers of ranks", {}},
      {"plot", kText, kG, kJob, "FILE.svg", "", "", "bench: draw the ratios", {}},
      {"window", kCount, kG, kJob, "N", "", "every text whole", "score: run longer texts in windows of N tokens", {}},
      {"stride", kCount, kG, kJob, "N", "", "half of --window", "score: from one window's beginning to the next", {}},
      {"no-special", kFlag, kG, kLauncher, "", "", "", "tokenize: add no special tokens", {}},
      {"decode", kFlag, kG, kLauncher, "", "", "", "tokenize: ids to text", {}},
      {"skip-special", kFlag, kG, kLauncher, "", "", "", "tokenize --decode: leave special tokens out", {}},
      {"stream", kFlag, kG, kLauncher, "", "", "", "tokenize --decode: the pieces that streaming prints", {}},
  };
}

}  // namespace

const std::vector<OptionRow>& option_table() {
  static const std::vector<OptionRow> table = [] {
    std::vector<OptionRow> rows;
    for (auto part : {launch_rows(), model_rows(), generate_rows(), serve_rows(), report_rows()}) {
      rows.insert(rows.end(), part.begin(), part.end());
    }
    return rows;
  }();
  return table;
}

const OptionRow& option_row(std::string_view name) {
  const auto& table = option_table();
  const auto row = std::find_if(table.begin(), table.end(), [&](const OptionRow& r) { return r.name == name; });
  if (row == table.end()) throw std::logic_error("no option row: " + std::string(name));
  return *row;
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const OptionRow& row : option_table()) names.push_back("--" + std::string(row.name));
  return names;
}

std::string_view group_title(OptionGroup group) {
  switch (group) {
    case OptionGroup::kLaunch:
      return "Launch";
    case OptionGroup::kModel:
      return "Model";
    case OptionGroup::kGenerate:
      return "Generate";
    case OptionGroup::kServe:
      return "Serve";
    case OptionGroup::kReports:
      return "Output and reports";
  }
  throw std::logic_error("option group");
}

const std::vector<CommandRow>& command_table() {
  static const std::vector<CommandRow> table = {
      {"generate", {}, true, "continue prompts"},
      {"chat", {}, true, "talk to the model"},
      {"serve", {}, true, "answer HTTP requests as OpenAI's API does"},
      {"score", {}, true, "likelihood of texts"},
      {"bench", {}, true, "speed of the model on these ranks"},
      {"devices", {}, false, "TPU chips of this host"},
      {"env", {}, false, "launch environment as shell assignments"},
      {"plan", {"check", "show", "suggest", "aot"}, false, "prove, print or choose how weights are split"},
      {"kernels", {"list", "check"}, false, "what kernel packages replace; prove them"},
      {"tokenize", {}, false, "texts to ids and back"},
      {"doctor", {}, false, "what this host would trip over"},
      {"completion", {"bash", "zsh"}, false, "shell completion, to be evaluated"},
  };
  return table;
}

const CommandRow* find_command(std::string_view name) {
  for (const CommandRow& row : command_table()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace tp
