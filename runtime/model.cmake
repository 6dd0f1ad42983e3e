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

# The model and its weights: no torch, no MPI.
tp_library(tp_model
  SOURCES decoder.cc float_convert.cc mapped_file.cc parameter_table.cc generate.cc rank_model.cc rope.cc weights.cc
  LINK tp_collectives tp_text tp_sharding Threads::Threads)

# Execution on CPU.
tp_library(tp_eager
  SOURCES cpu_kernels.cc eager_attention.cc eager_matmul.cc eager_tensor.cc engine_eager.cc ops_eager.cc
  LINK tp_model)
target_link_libraries(tp_eager PRIVATE torch_cpu c10)
target_include_directories(tp_eager SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
target_precompile_headers(tp_eager PRIVATE <ATen/ATen.h>)
set_source_files_properties(cpu_kernels.cc PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
