#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "sharding/error.h"

namespace tp {

// A directory of its own for one test, removed afterwards.
class WrittenFiles : public testing::Test {
 protected:
  WrittenFiles() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = std::filesystem::path(testing::TempDir()) /
           (std::string(test->test_suite_name()) + "." + test->name() + "." + std::to_string(getpid()));
    std::filesystem::create_directories(dir_);
  }
  ~WrittenFiles() override {
    std::error_code code;
    std::filesystem::remove_all(dir_, code);
  }

  std::filesystem::path write(const std::string& name, const std::string& content) {
    std::filesystem::create_directories((dir_ / name).parent_path());
    std::ofstream(dir_ / name, std::ios::binary) << content;
    return dir_ / name;
  }

  // A safetensors file: the header's length, the header, `data_bytes` zeros.
  static std::string safetensors(const std::string& header, size_t data_bytes) {
    std::string text;
    for (int i = 0; i < 8; ++i) text += static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i) & 0xff);
    return text + header + std::string(data_bytes, '\0');
  }

  // The text of the Error that `call` throws, with the directory cut out, or "accepted".
  template <typename Call>
  std::string refusal(Call call) const {
    try {
      call();
    } catch (const Error& error) {
      std::string text = error.text();
      const std::string dir = dir_.string() + "/";
      for (size_t at = text.find(dir); at != std::string::npos; at = text.find(dir)) text.erase(at, dir.size());
      for (size_t at = text.find(dir_.string()); at != std::string::npos; at = text.find(dir_.string())) {
        text.replace(at, dir_.string().size(), "DIR");
      }
      return text;
    }
    return "accepted";
  }

  std::filesystem::path dir_;
};

}  // namespace tp
