#include "tests/fake_slice/slice_message.h"

#include <cstring>

#include "tests/fake_slice/slice_error.h"

namespace tp::fake_slice {
namespace {

void put(std::string& out, const void* data, size_t size) {
  out.append(static_cast<const char*>(data), size);
}

void put_number(std::string& out, uint64_t value) {
  put(out, &value, sizeof(value));
}

void put_text(std::string& out, const std::string& text) {
  put_number(out, text.size());
  out += text;
}

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  uint64_t number() {
    uint64_t value = 0;
    std::memcpy(&value, take(sizeof(value)), sizeof(value));
    return value;
  }
  std::string text() {
    const uint64_t size = number();
    return {take(size), size};
  }

 private:
  const char* take(uint64_t size) {
    if (size > bytes_.size() - at_) throw SliceError(PJRT_Error_Code_DATA_LOSS, "a peer sent a broken message");
    const char* data = bytes_.data() + at_;
    at_ += size;
    return data;
  }

  const std::string& bytes_;
  size_t at_ = 0;
};

}  // namespace

std::string encode(const ExecutionMessage& message) {
  std::string out;
  put_text(out, message.program);
  put_number(out, message.first_output_id);
  put_number(out, message.forgotten.size());
  for (uint64_t id : message.forgotten) put_number(out, id);
  put_number(out, message.arguments.size());
  for (const ArgumentMessage& argument : message.arguments) {
    put_number(out, argument.id);
    put_number(out, argument.has_data ? 1 : 0);
    if (!argument.has_data) continue;
    put_number(out, static_cast<uint64_t>(argument.type));
    put_number(out, argument.dims.size());
    for (int64_t dim : argument.dims) put_number(out, static_cast<uint64_t>(dim));
    put_text(out, argument.data);
  }
  return out;
}

ExecutionMessage decode(const std::string& bytes) {
  Reader in(bytes);
  ExecutionMessage message;
  message.program = in.text();
  message.first_output_id = in.number();
  for (uint64_t n = in.number(); n > 0; --n) message.forgotten.push_back(in.number());
  for (uint64_t n = in.number(); n > 0; --n) {
    ArgumentMessage argument;
    argument.id = in.number();
    argument.has_data = in.number() != 0;
    if (argument.has_data) {
      argument.type = static_cast<int32_t>(in.number());
      for (uint64_t d = in.number(); d > 0; --d) argument.dims.push_back(static_cast<int64_t>(in.number()));
      argument.data = in.text();
    }
    message.arguments.push_back(std::move(argument));
  }
  return message;
}

}  // namespace tp::fake_slice
