# Finds the PJRT plugins that tools/setup.sh installs into the project's venv, for the tests. Empty where one is missing.
#   TPRUN_CPU_PLUGIN      lammps-jax-pjrt-cpu: the fake slice runs over it
#   TPRUN_CPU_PLUGIN_OLD  xla-cpu-pjrt: the oldest API that tprun accepts
#   TPRUN_LIBTPU          libtpu: compiles for TPU chips, with or without any
file(GLOB TPRUN_CPU_PLUGIN "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so")
file(GLOB TPRUN_CPU_PLUGIN_OLD "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so")
file(GLOB TPRUN_LIBTPU "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/libtpu/libtpu.so")

# XLA_FLAGS with which the CPU plugin compiles three times faster: older emitters of fused loops, no optimisation by LLVM, one
# LLVM module a program. The numbers of small models do not need its better code.
set(TPRUN_QUICK_XLA_FLAGS "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1 --xla_backend_extra_options=xla_cpu_disable_new_fusion_emitters")
