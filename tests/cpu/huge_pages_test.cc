#include "runtime/cpu/huge_pages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>

namespace tp::cpu {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

TEST(HugePages, PutsSmallBuffersSideBySideOnCacheLines) {
  HugePages pages;
  const Buffer first = pages.take(100), second = pages.take(64), third = pages.take(1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first.data()) % static_cast<uintptr_t>(kHugePage), 0U);
  EXPECT_EQ(second.data() - first.data(), 128);
  EXPECT_EQ(third.data() - first.data(), 192);
  EXPECT_EQ(first.size_bytes(), 100);
}

TEST(HugePages, GivesLargeBuffersRoomAndKeepsTheEarlierOnes) {
  HugePages pages;
  Buffer small = pages.take(kHugePage), large = pages.take(int64_t{80} << 20), after = pages.take(kHugePage);
  std::memset(small.data(), 1, static_cast<size_t>(small.size_bytes()));
  std::memset(large.data() + large.size_bytes() - kHugePage, 2, static_cast<size_t>(kHugePage));
  std::memset(after.data(), 3, static_cast<size_t>(after.size_bytes()));
  const HugePages moved = std::move(pages);
  EXPECT_EQ(small.data()[kHugePage - 1], std::byte{1});
  EXPECT_EQ(large.data()[large.size_bytes() - 1], std::byte{2});
  EXPECT_EQ(after.data()[0], std::byte{3});
}

TEST(HugePages, NothingTakesNoMemory) {
  HugePages pages;
  EXPECT_EQ(pages.take(0).data(), nullptr);
}

}  // namespace
}  // namespace tp::cpu
