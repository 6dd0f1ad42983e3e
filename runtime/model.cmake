# tp_model, tp_collectives, tp_eager and the worker tprun-rank.
find_package(MPI REQUIRED COMPONENTS C)
find_package(Torch REQUIRED)

tp_library(tp_collectives
  SOURCES collectives.cc collectives_inproc.cc
  LINK tp_sharding Threads::Threads)

tp_library(tp_collectives_mpi
  SOURCES collectives_mpi.cc
  LINK tp_collectives MPI::MPI_C)
target_compile_definitions(tp_collectives_mpi PRIVATE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)

# Between ranks that several tpruns started, one per host.
tp_library(tp_collectives_store
  SOURCES collectives_store.cc store_keys.cc store_watch.cc
  LINK tp_collectives)
target_link_libraries(tp_collectives_store PRIVATE torch_cpu c10)
target_include_directories(tp_collectives_store SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})

# The model and its weights: no torch, no MPI.
tp_library(tp_model
  SOURCES
    batch_check.cc bench.cc decoder.cc generate.cc generate_output.cc integer_weight.cc linear_weights.cc machine_limits.cc moe_routing.cc norm_form.cc output_file.cc
    packed_weights.cc parameter_table.cc quantized_config.cc quantized_product.cc quantized_reader.cc save_quantized.cc
    process_memory.cc progress.cc rank_model.cc relayed_ops.cc rope.cc run_generate.cc score.cc slot_cache.cc stats.cc step_cost.cc
    stored_blocks.cc trace_file.cc traced_ops.cc weights.cc
  LINK tp_collectives tp_cpu tp_text tp_sharding Threads::Threads)

# Execution on CPU.
tp_library(tp_eager
  SOURCES eager_experts.cc eager_kernels.cc eager_value.cc engine_eager.cc ops_eager.cc torch_operator.cc
  LINK tp_model ${CMAKE_DL_LIBS})
set_source_files_properties(operator_build.cc torch_operator.cc PROPERTIES COMPILE_DEFINITIONS "TPRUN_TORCH_VERSION=\"${Torch_VERSION}\"")
target_link_libraries(tp_eager PRIVATE torch_cpu c10)
target_include_directories(tp_eager SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
target_precompile_headers(tp_eager PRIVATE <ATen/ATen.h>)
set_source_files_properties(eager_experts.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)

# The worker.
include(serve.cmake)
tp_library(tp_job_run SOURCES job_run.cc stop_signals.cc LINK tp_model tp_eager tp_compiled tp_serve tp_text)
add_executable(tprun-rank check_operators.cc rank_main.cc rank_options.cc)
target_include_directories(tprun-rank SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
target_link_libraries(tprun-rank PRIVATE tp_job_run tp_aot tp_collectives_mpi tp_collectives_shm tp_collectives_store tprun_settings)
# CMake leaves paths inside the source tree, where the project's own venv lies, out of an installed program's run path.
get_target_property(torch_library torch_cpu IMPORTED_LOCATION)
if(NOT torch_library)
  get_target_property(torch_library torch_cpu IMPORTED_LOCATION_RELEASE)
endif()
get_filename_component(torch_library_dir "${torch_library}" DIRECTORY)
set_target_properties(tprun-rank PROPERTIES INSTALL_RPATH "${CMAKE_INSTALL_RPATH};${torch_library_dir}")
install(TARGETS tprun-rank RUNTIME DESTINATION bin)
