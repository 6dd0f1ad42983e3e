#pragma once

#include <string>
#include <vector>

#include "launcher/options.h"
#include "runtime/job.h"

namespace tp {

// The packages of --kernels and of the `kernels:` of --plan, as directories; a name org/name is looked up in the Hugging Face
// cache. Throws Error for what is not there.
std::vector<KernelSource> kernel_sources(const Options& options);

// Throws Error for packages that are not sound or that the plugin, where it is libtpu, cannot read.
void check_packages(const std::vector<KernelSource>& sources, const std::string& plugin);

// Whether the kernels fit the programs that the job will run, in tprun-aot, which knows the model. What does not is an error
// that has been shown already: then false.
bool kernels_fit(const Job& job, int tp_size);

}  // namespace tp
