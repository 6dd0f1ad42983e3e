#include "runtime/serve/shared_source.h"

#include <nlohmann/json.hpp>
#include <thread>

namespace tp {
namespace {

using namespace std::chrono_literals;

// Rank 0 sleeps this long when nothing is in flight; it wakes up for a request. The other ranks sleep less, so that they are
// there when it calls, and do not poll for it all the time.
constexpr auto kIdleWait = 40ms;
constexpr auto kIdleSleep = 20ms;

}  // namespace

std::string to_text(const PromptArrivals& arrivals) {
  if (arrivals.prompts.empty() && arrivals.cancelled.empty() && !arrivals.last) return "";
  nlohmann::json prompts = nlohmann::json::array();
  for (const auto& [index, prompt] : arrivals.prompts)
    prompts.push_back({index, prompt.ids, prompt.max_new_tokens, prompt.likeliest()});
  return nlohmann::json{{"prompts", prompts}, {"cancelled", arrivals.cancelled}, {"last", arrivals.last}}.dump();
}

PromptArrivals arrivals_from_text(const std::string& text) {
  PromptArrivals arrivals;
  if (text.empty()) return arrivals;
  const nlohmann::json json = nlohmann::json::parse(text);
  for (const nlohmann::json& item : json.at("prompts")) {
    auto& [index, prompt] = arrivals.prompts.emplace_back();
    item.at(0).get_to(index);
    item.at(1).get_to(prompt.ids);
    item.at(2).get_to(prompt.max_new_tokens);
    prompt.sampling.do_sample = !item.at(3).get<bool>();  // which is what likeliest() says again
  }
  json.at("cancelled").get_to(arrivals.cancelled);
  json.at("last").get_to(arrivals.last);
  return arrivals;
}

PromptArrivals SharedSource::take(int64_t wanted, bool idle) {
  if (queue_ != nullptr) {
    PromptArrivals arrivals = queue_->take(wanted, idle ? kIdleWait : 0ms);
    communicator_.broadcast_text(to_text(arrivals), 0);
    return arrivals;
  }
  if (idle) std::this_thread::sleep_for(kIdleSleep);
  return arrivals_from_text(communicator_.broadcast_text("", 0));
}

bool SharedSource::drain() {
  if (queue_ != nullptr) queue_->close();
  return true;
}

}  // namespace tp
