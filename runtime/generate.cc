#include "runtime/generate.h"

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <numeric>

#include "runtime/rope.h"
#include "runtime/slot_cache.h"
#include "sharding/error.h"

namespace tp {
namespace {

// Ids of new prompts that a step runs at most while other sequences are being continued, which wait for them that long.
constexpr int64_t kIdsBesideDecode = 256;

// A prompt that occupies a slot.
struct Sequence {
  size_t index = 0;  // of the prompt
  GeneratePrompt prompt;
  int32_t slot = 0;
  std::vector<int32_t> ids;  // prompt and output
  int64_t cached = 0;        // leading ids that are in the cache
  int64_t running = 0;       // ids behind them that the next call runs
  int64_t new_tokens = 0;
  std::unique_ptr<Sampler> sampler;  // rank 0

  int64_t length() const { return static_cast<int64_t>(ids.size()); }
  int64_t fresh() const { return length() - cached; }
};

// What rank 0 decided for one sequence after one step; broadcast as it is.
struct Decision {
  int32_t token = 0;
  int32_t finish = -1;  // FinishReason, -1 = goes on
};

void check_prompt(size_t index, const GeneratePrompt& prompt, int64_t cache_len) {
  if (prompt.max_new_tokens <= 0) return;
  const auto length = static_cast<int64_t>(prompt.ids.size());
  const std::string where = "prompt " + std::to_string(index);
  if (length == 0) throw Error(where, "has no tokens");
  if (length + prompt.max_new_tokens > cache_len)
    throw Error(where,
                std::to_string(length) + " tokens and " + std::to_string(prompt.max_new_tokens) +
                    " new ones do not fit a cache of " + std::to_string(cache_len),
                "raise --cache-len or lower --max-new-tokens");
}

// A list, in order.
class ListSource : public PromptSource {
 public:
  explicit ListSource(const std::vector<GeneratePrompt>& prompts) : prompts_(prompts) {}

  PromptArrivals take(int64_t wanted, bool) override {
    PromptArrivals arrivals;
    for (; wanted > 0 && next_ < prompts_.size(); ++next_) {
      arrivals.prompts.emplace_back(next_, prompts_[next_]);
      if (prompts_[next_].max_new_tokens > 0) --wanted;
    }
    arrivals.last = next_ == prompts_.size();
    return arrivals;
  }

 private:
  const std::vector<GeneratePrompt>& prompts_;
  size_t next_ = 0;
};

class Generation {
 public:
  Generation(Engine& engine, Communicator& communicator, const ModelConfig& config, PromptSource& source,
             const GenerateOptions& options, TokenSink* sink)
      : engine_(engine),
        communicator_(communicator),
        config_(config),
        source_(source),
        options_(options),
        sink_(sink),
        slots_(engine, config, options.prefix_cache) {}

