#include "runtime/device_tensors.h"

#include "runtime/device_weight.h"

namespace tp {

DeviceTensors::DeviceTensors(std::shared_ptr<const PjrtClient> client, const std::vector<const RankModel*>& models,
                             const std::vector<ParamId>& storage)
    : client_(std::move(client)), weights_(models.size()), caches_(models.size()) {
  for (size_t device = 0; device < models.size(); ++device) {
    const RankModel& model = *models[device];
    for (ParamId id = 0; id < model.table.size(); ++id) {
      if (storage[static_cast<size_t>(id)] != id) continue;
      const Parameter& parameter = model.table.at(id);
      if (parameter.kind != WeightKind::kStored) {
        add_integers(device, id, model);
        continue;
      }
      const DType dtype = model.weights.dtype(parameter);
      weights_[device].emplace(std::pair(HloInput::Kind::kParameter, id),
                               client_->to_device(model.weights.data(id), dtype, parameter.shape(), device));
    }
  }
}

void DeviceTensors::add_integers(size_t device, ParamId id, const RankModel& model) {
  const Parameter& parameter = model.table.at(id);
  const IntegerWeight& weight = model.weights.integers(id);
  const HloWeightTypes types = weight_types(parameter);
  const auto add = [&](HloInput::Kind kind, const HloType& type, const std::vector<std::byte>& data) {
    weights_[device].emplace(std::pair(kind, id), type.int4 ? client_->int4_to_device(data.data(), type.dims, device)
                                                            : client_->to_device(data.data(), type.dtype, type.dims, device));
  };
  add(HloInput::Kind::kParameter, types.values, program_values(parameter, weight));
  add(HloInput::Kind::kScales, types.scales, program_scales(parameter, weight));
  if (!weight.zeros.empty()) add(HloInput::Kind::kZeros, types.zeros, program_zeros(parameter, weight));
}

const PjrtBuffer& DeviceTensors::at(size_t device, const HloInput& input) {
  if (is_weight(input.kind)) return weights_[device].at({input.kind, input.index});
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
