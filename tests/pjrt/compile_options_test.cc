#include "runtime/compile_options.h"

#include <gtest/gtest.h>

namespace tp {
namespace {

TEST(CompileOptions, WritesTheProtoFieldByField) {
  const std::string bytes = replica_compile_options({0, 300});
  const unsigned char expected[] = {
      0x1a, 28,                                                          // executable_build_options = 3
      0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01,  // device_ordinal = -1
      0x20, 2,                                                           // num_replicas
      0x28, 1,                                                           // num_partitions
      0x4a, 11,                                                          // device_assignment
      0x08, 2,    0x10, 1,                                               // replica_count, computation_count
      0x1a, 5,    0x0a, 3,    0x00, 0xac, 0x02,                          // computation_devices{replica_device_ids}
  };
  EXPECT_EQ(bytes, std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
}

}  // namespace
}  // namespace tp
