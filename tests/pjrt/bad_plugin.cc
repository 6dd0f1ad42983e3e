// A library that must be refused as a PJRT plugin, in the way that its compile definition says.
#include "pjrt/pjrt_c_api.h"

#ifdef BAD_PLUGIN_NO_ENTRY
extern "C" int not_a_plugin() {
  return 1;
}
#else
extern "C" const PJRT_Api* GetPjrtApi() {
  static PJRT_Api api{};
  api.pjrt_api_version.struct_size = PJRT_Api_Version_STRUCT_SIZE;
#ifdef BAD_PLUGIN_TOO_OLD
  api.struct_size = 512;
  api.pjrt_api_version.major_version = 0;
  api.pjrt_api_version.minor_version = 40;
#else
  api.struct_size = PJRT_Api_STRUCT_SIZE;
  api.pjrt_api_version.major_version = 1;
  api.pjrt_api_version.minor_version = 0;
#endif
  return &api;
}
#endif
