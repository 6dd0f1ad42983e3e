#pragma once

#include <memory>

#include "runtime/generate.h"
#include "runtime/job.h"
#include "runtime/output_file.h"
#include "runtime/tokenizer.h"

namespace tp {

// Turns generated tokens into what cli.md promises ("Text out", "JSONL out"), in the order of the prompts however they finish,
// and finds stop strings. `tokenizer` may be null: ids are printed. The arguments must outlive it.
std::unique_ptr<TokenSink> make_generate_output(const Job& job, const Tokenizer* tokenizer, OutputFile& file);

}  // namespace tp
