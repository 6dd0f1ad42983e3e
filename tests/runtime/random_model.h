#pragma once

#include <filesystem>
#include <string>

#include "sharding/families.h"
#include "tests/runtime/random_source.h"

namespace tp {

// A config.json of `family` with small sizes, whatever divides or not, and each option that the row knows on or off. Some are
// refused: sizes that do not fit each other.
std::string random_config(const Family& family, RandomSource& random);

// model.safetensors with float32 weights for it: norms around 1, decisive routers, biases that matter. Experts are stacked or
// apart; a tied head is stored now and then.
void write_random_weights(const ModelConfig& config, const std::filesystem::path& dir, RandomSource& random);

}  // namespace tp
