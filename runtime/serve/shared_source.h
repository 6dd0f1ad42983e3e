#pragma once

#include "runtime/collectives.h"
#include "runtime/prompt_source.h"
#include "runtime/serve/request_queue.h"

namespace tp {

// Prompts that come to rank 0 while the job runs, told to every rank.
class SharedSource : public PromptSource {
 public:
  // `queue` is null on all ranks but 0.
  SharedSource(Communicator& communicator, RequestQueue* queue) : communicator_(communicator), queue_(queue) {}
  PromptArrivals take(int64_t wanted, bool idle) override;
  // The queue is closed; what it has is finished.
  bool drain() override;

 private:
  Communicator& communicator_;
  RequestQueue* queue_;
};

// What other ranks need of arrivals, as text, and back. "" for none.
std::string to_text(const PromptArrivals& arrivals);
PromptArrivals arrivals_from_text(const std::string& text);

}  // namespace tp
