# Finds the PJRT plugins that tools/setup.sh installs into the project's venv, for the tests. Empty where one is missing.
#   TPRUN_CPU_PLUGIN      lammps-jax-pjrt-cpu: the fake slice runs over it
#   TPRUN_CPU_PLUGIN_OLD  xla-cpu-pjrt: the oldest API that tprun accepts
#   TPRUN_LIBTPU          libtpu: compiles for TPU chips, with or without any
file(GLOB TPRUN_CPU_PLUGIN "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so")
file(GLOB TPRUN_CPU_PLUGIN_OLD "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so")
file(GLOB TPRUN_LIBTPU "${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/libtpu/libtpu.so")
