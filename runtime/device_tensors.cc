#include "runtime/device_tensors.h"

namespace tp {

DeviceTensors::DeviceTensors(std::shared_ptr<const PjrtClient> client, const std::vector<const RankModel*>& models,
                             const std::vector<ParamId>& storage)
    : client_(std::move(client)), weights_(models.size()), caches_(models.size()) {
  for (size_t device = 0; device < models.size(); ++device) {
    const RankModel& model = *models[device];
    for (ParamId id = 0; id < model.table.size(); ++id) {
      if (storage[static_cast<size_t>(id)] != id) continue;
      weights_[device].emplace(id, client_->to_device(model.weights.data(id), model.weights.dtype(model.table.at(id)),
                                                      model.table.at(id).shape(), device));
    }
  }
}

const PjrtBuffer& DeviceTensors::at(size_t device, const HloInput& input) {
  if (input.kind == HloInput::Kind::kParameter) return weights_[device].at(input.index);
  PjrtBuffer& cache = caches_[device][{input.kind, input.index}];
  if (!cache) {
    const std::vector<char> zeros(static_cast<size_t>(input.type.size_bytes()));
    cache = client_->to_device(zeros.data(), input.type.dtype, input.type.dims, device);
  }
  return cache;
}

void DeviceTensors::replace(size_t device, const HloInput& cache, PjrtBuffer buffer) {
  caches_[device][{cache.kind, cache.index}] = std::move(buffer);
}

}  // namespace tp
