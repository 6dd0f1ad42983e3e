#pragma once

#include <string>
#include <string_view>

namespace tp {

// SHA-256 (FIPS 180-4) of the bytes, as 64 hex digits.
std::string sha256_hex(std::string_view bytes);
// The same in base64 (RFC 4648).
std::string sha256_base64(std::string_view bytes);

}  // namespace tp
