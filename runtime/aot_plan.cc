#include "runtime/aot_plan.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "runtime/aot_advice.h"
#include "runtime/aot_model.h"
#include "runtime/pjrt_topology.h"
#include "sharding/error.h"

namespace tp {
namespace {

using Progress = std::function<void(const std::string&)>;

}  // namespace

void prepare_environment(const AotTopology& topology) {
  const std::pair<const char*, std::string> variables[] = {
      {"TPU_SKIP_MDS_QUERY", "1"},
      {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
      {"TPU_ACCELERATOR_TYPE", topology.accelerator},
      {"TPU_WORKER_HOSTNAMES", "localhost"},
      {"TPU_WORKER_ID", "0"},
  };
  for (const auto& [name, value] : variables) setenv(name, value.c_str(), /*overwrite=*/0);
}

namespace {

std::vector<int64_t> buckets_of(const AotRequest& request, int64_t cache_len) {
  if (request.prefill.empty()) return prefill_buckets(cache_len);
  std::set<int64_t> buckets;
  for (int64_t length : request.prefill) {
    if (length < 1 || length > cache_len) {
      throw Error("--prefill", std::to_string(length) + " positions do not fit a cache of " + std::to_string(cache_len),
                  "give lengths from 1 to " + std::to_string(cache_len) + ", or a longer --cache-len");
    }
    buckets.insert(bucket_of(length, cache_len));
  }
  return {buckets.begin(), buckets.end()};
}

void dump(const HloProgram& program, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  const auto path = std::filesystem::path(directory) / (program.name + ".mlir");
  std::ofstream file(path);
  file << program.text;
  file.close();
  if (!file) throw Error("--dump-hlo", "cannot write " + path.string(), "give a directory that can be written to");
}

// The compiler's own words for a program that is too big.
bool is_out_of_memory(const Error& error) {
  return error.message().find("code 8 ") != std::string::npos;
}

AotProgram compile(const HloProgram& program, const PjrtTopology& topology, int tp_size) {
  AotProgram result{.name = program.name, .collectives = program.collectives, .kernel_calls = program.kernel_calls};
  result.limit_bytes = topology.memory_limit_bytes();
  result.argument_bytes = argument_bytes(program).all;
  if (result.argument_bytes > result.limit_bytes) {
    result.peak_bytes = result.argument_bytes;
    result.refusal = "its arguments alone are larger than the memory of a device";
    return result;
  }
  const auto begin = std::chrono::steady_clock::now();
  try {
    const CompiledMemory memory = topology.compile(program.text, static_cast<size_t>(tp_size)).memory();
    result.compiled = true;
    result.argument_bytes = memory.argument_bytes;
    result.output_bytes = memory.output_bytes;
    result.temp_bytes = memory.temp_bytes;
    result.alias_bytes = memory.alias_bytes;
    result.peak_bytes = memory.peak_bytes;
  } catch (const Error& error) {
    if (!is_out_of_memory(error)) throw;
    result.refusal = error.message();
  }
  result.compile_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

std::vector<HloProgram> programs_of(const AotModel& model, const std::vector<int64_t>& buckets, const AotReport& report) {
  std::vector<HloProgram> programs;
  for (int64_t bucket : buckets) programs.push_back(model.prefill(bucket, report.batch, report.cache_len));
  programs.push_back(model.decode(report.batch, report.cache_len));
  return programs;
}

// With kernels: what the same programs need without any.
void add_built_in(const AotRequest& request, const std::vector<int64_t>& buckets, const PjrtTopology& topology,
                  const Progress& progress, AotReport& report) {
  AotRequest plain = request;
  plain.kernels.clear();
  const std::vector<HloProgram> programs = programs_of(AotModel(plain, report.tp_size), buckets, report);
  for (size_t i = 0; i < programs.size(); ++i) {
    progress("compiling " + programs[i].name + " without kernels");
    const AotProgram built_in = compile(programs[i], topology, report.tp_size);
    if (built_in.compiled) report.programs[i].built_in = {built_in.temp_bytes, built_in.peak_bytes};
  }
}

// Memory besides the arguments that the programs need, as far as they were compiled.
int64_t work_bytes(const AotReport& report) {
  int64_t most = 0;
  for (const AotProgram& program : report.programs) {
    if (program.compiled) most = std::max(most, program.peak_bytes - program.argument_bytes);
  }
  return most;
}

}  // namespace

AotReport run_aot(const AotRequest& request, const Progress& progress) {
  AotReport report{.topology = aot_topology(request.topology)};
  report.tp_size = request.tp_size == 0 ? report.topology.devices : static_cast<int>(request.tp_size);
  if (report.tp_size > report.topology.devices) {
    throw Error("--tp",
                std::to_string(report.tp_size) + " ranks on the " + std::to_string(report.topology.devices) + " devices of " +
                    report.topology.name,
                "choose a topology with as many devices as ranks");
  }
  const AotModel model(request, report.tp_size);
  report.dtype = torch_name(model.dtype());
  report.batch = request.batch;
  const ModelConfig& config = model.config();
  const int64_t longest =
      config.index_topk > 0 ? std::min(config.index_topk, config.max_position_embeddings) : config.max_position_embeddings;
  report.cache_len = request.cache_len == 0 ? longest : request.cache_len;
  require_full_attention(config, report.cache_len, "--cache-len");
  const std::vector<int64_t> buckets = buckets_of(request, report.cache_len);
  const std::vector<HloProgram> programs = programs_of(model, buckets, report);
  const ArgumentBytes bytes = argument_bytes(programs.back());
  report.weights_bytes = bytes.weights;
  report.cache_bytes = bytes.caches;

  prepare_environment(report.topology);
  const PjrtTopology topology(PjrtPlugin::load(request.libtpu), report.topology.libtpu_name,
                              static_cast<size_t>(report.topology.devices));
  for (const HloProgram& program : programs) {
    if (!request.dump_hlo.empty()) dump(program, request.dump_hlo);
    progress("compiling " + program.name + " for " + report.topology.name);
    report.programs.push_back(compile(program, topology, report.tp_size));
    report.fits = report.fits && report.programs.back().compiled;
  }
  if (!request.kernels.empty()) add_built_in(request, buckets, topology, progress, report);
  if (!report.fits) report.advice = aot_advice(request, report, work_bytes(report));
  return report;
}

}  // namespace tp
