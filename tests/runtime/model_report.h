#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/rank_model.h"
#include "tests/runtime/made_checkpoint.h"
#include "tests/sharding/written_files.h"

namespace tp {

// The names in an object, sorted.
inline std::vector<std::string> keys(const nlohmann::json& object) {
  std::vector<std::string> names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

// What a run of a model of zeros reports as JSON.
class ModelReport : public WrittenFiles {
 protected:
  ModelReport() {
    MadeCheckpoint{.value = [](int64_t, int64_t) { return 0.0f; }}.write(dir_);
  }

  RankModel load(Communicator& communicator) const {
    ModelRequest request;
    request.model_dir = dir_;
    request.plans_dir = TPRUN_SOURCE_DIR "/plans";
    return load_rank_model(request, communicator);
  }
};

}  // namespace tp