  GenerateResult run() {
    // Rank 0 alone has a tokenizer.
    allowed_vocab_ = communicator_.max(options_.allowed_vocab);
    if (allowed_vocab_ == 0) allowed_vocab_ = config_.vocab_size;
    while (!last_ || !waiting_.empty() || !active_.empty()) {
      const double agree_s = timed([&] { agree_to_stop(); });
      if (result_.stop_signal != 0 && !source_.drain()) return interrupted();
      take();
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

  void take() {
    const auto waiting = static_cast<int64_t>(waiting_.size());
    PromptArrivals arrivals = source_.take(slots_.free_slots() - waiting, active_.empty() && waiting_.empty());
    last_ = arrivals.last;
    for (auto& arrival : arrivals.prompts) {
      check_prompt(arrival.first, arrival.second, engine_.cache_len());
      waiting_.push_back(std::move(arrival));
    }
    for (const size_t index : arrivals.cancelled) cancel(index);
  }

  void cancel(size_t index) {
    const auto erased = std::erase_if(waiting_, [&](const auto& prompt) { return prompt.first == index; });
    if (erased > 0 && sink_) sink_->finished(index, FinishReason::kCancelled);
    for (Sequence& sequence : active_) {
      if (sequence.index == index) finish(sequence, FinishReason::kCancelled);
    }
    forget_finished();
  }

  void admit() {
    while (!waiting_.empty()) {
      auto& [index, prompt] = waiting_.front();
      if (prompt.max_new_tokens <= 0) {
        if (sink_) sink_->finished(index, FinishReason::kLength);
      } else {
        if (slots_.free_slots() == 0) return;
        const std::optional<SlotCache::Place> place = slots_.place(prompt.ids);
        if (!place) return;
        Sequence sequence;
        sequence.index = index;
        sequence.slot = place->slot;
        sequence.ids = prompt.ids;
        sequence.cached = place->cached;
        if (communicator_.rank() == 0) sequence.sampler = std::make_unique<Sampler>(prompt.sampling, prompt.random_stream);
        sequence.prompt = std::move(prompt);
        result_.times.reused_tokens += place->cached;
        if (sink_) sink_->started(index, place->cached);
        active_.push_back(std::move(sequence));
      }
      waiting_.pop_front();
    }
  }

  // One token for every sequence that is being continued, in one call; new prompts, or a part of them, in prefill calls.
  void step() {
    Group decoding, beginning;
    for (Sequence& sequence : active_) {
      // Where the scaling of the rotation switches, the reference computes the whole sequence again.
      if (sequence.cached > 0 && rope_needs_rebuild(config_, sequence.cached, sequence.length())) sequence.cached = 0;
      sequence.running = sequence.fresh();
      (sequence.running > 1 || sequence.cached == 0 ? beginning : decoding).push_back(&sequence);
    }
    std::map<int64_t, Group> prefills;  // by bucket
    int64_t left = decoding.empty() ? INT64_MAX : kIdsBesideDecode;
    for (Sequence* sequence : beginning) {
      sequence->running = part_of_prompt(*sequence, left);
      left = std::max<int64_t>(left - sequence->running, 0);
      if (sequence->running > 0) prefills[bucket_width(sequence->running, engine_.cache_len())].push_back(sequence);
    }
    for (const auto& bucket : prefills) result_.times.prefill_s += timed([&] { forward(bucket.second, bucket.first); });
    if (!decoding.empty()) result_.times.decode_s += timed([&] { forward(decoding, 1); });
    forget_finished();
  }

  // How many ids of a new prompt a step runs that has `left` for it. All of them where the rotation depends on the length: what
  // is in the cache must be of the whole.
  int64_t part_of_prompt(const Sequence& sequence, int64_t left) const {
    const bool whole = sequence.fresh() <= left || (left > 0 && rope_depends_on_length(config_, sequence.length()));
    return whole ? sequence.fresh() : left;
  }

  void forget_finished() {
    std::erase_if(active_, [](const Sequence& sequence) { return sequence.slot < 0; });
  }

  void forward(const Group& group, int64_t width) {
    Batch batch;
    batch.rows = static_cast<int64_t>(group.size());
    batch.width = width;
    for (const Sequence* sequence : group) {
      const int64_t count = sequence->running;
      const auto first = sequence->ids.begin() + sequence->cached;
      batch.ids.insert(batch.ids.end(), first, first + count);
      batch.ids.resize(batch.ids.size() + static_cast<size_t>(width - count), 0);
      batch.start.push_back(static_cast<int32_t>(sequence->cached));
      batch.length.push_back(static_cast<int32_t>(count));
      batch.slot.push_back(sequence->slot);
      batch.total.push_back(static_cast<int32_t>(sequence->length()));
    }
    (width > 1 ? result_.times.prefill_tokens : result_.times.decode_tokens) +=
        std::accumulate(batch.length.begin(), batch.length.end(), int64_t{0});
    const bool likeliest =
        std::all_of(group.begin(), group.end(), [](const Sequence* sequence) { return sequence->prompt.likeliest(); });
    const std::vector<int32_t> tokens = likeliest ? engine_.likeliest(batch, allowed_vocab_) : std::vector<int32_t>();
    Logits logits = likeliest ? Logits() : engine_.forward(batch, LogitsWanted::kLast);
    std::vector<Decision> decisions(group.size());
    if (communicator_.rank() == 0)
      for (size_t row = 0; row < group.size(); ++row) {
        if (group[row]->running < group[row]->fresh()) continue;  // its prompt goes on
        decisions[row] =
            decide(*group[row], likeliest ? tokens[row] : sample(*group[row], logits.at(static_cast<int64_t>(row), 0)));
      }
    communicator_.broadcast(decisions.data(), static_cast<int64_t>(decisions.size() * sizeof(Decision)), 0);
    for (size_t row = 0; row < group.size(); ++row) apply(*group[row], decisions[row]);
  }

  int32_t sample(Sequence& sequence, float* logits) {
    const int64_t vocab = config_.vocab_size;
    const std::optional<int64_t> top_logprobs = sequence.prompt.top_logprobs;
    std::vector<float> raw;  // the sampler changes the logits in place
    if (top_logprobs && sink_) raw.assign(logits, logits + vocab);
    const int32_t token = sequence.sampler->next(logits, vocab, allowed_vocab_, sequence.ids);
    if (!raw.empty()) sink_->logprobs(sequence.index, token_logprobs(raw.data(), vocab, token, *top_logprobs));
    return token;
  }

  Decision decide(Sequence& sequence, int32_t token) {
    Decision decision;
    decision.token = token;
    const bool stop = sink_ && sink_->token(sequence.index, decision.token);
    const auto& eos = options_.eos_token_ids;
    if (!sequence.prompt.ignore_eos && std::find(eos.begin(), eos.end(), decision.token) != eos.end()) {
      decision.finish = static_cast<int32_t>(FinishReason::kEos);
    } else if (stop) {
      decision.finish = static_cast<int32_t>(FinishReason::kStop);
    } else if (sequence.new_tokens + 1 == sequence.prompt.max_new_tokens) {
      decision.finish = static_cast<int32_t>(FinishReason::kLength);
    }
    return decision;
  }

  void apply(Sequence& sequence, const Decision& decision) {
    sequence.cached += sequence.running;
    slots_.computed(sequence.slot, sequence.ids, sequence.cached);
    if (sequence.fresh() > 0) return;
    sequence.ids.push_back(decision.token);
    ++sequence.new_tokens;
    if (decision.finish >= 0) finish(sequence, static_cast<FinishReason>(decision.finish));
  }

  void finish(Sequence& sequence, FinishReason reason) {
    if (sink_) sink_->finished(sequence.index, reason);
    slots_.release(sequence.slot);
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
  PromptSource& source_;
  const GenerateOptions& options_;
  TokenSink* sink_;

  SlotCache slots_;
  bool last_ = false;                                      // the source has no more
  std::deque<std::pair<size_t, GeneratePrompt>> waiting_;  // for a slot
  std::vector<Sequence> active_;
  GenerateResult result_;
  int64_t allowed_vocab_ = 0;  // ids below it may be chosen
};

}  // namespace

int64_t bucket_width(int64_t length, int64_t cache_len) {
  int64_t width = 16;
  while (width < length) width *= 2;
  return std::min(width, cache_len);
}

GenerateResult generate(Engine& engine, Communicator& communicator, const ModelConfig& config, PromptSource& source,
                        const GenerateOptions& options, TokenSink* sink) {
  return Generation(engine, communicator, config, source, options, communicator.rank() == 0 ? sink : nullptr).run();
}

GenerateResult generate(Engine& engine, Communicator& communicator, const ModelConfig& config,
                        const std::vector<GeneratePrompt>& prompts, const GenerateOptions& options, TokenSink* sink) {
  for (size_t index = 0; index < prompts.size(); ++index) check_prompt(index, prompts[index], engine.cache_len());
  ListSource source(prompts);
  return generate(engine, communicator, config, source, options, sink);
}

}  // namespace tp
