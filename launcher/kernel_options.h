#pragma once

#include <string>
#include <vector>

#include "launcher/options.h"
#include "runtime/job.h"

namespace tp {

// The packages of --kernels and of the `kernels:` of --plan for a device ("cpu", "tpu"), as directories; a name org/name is
// looked up in the Hugging Face cache. Throws Error for what is not there.
std::vector<KernelSource> kernel_sources(const Options& options, const std::string& device);

// Throws Error for packages whose kernels for compiled programs are not sound or that the plugin, where it is libtpu, cannot
// read.
void check_packages(const std::vector<KernelSource>& sources, const std::string& plugin);

// Whether the torch library of a package can be loaded and has the operator, in tprun-rank, which has torch. What is wrong is an
// error that has been shown already: then false.
bool library_loads(const KernelSource& source);

// Whether the kernels fit what the job will run, in tprun-aot for chips and tprun-rank for the CPU, which know the model. What
// does not is an error that has been shown already: then false.
bool kernels_fit(const Job& job, int tp_size);

}  // namespace tp
