#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/ops_stablehlo.h"
#include "runtime/pjrt_client.h"
#include "runtime/rank_model.h"

namespace tp {

// Weights and KV caches on the devices of this process, device d holding those of models[d].
class DeviceTensors {
 public:
  // Copies all weights; parameters that share memory (`storage`, see TraceSource) are copied once.
  DeviceTensors(std::shared_ptr<const PjrtClient> client, const std::vector<const RankModel*>& models,
                const std::vector<ParamId>& storage);

  // `input` is a parameter, what belongs to one, or a cache; a cache starts as zeros when it is first asked for.
  const PjrtBuffer& at(size_t device, const HloInput& input);
  void replace(size_t device, const HloInput& cache, PjrtBuffer buffer);

 private:
  // The integers of a weight that is kept so, with their scales and zero points.
  void add_integers(size_t device, ParamId id, const RankModel& model);

  std::shared_ptr<const PjrtClient> client_;
  std::vector<std::map<std::pair<HloInput::Kind, ParamId>, PjrtBuffer>> weights_;  // by device
  std::vector<std::map<std::pair<HloInput::Kind, int>, PjrtBuffer>> caches_;       // by device
};

}  // namespace tp
