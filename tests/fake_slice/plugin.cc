// The plugin's entry point: the inner CPU plugin's functions, with those replaced that would show that all devices are in this
// process.
#include <cstdio>
#include <cstring>
#include <memory>

#include "runtime/pjrt_call.h"
#include "sharding/error.h"
#include "tests/fake_slice/slice_client.h"
#include "tests/fake_slice/slice_error.h"

namespace tp::fake_slice {
namespace {

std::shared_ptr<const PjrtPlugin> inner_plugin;
std::unique_ptr<SliceClient> slice;  // of the one client that a process has

const PJRT_Api& inner() {
  return inner_plugin->api();
}

// Runs `body`, turning what it throws into an error object.
template <class Body>
PJRT_Error* guarded(Body body) {
  try {
    body();
    return nullptr;
  } catch (const SliceError& error) {
    return make_error(error.code(), std::string(error.what()).substr(std::strlen("fake slice: ")));
  } catch (const std::exception& error) {
    return make_error(PJRT_Error_Code_INTERNAL, error.what());
  }
}

void error_destroy(PJRT_Error_Destroy_Args* args) {
  if (find_error(args->error) != nullptr) {
    forget_error(args->error);
  } else {
    inner().PJRT_Error_Destroy(args);
  }
}

void error_message(PJRT_Error_Message_Args* args) {
  if (const SliceError* error = find_error(args->error)) {
    args->message = error->what();
    args->message_size = std::strlen(error->what());
  } else {
    inner().PJRT_Error_Message(args);
  }
}

PJRT_Error* error_code(PJRT_Error_GetCode_Args* args) {
  if (const SliceError* error = find_error(args->error)) {
    args->code = error->code();
    return nullptr;
  }
  return inner().PJRT_Error_GetCode(args);
}

PJRT_Error* client_create(PJRT_Client_Create_Args* args) {
  return guarded([&] {
    if (slice) throw SliceError(PJRT_Error_Code_ALREADY_EXISTS, "this process has a client already");
    slice = std::make_unique<SliceClient>(*inner_plugin, options_from_environment());
    args->client = slice->client();
  });
}

PJRT_Error* client_destroy(PJRT_Client_Destroy_Args* args) {
  slice.reset();
  return inner().PJRT_Client_Destroy(args);
}

PJRT_Error* client_addressable_devices(PJRT_Client_AddressableDevices_Args* args) {
  args->addressable_devices = slice->own_device();
  args->num_addressable_devices = 1;
  return nullptr;
}

PJRT_Error* client_process_index(PJRT_Client_ProcessIndex_Args* args) {
  args->process_index = slice->rank();
  return nullptr;
}

// A device's process is the rank of the same number.
PJRT_Error* device_process_index(PJRT_DeviceDescription_ProcessIndex_Args* args) {
  auto id = pjrt_args<PJRT_DeviceDescription_Id_Args>();
  id.device_description = args->device_description;
  PJRT_Error* error = inner().PJRT_DeviceDescription_Id(&id);
  args->process_index = id.id;
  return error;
}

// The coordinates that TPRUN_FAKE_SLICE_COORDS gives the own chip, in the place of the inner plugin's attributes.
PJRT_Error* device_attributes(PJRT_DeviceDescription_Attributes_Args* args) {
  return guarded([&] {
    static constexpr std::string_view kName = "coords";
    static const std::vector<int64_t> coordinates = coordinates_from_environment();
    static PJRT_NamedValue value = pjrt_args<PJRT_NamedValue>();
    value.name = kName.data();
    value.name_size = kName.size();
    value.type = PJRT_NamedValue_kInt64List;
    value.int64_array_value = coordinates.data();
    value.value_size = coordinates.size();
    args->attributes = &value;
    args->num_attributes = coordinates.empty() ? 0 : 1;
  });
}

PJRT_Error* device_is_addressable(PJRT_Device_IsAddressable_Args* args) {
  args->is_addressable = args->device == *slice->own_device();
  return nullptr;
}

PJRT_Error* compile(PJRT_Client_Compile_Args* args) {
  if (PJRT_Error* error = inner().PJRT_Client_Compile(args)) return error;
  return guarded([&] { slice->add_program(args->executable); });
}

PJRT_Error* deserialize_and_load(PJRT_Executable_DeserializeAndLoad_Args* args) {
  if (PJRT_Error* error = inner().PJRT_Executable_DeserializeAndLoad(args)) return error;
  return guarded([&] { slice->add_program(args->loaded_executable); });
}

PJRT_Error* loaded_executable_destroy(PJRT_LoadedExecutable_Destroy_Args* args) {
  if (slice) slice->remove_program(args->executable);
  return inner().PJRT_LoadedExecutable_Destroy(args);
}

PJRT_Error* loaded_executable_addressable_devices(PJRT_LoadedExecutable_AddressableDevices_Args* args) {
  if (!slice->is_shared(args->executable)) return inner().PJRT_LoadedExecutable_AddressableDevices(args);
  args->addressable_devices = slice->own_device();
  args->num_addressable_devices = 1;
  return nullptr;
}

PJRT_Error* execute(PJRT_LoadedExecutable_Execute_Args* args) {
  return guarded([&] { slice->execute(*args); });
}

PJRT_Error* buffer_from_host(PJRT_Client_BufferFromHostBuffer_Args* args) {
  if (PJRT_Error* error = inner().PJRT_Client_BufferFromHostBuffer(args)) return error;
  return guarded([&] { slice->add_buffer(args->buffer); });
}

PJRT_Error* buffer_destroy(PJRT_Buffer_Destroy_Args* args) {
  if (slice) slice->remove_buffer(args->buffer);
  return inner().PJRT_Buffer_Destroy(args);
}

// A copy of the inner table, cut to the version of the header: newer functions could go past the replaced ones.
PJRT_Api make_api() {
  PJRT_Api api{};
  std::memcpy(&api, &inner(), sizeof(api));
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.extension_start = nullptr;
  api.pjrt_api_version.minor_version = PJRT_API_MINOR;
  api.PJRT_Error_Destroy = error_destroy;
  api.PJRT_Error_Message = error_message;
  api.PJRT_Error_GetCode = error_code;
  api.PJRT_Client_Create = client_create;
  api.PJRT_Client_Destroy = client_destroy;
  api.PJRT_Client_AddressableDevices = client_addressable_devices;
  api.PJRT_Client_ProcessIndex = client_process_index;
  api.PJRT_DeviceDescription_ProcessIndex = device_process_index;
  api.PJRT_DeviceDescription_Attributes = device_attributes;
  api.PJRT_Device_IsAddressable = device_is_addressable;
  api.PJRT_Client_Compile = compile;
  api.PJRT_Executable_DeserializeAndLoad = deserialize_and_load;
  api.PJRT_LoadedExecutable_Destroy = loaded_executable_destroy;
  api.PJRT_LoadedExecutable_AddressableDevices = loaded_executable_addressable_devices;
  api.PJRT_LoadedExecutable_Execute = execute;
  api.PJRT_Client_BufferFromHostBuffer = buffer_from_host;
  api.PJRT_Buffer_Destroy = buffer_destroy;
  return api;
}

}  // namespace
}  // namespace tp::fake_slice

extern "C" __attribute__((visibility("default"))) const PJRT_Api* GetPjrtApi() {
  using namespace tp::fake_slice;
  try {
    static const PJRT_Api api = [] {
      inner_plugin = tp::PjrtPlugin::load(inner_plugin_from_environment());
      return make_api();
    }();
    return &api;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake slice: %s\n", error.what());
    return nullptr;
  }
}
