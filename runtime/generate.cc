#include "runtime/generate.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>

#include "runtime/rope.h"
#include "sharding/error.h"

namespace tp {
namespace {

// A prompt that occupies a slot.
struct Sequence {
  size_t index = 0;  // of the prompt
  int32_t slot = 0;
  std::vector<int32_t> ids;  // prompt and output
  int64_t cached = 0;        // leading ids that are in the cache
  int64_t new_tokens = 0, max_new_tokens = 0;
  std::unique_ptr<Sampler> sampler;  // rank 0

  int64_t length() const { return static_cast<int64_t>(ids.size()); }
};

// What rank 0 decided for one sequence after one step; broadcast as it is.
struct Decision {
  int32_t token = 0;
  int32_t finish = -1;  // FinishReason, -1 = goes on
};

class Generation {
 public:
  Generation(Engine& engine, Communicator& communicator, const ModelConfig& config, const std::vector<GeneratePrompt>& prompts,
             const GenerateOptions& options, TokenSink* sink)
      : engine_(engine), communicator_(communicator), config_(config), prompts_(prompts), options_(options), sink_(sink) {
    for (int64_t slot = engine.slots(); slot-- > 0;) free_slots_.push_back(static_cast<int32_t>(slot));
  }

  GenerateResult run() {
    check();
    while (next_prompt_ < prompts_.size() || !active_.empty()) {
      const double agree_s = timed([&] { agree_to_stop(); });
      if (result_.stop_signal != 0) return interrupted();
      admit();
      step();
      (result_.times.decode_s > 0 ? result_.times.decode_s : result_.times.prefill_s) += agree_s;
    }
    return result_;
  }

 private:
  using Group = std::vector<Sequence*>;

  void agree_to_stop() {
    result_.stop_signal = static_cast<int>(communicator_.max(options_.stop_signal ? options_.stop_signal->load() : 0));
  }

  void check() const {
    for (size_t index = 0; index < prompts_.size(); ++index) {
      const GeneratePrompt& prompt = prompts_[index];
      const int64_t length = static_cast<int64_t>(prompt.ids.size());
      const std::string where = "prompt " + std::to_string(index);
      if (length == 0) throw Error(where, "has no tokens");
      if (length + prompt.max_new_tokens > engine_.cache_len())
        throw Error(where,
                    std::to_string(length) + " tokens and " + std::to_string(prompt.max_new_tokens) +
                        " new ones do not fit a cache of " + std::to_string(engine_.cache_len()),
                    "raise --cache-len or lower --max-new-tokens");
    }
  }

  void admit() {
    while (!free_slots_.empty() && next_prompt_ < prompts_.size()) {
      const size_t index = next_prompt_++;
      const GeneratePrompt& prompt = prompts_[index];
      if (prompt.max_new_tokens <= 0) {
        if (sink_) sink_->finished(index, FinishReason::kLength);
        continue;
      }
      Sequence sequence;
      sequence.index = index;
      sequence.slot = free_slots_.back();
      sequence.ids = prompt.ids;
      sequence.max_new_tokens = prompt.max_new_tokens;
      if (communicator_.rank() == 0) sequence.sampler = std::make_unique<Sampler>(options_.sampling, index);
      free_slots_.pop_back();
      active_.push_back(std::move(sequence));
    }
  }

  // One token for every sequence: new prompts in prefill calls, the others in one decode call.
  void step() {
    std::map<int64_t, Group> prefills;  // by bucket
    Group decoding;
    for (Sequence& sequence : active_) {
      // Where the scaling of the rotation switches, the reference computes the whole sequence again.
      if (sequence.cached > 0 && rope_needs_rebuild(config_, sequence.cached, sequence.length())) sequence.cached = 0;
      if (sequence.cached == 0) {
        prefills[bucket_width(sequence.length(), engine_.cache_len())].push_back(&sequence);
      } else {
        decoding.push_back(&sequence);
      }
    }
    for (const auto& [width, group] : prefills) result_.times.prefill_s += timed([&, width = width] { forward(group, width); });
    if (!decoding.empty()) {
      const double before_s = communicator_.seconds();
      result_.times.decode_s += timed([&] { forward(decoding, 1); });
      result_.times.decode_collective_s += communicator_.seconds() - before_s;
    }
    std::erase_if(active_, [](const Sequence& sequence) { return sequence.slot < 0; });
  }

