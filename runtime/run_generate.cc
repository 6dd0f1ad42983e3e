#include "runtime/run_generate.h"

#include <algorithm>

#include "runtime/generate_output.h"
#include "runtime/output_file.h"
#include "runtime/progress.h"

namespace tp {
namespace {

// Passes everything on and tells how far a list of prompts is.
class CountedOutput : public TokenSink {
 public:
  CountedOutput(TokenSink& output, size_t prompts) : output_(output), total_(static_cast<int64_t>(prompts)) {}

  void started(size_t index, int64_t reused) override { output_.started(index, reused); }
  void logprobs(size_t index, const TokenLogprobs& logprobs) override { output_.logprobs(index, logprobs); }
  bool token(size_t index, int32_t id) override { return output_.token(index, id); }
  void finished(size_t index, FinishReason reason) override {
    output_.finished(index, reason);
    if (total_ > 1) progress_.update(++done_, total_);
  }

 private:
  TokenSink& output_;
  int64_t done_ = 0, total_;
  Progress progress_{"generating", "prompts", 1};
};

std::vector<GeneratePrompt> prompts_of(const Job& job) {
  std::vector<GeneratePrompt> prompts;
  for (const JobPrompt& prompt : job.prompts) {
    const PromptOptions& options = prompt.options ? *prompt.options : job.options;
    const int64_t new_tokens = prompt.error.empty() ? prompt.max_new_tokens.value_or(job.max_new_tokens) : 0;
    prompts.push_back(
        {prompt.ids, new_tokens, options.sampling, prompt.random_stream, options.ignore_eos, options.top_logprobs});
  }
  return prompts;
}

}  // namespace

GenerateOptions generate_options(const Job& job, const Tokenizer* tokenizer, const std::atomic<int>& stop_signal) {
  GenerateOptions options;
  options.eos_token_ids = job.eos_token_ids;
  options.prefix_cache = job.prefix_cache;
  options.stop_signal = &stop_signal;
  // A vocabulary that was padded for the hardware has logits that mean nothing.
  if (tokenizer != nullptr) options.allowed_vocab = tokenizer->vocab_size();
  return options;
}

GenerateResult run_generate(const Job& job, const RankModel& model, const std::shared_ptr<const Tokenizer>& tokenizer,
                            Engine& engine, Communicator& communicator, const std::atomic<int>& stop_signal) {
  const std::vector<GeneratePrompt> prompts = prompts_of(job);
  if (communicator.rank() != 0)
    return generate(engine, communicator, model.config, prompts, generate_options(job, nullptr, stop_signal), nullptr);
  OutputFile file(job.output, job.output_kept_bytes);
  const std::unique_ptr<TokenSink> output = make_generate_output(job, tokenizer.get(), file);
  CountedOutput counted(*output, prompts.size());
  return generate(engine, communicator, model.config, prompts, generate_options(job, tokenizer.get(), stop_signal), &counted);
}

}  // namespace tp
