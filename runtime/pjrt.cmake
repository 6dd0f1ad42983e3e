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

# tp_stablehlo: the model as StableHLO text, no plugin needed.
tp_library(tp_stablehlo
  SOURCES hlo_builder.cc kernel_set.cc ops_stablehlo.cc stablehlo_attention.cc stablehlo_experts.cc stablehlo_program.cc
    stablehlo_weights.cc
  LINK tp_model)

# tp_compiled: the engine that compiles that text and runs it on a plugin's devices.
tp_library(tp_compiled
  SOURCES device_tensors.cc device_weight.cc engine_compiled.cc ops_by_op.cc program_cache.cc program_runner.cc program_store.cc
  LINK tp_stablehlo tp_pjrt)

# tprun-aot: the same programs, compiled for chips that are not here.
tp_library(tp_aot
  SOURCES aot_advice.cc aot_kernels.cc aot_model.cc aot_plan.cc aot_report.cc
  LINK tp_stablehlo tp_pjrt tp_text nlohmann_json::nlohmann_json)
add_executable(tprun-aot aot_main.cc)
target_link_libraries(tprun-aot PRIVATE tp_aot tprun_settings)
install(TARGETS tprun-aot RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
