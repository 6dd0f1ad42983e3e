#pragma once

#include <string>
#include <vector>

#include "runtime/decoder.h"
#include "runtime/ops_stablehlo.h"

namespace tp {

// What the model is traced from. The references must outlive it; every rank of a job gives equal ones but for the rank's own
// slices, which do not enter the text.
struct TraceSource {
  const ModelConfig& config;
  const ParameterTable& table;
  const Decoder& decoder;
  std::vector<ParamId> storage;  // the parameter whose memory each one shares (itself, unless tied)
  DType dtype;
  int tp_size;
  std::shared_ptr<const KernelSet> kernels = std::make_shared<KernelSet>();
};

// storage of a checkpoint without a tensor for a tied head, as the plan treats it.
std::vector<ParamId> tied_storage(const ModelConfig& config, const ParameterTable& table);

// One call of the decoder as a program.
HloProgram trace_program(const TraceSource& source, const std::string& name, const HloShape& shape, LogitsWanted wanted);

// Prompt positions that programs are made for: 16, 32, … and the cache's own length as the last.
std::vector<int64_t> prefill_buckets(int64_t cache_len);
// The smallest bucket that holds `length`.
int64_t bucket_of(int64_t length, int64_t cache_len);

// The programs that a run with these slots and cache needs.
HloProgram trace_prefill(const TraceSource& source, int64_t bucket, int64_t slots, int64_t cache_len, LogitsWanted wanted);
HloProgram trace_decode(const TraceSource& source, int64_t slots, int64_t cache_len);

}  // namespace tp
