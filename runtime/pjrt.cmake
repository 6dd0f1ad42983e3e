# tp_pjrt: client over the PJRT C API.
tp_library(tp_pjrt
  SOURCES compile_options.cc pjrt_buffer.cc pjrt_client.cc pjrt_event.cc pjrt_executable.cc pjrt_plugin.cc pjrt_topology.cc
  LINK tp_sharding ${CMAKE_DL_LIBS})
