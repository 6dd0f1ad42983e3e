#include "runtime/pjrt_topology.h"

#include <array>
#include <string_view>

#include "runtime/compile_options.h"
#include "runtime/pjrt_call.h"

namespace tp {

PjrtTopology::PjrtTopology(std::shared_ptr<const PjrtPlugin> plugin, const std::string& name, size_t devices_wanted)
    : plugin_(std::move(plugin)) {
  static constexpr std::array<int64_t, 3> kOneChipPerProcess = {1, 1, 1};
  static constexpr std::string_view kBounds = "chips_per_host_bounds";
  auto option = pjrt_args<PJRT_NamedValue>();
  option.name = kBounds.data();
  option.name_size = kBounds.size();
  option.type = PJRT_NamedValue_kInt64List;
  option.int64_array_value = kOneChipPerProcess.data();
  option.value_size = kOneChipPerProcess.size();
  auto args = pjrt_args<PJRT_TopologyDescription_Create_Args>();
  args.topology_name = name.data();
  args.topology_name_size = name.size();
  args.create_options = &option;
  args.num_options = 1;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_TopologyDescription_Create, args, "PJRT_TopologyDescription_Create");
  topology_ = args.topology;

  auto devices = pjrt_args<PJRT_TopologyDescription_GetDeviceDescriptions_Args>();
  devices.topology = topology_;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_TopologyDescription_GetDeviceDescriptions, devices,
            "PJRT_TopologyDescription_GetDeviceDescriptions");
  for (size_t i = 0; i < devices.num_descriptions; ++i) {
    auto id = pjrt_args<PJRT_DeviceDescription_Id_Args>();
    id.device_description = devices.descriptions[i];
    pjrt_call(*plugin_, &PJRT_Api::PJRT_DeviceDescription_Id, id, "PJRT_DeviceDescription_Id");
    auto attributes = pjrt_args<PJRT_DeviceDescription_Attributes_Args>();
    attributes.device_description = devices.descriptions[i];
    pjrt_call(*plugin_, &PJRT_Api::PJRT_DeviceDescription_Attributes, attributes, "PJRT_DeviceDescription_Attributes");
    int64_t core = 0;
    for (size_t k = 0; k < attributes.num_attributes; ++k) {
      const PJRT_NamedValue& value = attributes.attributes[k];
      const std::string_view attribute(value.name, value.name_size);
      if (attribute == "device_memory_bytes_limit") memory_limit_bytes_ = value.int64_value;
      if (attribute == "core_on_chip") core = value.int64_value;
    }
    if (core == 0 || devices.num_descriptions <= devices_wanted) device_ids_.push_back(id.id);
  }
}

PjrtTopology::~PjrtTopology() {
  if (topology_ == nullptr) return;
  auto args = pjrt_args<PJRT_TopologyDescription_Destroy_Args>();
  args.topology = topology_;
  pjrt_release(*plugin_, &PJRT_Api::PJRT_TopologyDescription_Destroy, args);
}

PjrtExecutable PjrtTopology::compile(const std::string& text, size_t replicas) const {
  std::string code = text;
  PJRT_Program program = stablehlo_program(code);
  const std::vector<int64_t> ids(device_ids_.begin(), device_ids_.begin() + static_cast<std::ptrdiff_t>(replicas));
  const std::string options = replica_compile_options(ids);
  auto args = pjrt_args<PJRT_Compile_Args>();
  args.topology = topology_;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Compile, args, "PJRT_Compile");
  return {plugin_, args.executable};
}

}  // namespace tp
