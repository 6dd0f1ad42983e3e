# The vendored C API, as a system header. GCC's -Wpedantic rejects its `Name* Name` fields even there, so files that include it
# are compiled with TPRUN_PJRT_C_API_OPTIONS on top.
set(TPRUN_PJRT_C_API_OPTIONS -Wno-pedantic CACHE INTERNAL "")
add_library(pjrt_c_api INTERFACE)
target_include_directories(pjrt_c_api SYSTEM INTERFACE "${PROJECT_SOURCE_DIR}/third_party")

# tp_pjrt: client over the PJRT C API.
set(pjrt_sources compile_options.cc pjrt_buffer.cc pjrt_call.cc pjrt_client.cc pjrt_event.cc pjrt_executable.cc pjrt_plugin.cc
  pjrt_topology.cc)
tp_library(tp_pjrt SOURCES ${pjrt_sources} LINK tp_sharding ${CMAKE_DL_LIBS})
target_link_libraries(tp_pjrt PRIVATE pjrt_c_api)
set_source_files_properties(${pjrt_sources} PROPERTIES COMPILE_OPTIONS "${TPRUN_PJRT_C_API_OPTIONS}")
