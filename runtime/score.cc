#include "runtime/score.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>

#include "runtime/generate.h"
#include "runtime/logprobs.h"
#include "runtime/output_file.h"

namespace tp {
namespace {

using Json = nlohmann::ordered_json;

// Floats of logits that one call may give: longer prompts come in several calls.
constexpr int64_t kLogitFloats = int64_t{1} << 24;

// Header of a safetensors file with one float32 tensor `logits.<index>` [tokens, vocab] per prompt, in order.
std::string logits_header(const std::vector<JobPrompt>& prompts, int64_t vocab) {
  Json header = Json::object();
  int64_t offset = 0;
  for (size_t index = 0; index < prompts.size(); ++index) {
    const int64_t tokens = static_cast<int64_t>(prompts[index].ids.size());
    const int64_t end = offset + tokens * vocab * static_cast<int64_t>(sizeof(float));
    header["logits." + std::to_string(index)] = {{"dtype", "F32"}, {"shape", {tokens, vocab}}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(text.size() >> (8 * i));
  return file + text;
}

int64_t call_width(int64_t vocab) {
  int64_t width = 16;
  while (width * 2 * vocab <= kLogitFloats && width < 512) width *= 2;
  return width;
}

// Calls consume(position, logits) for every position of `ids`.
template <class Consume>
void for_each_position(Engine& engine, const std::vector<int32_t>& ids, int64_t vocab, Consume consume) {
  const auto total = static_cast<int64_t>(ids.size());
  const int64_t width = call_width(vocab);
  for (int64_t begin = 0; begin < total; begin += width) {
    const int64_t count = std::min(width, total - begin);
    Batch batch{1, std::min(bucket_width(count, engine.cache_len()), width)};
    batch.ids.assign(ids.begin() + begin, ids.begin() + begin + count);
    batch.ids.resize(static_cast<size_t>(batch.width), 0);
    batch.start = {static_cast<int32_t>(begin)};
    batch.length = {static_cast<int32_t>(count)};
    batch.slot = {0};
    batch.total = {static_cast<int32_t>(total)};
    const Logits logits = engine.forward(batch, LogitsWanted::kAll);
    for (int64_t i = 0; i < count; ++i) consume(begin + i, logits.at(0, i));
  }
}

// A part of a text that is run by itself, and the first of its tokens whose likelihood it gives.
struct Window {
  size_t begin, end, first_scored;
};

// Each window begins `stride` tokens after the last and scores what no earlier one did, as transformers' guide to perplexity
// does it. One window of everything when `size` is 0 or the text is not longer.
std::vector<Window> windows_of(size_t tokens, size_t size, size_t stride) {
  if (size == 0 || tokens <= size) return {{0, tokens, 1}};
  std::vector<Window> windows;
  for (size_t begin = 0, scored = 1; scored < tokens; begin += stride) {
    const size_t end = std::min(begin + size, tokens);
    windows.push_back({begin, end, scored});
    scored = end;
  }
  return windows;
}

std::string score_line(size_t index, int64_t tokens, double nll) {
  Json line{{"index", index}, {"tokens", tokens}, {"nll", nullptr}, {"perplexity", nullptr}};
  if (tokens > 1) {
    line["nll"] = nll;
    line["perplexity"] = std::exp(nll / static_cast<double>(tokens - 1));
  }
  return line.dump() + "\n";
}

// The summed negative log-likelihood of one text; `take` gets the logits of each position once, in order.
template <class Take>
double score_text(const Job& job, const std::vector<int32_t>& ids, int64_t vocab, Engine& engine, bool writes, Take take) {
  double nll = 0;
  size_t taken = 0;
  for (const Window& window :
       windows_of(ids.size(), static_cast<size_t>(job.score_window), static_cast<size_t>(job.score_stride))) {
    const std::vector<int32_t> part(ids.begin() + static_cast<std::ptrdiff_t>(window.begin),
                                    ids.begin() + static_cast<std::ptrdiff_t>(window.end));
    for_each_position(engine, part, vocab, [&](int64_t position, const float* logits) {
      if (!writes) return;
      const size_t next = window.begin + static_cast<size_t>(position) + 1;
      if (next >= window.first_scored && next < window.end) nll += negative_log_likelihood(logits, vocab, ids[next]);
      if (next <= taken) return;
      take(logits);
      taken = next;
    });
  }
  return nll;
}

}  // namespace

int run_score(const Job& job, const RankModel& model, Engine& engine, Communicator& communicator,
              const std::atomic<int>& stop_signal) {
  const bool writes = communicator.rank() == 0;
  const int64_t vocab = model.config.vocab_size;
  std::unique_ptr<OutputFile> lines, tensors;
  if (writes) {
    lines = std::make_unique<OutputFile>("");
    if (!job.output.empty()) tensors = std::make_unique<OutputFile>(job.output);
    if (tensors) tensors->write(logits_header(job.prompts, vocab));
  }
  for (size_t index = 0; index < job.prompts.size(); ++index) {
    if (const int64_t signal = communicator.max(stop_signal.load()); signal != 0) return static_cast<int>(signal);
    const std::vector<int32_t>& ids = job.prompts[index].ids;
    const double nll = score_text(job, ids, vocab, engine, writes, [&](const float* logits) {
      if (tensors) tensors->write({reinterpret_cast<const char*>(logits), static_cast<size_t>(vocab) * sizeof(float)});
    });
    if (writes) lines->write(score_line(index, static_cast<int64_t>(ids.size()), nll));
  }
  return 0;
}

}  // namespace tp
