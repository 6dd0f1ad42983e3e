#include "runtime/pjrt_client.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "runtime/compile_options.h"
#include "runtime/pjrt_call.h"
#include "runtime/pjrt_event.h"
#include "sharding/error.h"

namespace tp {

std::shared_ptr<const PjrtClient> PjrtClient::create(std::shared_ptr<const PjrtPlugin> plugin,
                                                     const PjrtClientOptions& options) {
  std::vector<PJRT_NamedValue> create;
  for (const auto& [name, value] : options.create) {
    auto option = pjrt_args<PJRT_NamedValue>();
    option.name = name.data();
    option.name_size = name.size();
    option.type = PJRT_NamedValue_kInt64;
    option.int64_value = value;
    option.value_size = 1;
    create.push_back(option);
  }
  auto args = pjrt_args<PJRT_Client_Create_Args>();
  args.create_options = create.data();
  args.num_options = create.size();
  pjrt_call(*plugin, &PJRT_Api::PJRT_Client_Create, args, "PJRT_Client_Create");
  return std::shared_ptr<const PjrtClient>(new PjrtClient(std::move(plugin), args.client, options.timeout));
}

PjrtClient::PjrtClient(std::shared_ptr<const PjrtPlugin> plugin, PJRT_Client* client, std::chrono::milliseconds timeout)
    : plugin_(std::move(plugin)), client_(client), timeout_(timeout) {
  auto all = pjrt_args<PJRT_Client_Devices_Args>();
  all.client = client_;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Client_Devices, all, "PJRT_Client_Devices");
  for (size_t i = 0; i < all.num_devices; ++i) devices_.push_back(describe(all.devices[i]));
  auto mine = pjrt_args<PJRT_Client_AddressableDevices_Args>();
  mine.client = client_;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Client_AddressableDevices, mine, "PJRT_Client_AddressableDevices");
  for (size_t i = 0; i < mine.num_addressable_devices; ++i) addressable_.push_back(describe(mine.addressable_devices[i]));
  const auto by_process = [](const PjrtDevice& a, const PjrtDevice& b) {
    return std::tie(a.process_index, a.id) < std::tie(b.process_index, b.id);
  };
  std::sort(devices_.begin(), devices_.end(), by_process);
  std::sort(addressable_.begin(), addressable_.end(), by_process);
  if (addressable_.empty()) throw Error(plugin_->path(), "the plugin gives this process no device");
}

PjrtClient::~PjrtClient() {
  auto args = pjrt_args<PJRT_Client_Destroy_Args>();
  args.client = client_;
  pjrt_release(*plugin_, &PJRT_Api::PJRT_Client_Destroy, args);
}

PjrtDevice PjrtClient::describe(PJRT_Device* device) const {
  auto description = pjrt_args<PJRT_Device_GetDescription_Args>();
  description.device = device;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Device_GetDescription, description, "PJRT_Device_GetDescription");
  auto id = pjrt_args<PJRT_DeviceDescription_Id_Args>();
  id.device_description = description.device_description;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_DeviceDescription_Id, id, "PJRT_DeviceDescription_Id");
  auto process = pjrt_args<PJRT_DeviceDescription_ProcessIndex_Args>();
  process.device_description = description.device_description;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_DeviceDescription_ProcessIndex, process, "PJRT_DeviceDescription_ProcessIndex");
  return {.device = device, .id = id.id, .process_index = process.process_index};
}

std::vector<int64_t> PjrtClient::coordinates(const PjrtDevice& device) const {
  auto description = pjrt_args<PJRT_Device_GetDescription_Args>();
  description.device = device.device;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Device_GetDescription, description, "PJRT_Device_GetDescription");
  auto attributes = pjrt_args<PJRT_DeviceDescription_Attributes_Args>();
  attributes.device_description = description.device_description;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_DeviceDescription_Attributes, attributes, "PJRT_DeviceDescription_Attributes");
  for (size_t i = 0; i < attributes.num_attributes; ++i) {
    const PJRT_NamedValue& value = attributes.attributes[i];
    if (std::string_view(value.name, value.name_size) == "coords" && value.type == PJRT_NamedValue_kInt64List)
      return {value.int64_array_value, value.int64_array_value + value.value_size};
  }
  return {};
}

std::string PjrtClient::platform_name() const {
  auto args = pjrt_args<PJRT_Client_PlatformName_Args>();
  args.client = client_;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Client_PlatformName, args, "PJRT_Client_PlatformName");
  return {args.platform_name, args.platform_name_size};
}

std::string PjrtClient::platform_version() const {
  auto args = pjrt_args<PJRT_Client_PlatformVersion_Args>();
  args.client = client_;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Client_PlatformVersion, args, "PJRT_Client_PlatformVersion");
  return {args.platform_version, args.platform_version_size};
}

int64_t PjrtClient::process_index() const {
  auto args = pjrt_args<PJRT_Client_ProcessIndex_Args>();
  args.client = client_;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Client_ProcessIndex, args, "PJRT_Client_ProcessIndex");
  return args.process_index;
}

PjrtBuffer PjrtClient::to_device(const void* data, DType dtype, const std::vector<int64_t>& shape, size_t device) const {
  return copied_to_device(data, pjrt_type(dtype), shape, device);
}

PjrtBuffer PjrtClient::int4_to_device(const void* data, const std::vector<int64_t>& shape, size_t device) const {
  return copied_to_device(data, PJRT_Buffer_Type_S4, shape, device);
}

// `type` is a PJRT_Buffer_Type.
PjrtBuffer PjrtClient::copied_to_device(const void* data, int type, const std::vector<int64_t>& shape, size_t device) const {
  auto args = pjrt_args<PJRT_Client_BufferFromHostBuffer_Args>();
  args.client = client_;
  args.data = data;
  args.type = static_cast<PJRT_Buffer_Type>(type);
  args.dims = shape.data();
  args.num_dims = shape.size();
  args.host_buffer_semantics = PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes;
  args.device = addressable_.at(device).device;
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Client_BufferFromHostBuffer, args, "PJRT_Client_BufferFromHostBuffer");
  PjrtBuffer buffer(shared_from_this(), args.buffer);
  wait_for(*plugin_, args.done_with_host_buffer, timeout_, "copy to the device");
  return buffer;
}

PjrtProgram PjrtClient::compile(const std::string& text) const {
  std::string code = text;
  PJRT_Program program = stablehlo_program(code);
  std::vector<int64_t> ids;
  for (const PjrtDevice& device : devices_) ids.push_back(device.id);
  const std::string options = replica_compile_options(ids);
  auto args = pjrt_args<PJRT_Client_Compile_Args>();
  args.client = client_;
  args.program = &program;
  args.compile_options = options.data();
  args.compile_options_size = options.size();
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Client_Compile, args, "PJRT_Client_Compile");
  return {shared_from_this(), args.executable};
}

PjrtProgram PjrtClient::load(const std::string& serialized) const {
  auto args = pjrt_args<PJRT_Executable_DeserializeAndLoad_Args>();
  args.client = client_;
  args.serialized_executable = serialized.data();
  args.serialized_executable_size = serialized.size();
  pjrt_call(*plugin_, &PJRT_Api::PJRT_Executable_DeserializeAndLoad, args, "PJRT_Executable_DeserializeAndLoad");
  return {shared_from_this(), args.loaded_executable};
}

}  // namespace tp
