#include "runtime/compile_options.h"

namespace tp {
namespace {

enum WireType : uint64_t { kVarint = 0, kLengthDelimited = 2 };

void append_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>((value & 0x7f) | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void append_number(std::string& out, uint64_t field, int64_t value) {
  append_varint(out, field << 3 | kVarint);
  append_varint(out, static_cast<uint64_t>(value));
}

void append_bytes(std::string& out, uint64_t field, const std::string& bytes) {
  append_varint(out, field << 3 | kLengthDelimited);
  append_varint(out, bytes.size());
  out += bytes;
}

// xla.DeviceAssignmentProto{replica_count = 1, computation_count = 2, computation_devices = 3 {replica_device_ids = 1}}
std::string device_assignment(const std::vector<int64_t>& device_ids) {
  std::string ids, devices, out;
  for (int64_t id : device_ids) append_varint(ids, static_cast<uint64_t>(id));
  append_bytes(devices, 1, ids);
  append_number(out, 1, static_cast<int64_t>(device_ids.size()));
  append_number(out, 2, 1);
  append_bytes(out, 3, devices);
  return out;
}

}  // namespace

std::string replica_compile_options(const std::vector<int64_t>& device_ids) {
  // ExecutableBuildOptionsProto{device_ordinal = 1, num_replicas = 4, num_partitions = 5, device_assignment = 9}
  std::string build, out;
  append_number(build, 1, -1);
  append_number(build, 4, static_cast<int64_t>(device_ids.size()));
  append_number(build, 5, 1);
  append_bytes(build, 9, device_assignment(device_ids));
  append_bytes(out, 3, build);
  return out;
}

}  // namespace tp
