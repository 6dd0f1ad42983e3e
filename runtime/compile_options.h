#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tp {

// xla.CompileOptionsProto, serialized, for a program of `device_ids.size()` replicas and one partition: replica r runs on the
// device with id device_ids[r]. Written by hand (xla/pjrt/proto/compile_options.proto): five fields need no protobuf library.
std::string replica_compile_options(const std::vector<int64_t>& device_ids);

}  // namespace tp
