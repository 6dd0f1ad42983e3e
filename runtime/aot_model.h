#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "runtime/aot_request.h"
#include "runtime/stablehlo_program.h"
#include "sharding/plan.h"

namespace tp {

// A model as one device of a job of `tp_size` ranks holds it, without any weights: what its programs are traced from.
class AotModel {
 public:
  // Throws Error for a config, a plan or kernels that the model cannot run with.
  AotModel(const AotRequest& request, int tp_size, const std::string& platform = "tpu");

  HloProgram prefill(int64_t bucket, int64_t batch, int64_t cache_len, LogitsWanted wanted = LogitsWanted::kLast) const;
  HloProgram decode(int64_t batch, int64_t cache_len) const;

  const ModelConfig& config() const { return config_; }
  DType dtype() const { return source_->dtype; }
  const ParameterTable& table() const { return *table_; }
  const Decoder& decoder() const { return *decoder_; }

 private:
  ModelConfig config_;
  ResolvedPlan plan_;
  std::unique_ptr<ParameterTable> table_;
  std::unique_ptr<Decoder> decoder_;
  std::unique_ptr<TraceSource> source_;
};

// Bytes of a program's arguments: of parameters, of caches, of all.
struct ArgumentBytes {
  int64_t weights = 0, caches = 0, all = 0;
};
ArgumentBytes argument_bytes(const HloProgram& program);

}  // namespace tp
