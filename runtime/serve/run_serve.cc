#include "runtime/serve/run_serve.h"

#include "runtime/output_file.h"
#include "runtime/run_generate.h"
#include "runtime/serve/http_server.h"
#include "runtime/serve/shared_source.h"

namespace tp {

GenerateResult run_serve(const Job& job, const RankModel& model, const std::shared_ptr<const Tokenizer>& tokenizer,
                         Engine& engine, Communicator& communicator, const std::atomic<int>& stop_signal) {
  if (communicator.rank() != 0) {
    SharedSource source(communicator, nullptr);
    return generate(engine, communicator, model.config, source, generate_options(job, nullptr, stop_signal), nullptr);
  }
  const ChatPrompt chat(job.model_dir, job.chat_template, job.system);
  RequestRules rules{tokenizer,          chat,        job.serve.model_name, model.config.vocab_size,
                     engine.cache_len(), job.options, job.max_new_tokens};
  // OpenAI's API draws tokens unless the temperature is 0.
  rules.defaults.sampling.do_sample = rules.defaults.sampling.temperature != 0;
  RequestQueue queue(tokenizer.get(), job.eos_token_ids, static_cast<size_t>(job.serve.most_waiting),
                     static_cast<size_t>(engine.slots()));
  const HttpServer server(job.serve, rules, {communicator.world_size(), job.device, engine.slots()}, queue);
  const EndOfQueue end(queue);
  OutputFile("").write("serving " + job.serve.model_name + " at http://" + job.serve.bind + ":" +
                       std::to_string(server.port()) + "\n");
  SharedSource source(communicator, &queue);
  return generate(engine, communicator, model.config, source, generate_options(job, tokenizer.get(), stop_signal), &queue);
}

}  // namespace tp
