#pragma once

namespace tp {

// The page of `tprun serve`: one file without anything from elsewhere (page.html, written into the program by CMake).
extern const char* const kServePage;

}  // namespace tp
