#pragma once

#include "runtime/cpu/attention_bodies.h"
#include "runtime/cpu/row_bodies.h"

namespace tp::cpu {
namespace {

template <class V>
constexpr RowKernels row_kernels_of() {
  return {norm<V>,    rope<V>, activation<V>,    add<V>,        convert<V>,     score<V>,
          softmax<V>, mix<V>,  block_softmax<V>, scale_rows<V>, strided_tile<V>, widen_bytes<V>};
}

}  // namespace
}  // namespace tp::cpu
