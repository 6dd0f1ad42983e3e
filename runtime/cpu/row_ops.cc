#include "runtime/cpu/row_ops.h"

#include <algorithm>

#include "runtime/cpu/row_kernels.h"

namespace tp::cpu {
namespace {

// Elements that are worth a task: some microseconds of work.
constexpr int64_t kTaskElements = 16384;

// Calls f(row) for every row, in parallel where there is enough to do.
template <class F>
void for_rows(int64_t rows, int64_t features, const Context& context, const F& f) {
  const int64_t rows_per_task = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, features));
  context.pool.parallel_for((rows + rows_per_task - 1) / rows_per_task, [&](int64_t task) {
    const int64_t end = std::min(rows, (task + 1) * rows_per_task);
    for (int64_t row = task * rows_per_task; row < end; ++row) f(row);
  });
}

NormArgs norm_args(ConstRows x, int64_t features, int64_t size, NormKind kind, float eps, const NormWeights& weights,
                   Rows out) {
  NormArgs args;
  args.x_dtype = x.dtype;
  args.out_dtype = out.dtype;
  args.groups = features / size;
  args.size = size;
  args.kind = kind;
  args.eps = eps;
  args.weight = weights.weight;
  args.bias = weights.bias;
  args.weight_stride = weights.per_feature ? size : 0;
  return args;
}

}  // namespace

void norm_rows(ConstRows x, int64_t rows, int64_t features, int64_t size, NormKind kind, float eps, const NormWeights& weights,
               Rows out, const Context& context) {
  const RowKernels& kernels = row_kernels(context.kernels.vector);
  for_rows(rows, features, context, [&](int64_t row) {
    NormArgs args = norm_args(x, features, size, kind, eps, weights, out);
    args.x = x.row(row);
    args.out = out.row(row);
    kernels.norm(args);
  });
}

void add_and_norm_rows(ConstRows x, ConstRows delta, int64_t rows, int64_t features, NormKind kind, float eps,
                       const NormWeights& weights, Rows sum, Rows out, const Context& context) {
  const RowKernels& kernels = row_kernels(context.kernels.vector);
  for_rows(rows, features, context, [&](int64_t row) {
    kernels.add({x.row(row), delta.row(row), sum.row(row), x.dtype, delta.dtype, sum.dtype, features});
    NormArgs args = norm_args(sum, features, features, kind, eps, weights, out);
    args.x = sum.row(row);
    args.out = out.row(row);
    kernels.norm(args);
  });
}

void rope_rows(ConstRows x, int64_t rows, int64_t heads, int64_t head_dim, int64_t rotary_dim, RopeLayout layout,
               const float* cos, const float* sin, Rows out, const Context& context) {
  const RowKernels& kernels = row_kernels(context.kernels.vector);
  for_rows(rows, heads * head_dim, context, [&](int64_t row) {
    const int64_t at = row * (rotary_dim / 2);
    kernels.rope({x.row(row), out.row(row), x.dtype, out.dtype, cos + at, sin + at, heads, head_dim, rotary_dim, layout});
  });
}

void activation_rows(ConstRows a, ConstRows b, int64_t rows, int64_t features, Activation activation, Rows out,
                     const Context& context) {
  const RowKernels& kernels = row_kernels(context.kernels.vector);
  for_rows(rows, features, context, [&](int64_t row) {
    const void* factor = b.data == nullptr ? nullptr : b.row(row);
    kernels.activation({a.row(row), factor, out.row(row), a.dtype, b.dtype, out.dtype, features, activation});
  });
}

void add_rows(ConstRows a, ConstRows b, int64_t rows, int64_t features, Rows out, const Context& context) {
  const RowKernels& kernels = row_kernels(context.kernels.vector);
  for_rows(rows, features, context, [&](int64_t row) {
    kernels.add({a.row(row), b.row(row), out.row(row), a.dtype, b.dtype, out.dtype, features});
  });
}

void convert_rows(ConstRows x, int64_t rows, int64_t features, Rows out, const Context& context) {
  const RowKernels& kernels = row_kernels(context.kernels.vector);
  for_rows(rows, features, context,
           [&](int64_t row) { kernels.convert(x.row(row), x.dtype, features, out.row(row), out.dtype); });
}

}  // namespace tp::cpu