  void forward(const Group& group, int64_t width) {
    Batch batch;
    batch.rows = static_cast<int64_t>(group.size());
    batch.width = width;
    for (const Sequence* sequence : group) {
      const int64_t count = sequence->length() - sequence->cached;
      batch.ids.insert(batch.ids.end(), sequence->ids.begin() + sequence->cached, sequence->ids.end());
      batch.ids.resize(batch.ids.size() + static_cast<size_t>(width - count), 0);
      batch.start.push_back(static_cast<int32_t>(sequence->cached));
      batch.length.push_back(static_cast<int32_t>(count));
      batch.slot.push_back(sequence->slot);
      batch.total.push_back(static_cast<int32_t>(sequence->length()));
      (sequence->cached == 0 ? result_.times.prefill_tokens : result_.times.decode_tokens) += count;
    }
    Logits logits = engine_.forward(batch, LogitsWanted::kLast);
    std::vector<Decision> decisions(group.size());
    if (communicator_.rank() == 0)
      for (size_t row = 0; row < group.size(); ++row)
        decisions[row] = decide(*group[row], logits.at(static_cast<int64_t>(row), 0));
    communicator_.broadcast(decisions.data(), static_cast<int64_t>(decisions.size() * sizeof(Decision)), 0);
    for (size_t row = 0; row < group.size(); ++row) apply(*group[row], decisions[row]);
  }

  Decision decide(Sequence& sequence, float* logits) {
    Decision decision;
    decision.token = sequence.sampler->next(logits, config_.vocab_size, config_.vocab_size, sequence.ids);
    const bool stop = sink_ && sink_->token(sequence.index, decision.token);
    const auto& eos = options_.eos_token_ids;
    if (std::find(eos.begin(), eos.end(), decision.token) != eos.end()) {
      decision.finish = static_cast<int32_t>(FinishReason::kEos);
    } else if (stop) {
      decision.finish = static_cast<int32_t>(FinishReason::kStop);
    } else if (sequence.new_tokens + 1 == sequence.max_new_tokens) {
      decision.finish = static_cast<int32_t>(FinishReason::kLength);
    }
    return decision;
  }

  void apply(Sequence& sequence, const Decision& decision) {
    sequence.cached = sequence.length();
    sequence.ids.push_back(decision.token);
    ++sequence.new_tokens;
    if (decision.finish < 0) return;
    if (sink_) sink_->finished(sequence.index, static_cast<FinishReason>(decision.finish));
    free_slots_.push_back(sequence.slot);
    sequence.slot = -1;
  }

  GenerateResult interrupted() {
    if (sink_)
      for (const Sequence& sequence : active_) sink_->finished(sequence.index, FinishReason::kInterrupted);
    return result_;
  }

  template <class Work>
  static double timed(Work work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }

  Engine& engine_;
  Communicator& communicator_;
  const ModelConfig& config_;
  const std::vector<GeneratePrompt>& prompts_;
  const GenerateOptions& options_;
  TokenSink* sink_;

  size_t next_prompt_ = 0;
  std::vector<Sequence> active_;
  std::vector<int32_t> free_slots_;
  GenerateResult result_;
};

}  // namespace

int64_t bucket_width(int64_t length, int64_t cache_len) {
  int64_t width = 16;
  while (width < length) width *= 2;
  return std::min(width, cache_len);
}

GenerateResult generate(Engine& engine, Communicator& communicator, const ModelConfig& config,
                        const std::vector<GeneratePrompt>& prompts, const GenerateOptions& options, TokenSink* sink) {
  return Generation(engine, communicator, config, prompts, options, communicator.rank() == 0 ? sink : nullptr).run();
}

}  // namespace tp
