#include "runtime/job.h"

#include <gmock/gmock.h>

#include "sharding/error.h"

namespace tp {
namespace {

// Every field differs from its default, so that one left out of the JSON shows.
Job full_job() {
  Job job;
  job.command = "generate";
  job.model_dir = "/models/a b";
  job.plan = {"my.yaml", {"layers.*.mlp.up_proj=replicated"}, TiedWeights::kUntie};
  job.plans_dir = "/plans";
  job.tokenizer = "/models/tokenizer.json";
  job.dtype = "bfloat16";
  job.weights = "int8";
  job.activations = "int8";
  job.cache_dtype = "int8";
  job.load_format = "copy";
  job.device = "tpu";
  job.pjrt_plugin = "/lib/libtpu.so";
  job.compile_cache = "/cache";
  job.dump_hlo = "/hlo";
  job.disable_compile = true;
  job.kernels = {{"/k", true, "rms_norm"}};
  job.threads = 3;
  job.timeout_s = 1.5;
  job.prompts = {{{1, 2, 3}, "h\u00e9\n", 7}, {{}, "", std::nullopt}};
  PromptOptions own;
  own.sampling.logit_bias = {{5, -1.5}};
  own.top_logprobs = 3;
  job.prompts[0].options = own;
  job.prompts[0].index = 4;
  job.prompts[0].sample = 2;
  job.prompts[0].random_stream = 8;
  job.prompts[1].error = "line 2: bad";
  job.max_new_tokens = 5;
  job.cache_len = 64;
  job.batch = 2;
  job.options.sampling = {true, 0.7, 50, 0.9, 0.05, 1.1, 0.2, 0.3, 4, {}, 0xffffffffffffffffULL};
  job.options.stop = {"\n\n"};
  job.options.ignore_eos = true;
  job.prefix_cache = true;
  job.eos_token_ids = {7, 9};
  job.echo = false;
  job.format = "json";
  job.output = "out.jsonl";
  job.output_kept_bytes = 12;
  job.stats = "stats.json";
  job.trace = "trace.json";
  job.chat_template = "/own.jinja";
  job.system = "be short";
  job.serve = {"0.0.0.0", 80, "key", "tiny", 5, 1000, 2.5};
  job.score_window = 512;
  job.score_stride = 256;
  job.bench_prompts = {16, 32};
  job.bench_batches = {1, 8};
  job.bench_plot = "plot.svg";
  job.bench_results = "runs.json";
  job.bench_new = 8;
  job.bench_json = true;
  return job;
}

constexpr char kFullJob[] =
    R"({"job_version":8,"command":"generate","model_dir":"/models/a b","plan":{"plan":"my.yaml",)"
    R"("overrides":["layers.*.mlp.up_proj=replicated"],"tied":1},"plans_dir":"/plans","tokenizer":"/models/tokenizer.json",)"
    R"("dtype":"bfloat16","weights":"int8","activations":"int8","cache_dtype":"int8","save_quantized":"","load_format":"copy","device":"tpu","pjrt_plugin":"/lib/libtpu.so",)"
    R"("compile_cache":"/cache","dump_hlo":"/hlo","disable_compile":true,"kernels":[{"package":"/k","built_in":true,"operator":"rms_norm"}],"threads":3,"timeout_s":1.5,)"
    R"("prompts":[{"ids":[1,2,3],"text":"hé\n","max_new_tokens":7,"options":{"sampling":{"do_sample":false,"temperature":1.0,)"
    R"("top_k":0,"top_p":1.0,"min_p":0.0,"repetition_penalty":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,)"
    R"("no_repeat_ngram_size":0,"logit_bias":[[5,-1.5]],"seed":0},"stop":[],"ignore_eos":false,"top_logprobs":3},"index":4,)"
    R"("sample":2,"random_stream":8,"error":""},{"ids":[],"text":"","max_new_tokens":null,"options":null,"index":0,)"
    R"("sample":null,"random_stream":0,"error":"line 2: bad"}],)"
    R"("max_new_tokens":5,"cache_len":64,"batch":2,"options":{"sampling":{"do_sample":true,"temperature":0.7,"top_k":50,)"
    R"("top_p":0.9,"min_p":0.05,"repetition_penalty":1.1,"presence_penalty":0.2,"frequency_penalty":0.3,)"
    R"("no_repeat_ngram_size":4,"logit_bias":[],"seed":18446744073709551615},"stop":["\n\n"],"ignore_eos":true,)"
    R"("top_logprobs":null},"eos_token_ids":[7,9],"prefix_cache":true,"echo":false,"format":"json","output":"out.jsonl",)"
    R"("output_kept_bytes":12,"stats":"stats.json","trace":"trace.json","chat_template":"/own.jinja","system":"be short",)"
    R"("serve":{"bind":"0.0.0.0","port":80,"api_key":"key","model_name":"tiny","most_waiting":5,"request_bytes":1000,)"
    R"("request_timeout_s":2.5},)"
    R"("score_window":512,"score_stride":256,"bench_prompts":[16,32],"bench_batches":[1,8],"bench_new":8,)"
    R"("bench_json":true,"bench_plot":"plot.svg","bench_results":"runs.json"})";

TEST(Job, WritesEveryField) {
  EXPECT_EQ(to_json(full_job()), kFullJob);
}

TEST(Job, ReadsWhatItWrites) {
  EXPECT_EQ(to_json(job_from_json(kFullJob)), kFullJob);
  const Job job = job_from_json(kFullJob);
  EXPECT_EQ(job.options.sampling.seed, 0xffffffffffffffffULL);
  EXPECT_EQ(job.plan.tied, TiedWeights::kUntie);
  EXPECT_EQ(job.prompts[1].max_new_tokens, std::nullopt);
  EXPECT_EQ(job.prompts[0].options->sampling.logit_bias[0].second, -1.5);
  EXPECT_FALSE(job.prompts[1].options.has_value());
}

TEST(Job, ReplacesBrokenUtf8OfThePrompt) {
  Job job;
  job.prompts = {{{1}, "a\xff", std::nullopt}};
  EXPECT_EQ(job_from_json(to_json(job)).prompts[0].text, "a\uFFFD");
}

TEST(Job, RefusesAnotherVersion) {
  try {
    job_from_json(R"({"job_version":99})");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.text(), "job: version 99 of the job is not 8\n  fix: tprun and tprun-rank must come from the same build");
  }
  EXPECT_THROW(job_from_json(R"({"job_version":8})"), Error);
  EXPECT_THROW(job_from_json(""), Error);
  EXPECT_THROW(job_from_json("[1"), Error);
}

}  // namespace
}  // namespace tp
