#include "runtime/float_convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace tp {
namespace {

TEST(FloatConvert, RoundsToBfloat16WithTiesToEven) {
  EXPECT_EQ(float_to_bfloat16(1.0f), 0x3f80);
  EXPECT_EQ(float_to_bfloat16(1.00390625f), 0x3f80);  // halfway between 1 and 1.0078125: the even one
  EXPECT_EQ(float_to_bfloat16(1.01171875f), 0x3f82);
  EXPECT_EQ(float_to_bfloat16(3.4e38f), 0x7f80);  // rounds up to infinity
  EXPECT_TRUE(std::isnan(bfloat16_to_float(float_to_bfloat16(std::nanf("")))));
}

TEST(FloatConvert, EveryFloat16ComesBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = float16_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(float_to_float16(value), bits);
  }
}

TEST(FloatConvert, Float16HasSubnormalsAndInfinity) {
  EXPECT_EQ(float16_to_float(0x0001), 0x1p-24f);
  EXPECT_EQ(float16_to_float(0x7bff), 65504.0f);
  EXPECT_EQ(float_to_float16(65519.0f), 0x7bff);
  EXPECT_EQ(float_to_float16(65520.0f), 0x7c00);
  EXPECT_EQ(float_to_float16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(float_to_float16(0x1p-25f), 0x0000);    // halfway to the smallest: even is zero
  EXPECT_EQ(float_to_float16(0x1.8p-24f), 0x0002);  // halfway between the first two
  EXPECT_TRUE(std::isnan(float16_to_float(float_to_float16(std::nanf("")))));
}

TEST(FloatConvert, ConvertsBetweenTheDtypesOfCheckpoints) {
  const std::vector<double> from = {1.5, -2.25, 0.0};
  std::vector<uint16_t> bfloat16(3), float16(3);
  std::vector<float> back(3);
  convert_elements(from.data(), DType::kF64, bfloat16.data(), DType::kBF16, 3);
  convert_elements(bfloat16.data(), DType::kBF16, float16.data(), DType::kF16, 3);
  convert_elements(float16.data(), DType::kF16, back.data(), DType::kF32, 3);
  EXPECT_EQ(back, (std::vector<float>{1.5f, -2.25f, 0.0f}));
  EXPECT_EQ(rounded_to(DType::kBF16, 50.596443f), 50.5f);
}

}  // namespace
}  // namespace tp
