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
  job.load_format = "copy";
  job.device = "tpu";
  job.pjrt_plugin = "/lib/libtpu.so";
  job.compile_cache = "/cache";
  job.dump_hlo = "/hlo";
  job.threads = 3;
  job.timeout_s = 1.5;
  job.prompts = {{{1, 2, 3}, "h\u00e9\n", 7}, {{}, "", std::nullopt}};
  job.max_new_tokens = 5;
  job.cache_len = 64;
  job.batch = 2;
  job.sampling = {true, 0.7, 50, 0.9, 0.05, 1.1, 0xffffffffffffffffULL};
  job.eos_token_ids = {7, 9};
  job.stop = {"\n\n"};
  job.echo = false;
  job.format = "json";
  job.output = "out.jsonl";
  job.stats = "stats.json";
  job.bench_prompt = 16;
  job.bench_new = 8;
  job.bench_json = true;
  return job;
}

constexpr char kFullJob[] =
    R"({"job_version":2,"command":"generate","model_dir":"/models/a b","plan":{"plan":"my.yaml",)"
    R"("overrides":["layers.*.mlp.up_proj=replicated"],"tied":1},"plans_dir":"/plans","tokenizer":"/models/tokenizer.json",)"
    R"("dtype":"bfloat16","load_format":"copy","device":"tpu","pjrt_plugin":"/lib/libtpu.so",)"
    R"("compile_cache":"/cache","dump_hlo":"/hlo","threads":3,"timeout_s":1.5,)"
    R"("prompts":[{"ids":[1,2,3],"text":"hé\n","max_new_tokens":7},{"ids":[],"text":"","max_new_tokens":null}],)"
    R"("max_new_tokens":5,"cache_len":64,"batch":2,"sampling":{"do_sample":true,"temperature":0.7,"top_k":50,"top_p":0.9,)"
    R"("min_p":0.05,"repetition_penalty":1.1,"seed":18446744073709551615},"eos_token_ids":[7,9],"stop":["\n\n"],)"
    R"("echo":false,"format":"json","output":"out.jsonl","stats":"stats.json","bench_prompt":16,"bench_new":8,"bench_json":true})";

TEST(Job, WritesEveryField) {
  EXPECT_EQ(to_json(full_job()), kFullJob);
}

TEST(Job, ReadsWhatItWrites) {
  EXPECT_EQ(to_json(job_from_json(kFullJob)), kFullJob);
  const Job job = job_from_json(kFullJob);
  EXPECT_EQ(job.sampling.seed, 0xffffffffffffffffULL);
  EXPECT_EQ(job.plan.tied, TiedWeights::kUntie);
  EXPECT_EQ(job.prompts[1].max_new_tokens, std::nullopt);
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
    EXPECT_EQ(e.text(), "job: version 99 of the job is not 2\n  fix: tprun and tprun-rank must come from the same build");
  }
  EXPECT_THROW(job_from_json(R"({"job_version":2})"), Error);
  EXPECT_THROW(job_from_json(""), Error);
  EXPECT_THROW(job_from_json("[1"), Error);
}

}  // namespace
}  // namespace tp
