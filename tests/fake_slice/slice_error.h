#pragma once

#include <optional>
#include <stdexcept>
#include <string>

#include "pjrt/pjrt_c_api.h"

namespace tp::fake_slice {

// A refusal of the fake slice itself, with the code that the C API reports.
class SliceError : public std::runtime_error {
 public:
  SliceError(PJRT_Error_Code code, const std::string& text) : std::runtime_error("fake slice: " + text), code_(code) {}
  PJRT_Error_Code code() const { return code_; }

 private:
  PJRT_Error_Code code_;
};

// An error object for the caller of the C API, which gives it back to forget_error.
PJRT_Error* make_error(PJRT_Error_Code code, const std::string& text);
// The one that make_error made; nullptr for the inner plugin's. Lives until forget_error.
const SliceError* find_error(const PJRT_Error* error);
void forget_error(PJRT_Error* error);

}  // namespace tp::fake_slice
