func.func private @append_attention_1_4_2_8_32_float32_0_3535533905932738(%arg0: tensor<1x4x8xf32>, %arg1: tensor<1x2x8xf32>, %arg2: tensor<1x2x8xf32>, %arg3: tensor<1x2x32x8xf32>, %arg4: tensor<1x2x32x8xf32>, %arg5: tensor<1xi32>, %arg6: tensor<1xi32>) -> (tensor<1x4x8xf32>, tensor<1x2x32x8xf32>, tensor<1x2x32x8xf32>) {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.353553385> : tensor<f32>
  %c = stablehlo.constant dense<32> : tensor<i32>
  %c_2 = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.reshape %arg0 : (tensor<1x4x8xf32>) -> tensor<1x2x2x8xf32>
  %1 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.compare GT, %arg6, %1, SIGNED : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi1>
  %3 = call @append_attention_1_4_2_8_32_float32_0_3535533905932738__where(%2, %arg5, %c) : (tensor<1xi1>, tensor<1xi32>, tensor<i32>) -> tensor<1xi32>
  %4 = stablehlo.broadcast_in_dim %arg1, dims = [0, 1, 3] : (tensor<1x2x8xf32>) -> tensor<1x2x1x8xf32>
  %5 = stablehlo.iota dim = 0 : tensor<32x8xi32>
  %6 = stablehlo.broadcast_in_dim %5, dims = [1, 2] : (tensor<32x8xi32>) -> tensor<1x32x8xi32>
  %7 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xi32>) -> tensor<1x1x1xi32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<1x32x8xi32>
  %9 = stablehlo.compare EQ, %6, %8, SIGNED : (tensor<1x32x8xi32>, tensor<1x32x8xi32>) -> tensor<1x32x8xi1>
  %10 = stablehlo.broadcast_in_dim %4, dims = [0, 1, 2, 3] : (tensor<1x2x1x8xf32>) -> tensor<1x2x32x8xf32>
  %11 = call @append_attention_1_4_2_8_32_float32_0_3535533905932738__where_0(%9, %10, %arg3) : (tensor<1x32x8xi1>, tensor<1x2x32x8xf32>, tensor<1x2x32x8xf32>) -> tensor<1x2x32x8xf32>
  %12 = stablehlo.broadcast_in_dim %arg2, dims = [0, 1, 3] : (tensor<1x2x8xf32>) -> tensor<1x2x1x8xf32>
  %13 = stablehlo.iota dim = 0 : tensor<32x8xi32>
  %14 = stablehlo.broadcast_in_dim %13, dims = [1, 2] : (tensor<32x8xi32>) -> tensor<1x32x8xi32>
  %15 = stablehlo.broadcast_in_dim %3, dims = [0] : (tensor<1xi32>) -> tensor<1x1x1xi32>
  %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<1x32x8xi32>
  %17 = stablehlo.compare EQ, %14, %16, SIGNED : (tensor<1x32x8xi32>, tensor<1x32x8xi32>) -> tensor<1x32x8xi1>
  %18 = stablehlo.broadcast_in_dim %12, dims = [0, 1, 2, 3] : (tensor<1x2x1x8xf32>) -> tensor<1x2x32x8xf32>
  %19 = call @append_attention_1_4_2_8_32_float32_0_3535533905932738__where_0(%17, %18, %arg4) : (tensor<1x32x8xi1>, tensor<1x2x32x8xf32>, tensor<1x2x32x8xf32>) -> tensor<1x2x32x8xf32>
  %20 = stablehlo.dot_general %0, %11, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<1x2x2x8xf32>, tensor<1x2x32x8xf32>) -> tensor<1x2x2x32xf32>
  %21 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x2x2x32xf32>
  %22 = stablehlo.multiply %20, %21 : tensor<1x2x2x32xf32>
  %23 = stablehlo.iota dim = 1 : tensor<2x32xi32>
  %24 = stablehlo.broadcast_in_dim %23, dims = [1, 2] : (tensor<2x32xi32>) -> tensor<1x2x32xi32>
  %25 = stablehlo.broadcast_in_dim %arg5, dims = [0] : (tensor<1xi32>) -> tensor<1x1x1xi32>
  %26 = stablehlo.broadcast_in_dim %25, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<1x2x32xi32>
  %27 = stablehlo.compare LE, %24, %26, SIGNED : (tensor<1x2x32xi32>, tensor<1x2x32xi32>) -> tensor<1x2x32xi1>
  %28 = call @append_attention_1_4_2_8_32_float32_0_3535533905932738__where_1(%27, %22, %cst_0) : (tensor<1x2x32xi1>, tensor<1x2x2x32xf32>, tensor<f32>) -> tensor<1x2x2x32xf32>
  %29 = stablehlo.reduce(%28 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<1x2x2x32xf32>, tensor<f32>) -> tensor<1x2x2xf32>
  %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1, 2] : (tensor<1x2x2xf32>) -> tensor<1x2x2x1xf32>
  %31 = stablehlo.broadcast_in_dim %30, dims = [0, 1, 2, 3] : (tensor<1x2x2x1xf32>) -> tensor<1x2x2x32xf32>
  %32 = stablehlo.subtract %28, %31 : tensor<1x2x2x32xf32>
  %33 = stablehlo.exponential %32 : tensor<1x2x2x32xf32>
  %34 = stablehlo.reduce(%33 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<1x2x2x32xf32>, tensor<f32>) -> tensor<1x2x2xf32>
  %35 = stablehlo.broadcast_in_dim %34, dims = [0, 1, 2] : (tensor<1x2x2xf32>) -> tensor<1x2x2x1xf32>
  %36 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2, 3] : (tensor<1x2x2x1xf32>) -> tensor<1x2x2x32xf32>
  %37 = stablehlo.divide %33, %36 : tensor<1x2x2x32xf32>
  %38 = stablehlo.dot_general %37, %19, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<1x2x2x32xf32>, tensor<1x2x32x8xf32>) -> tensor<1x2x2x8xf32>
  %39 = stablehlo.reshape %38 : (tensor<1x2x2x8xf32>) -> tensor<1x4x8xf32>
  return %39, %11, %19 : tensor<1x4x8xf32>, tensor<1x2x32x8xf32>, tensor<1x2x32x8xf32>
}
func.func private @append_attention_1_4_2_8_32_float32_0_3535533905932738__where(%arg0: tensor<1xi1>, %arg1: tensor<1xi32>, %arg2: tensor<i32>) -> tensor<1xi32> {
  %0 = stablehlo.convert %arg2 : tensor<i32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.select %arg0, %arg1, %1 : tensor<1xi1>, tensor<1xi32>
  return %2 : tensor<1xi32>
}
func.func private @append_attention_1_4_2_8_32_float32_0_3535533905932738__where_0(%arg0: tensor<1x32x8xi1>, %arg1: tensor<1x2x32x8xf32>, %arg2: tensor<1x2x32x8xf32>) -> tensor<1x2x32x8xf32> {
  %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2, 3] : (tensor<1x32x8xi1>) -> tensor<1x2x32x8xi1>
  %1 = stablehlo.select %0, %arg1, %arg2 : tensor<1x2x32x8xi1>, tensor<1x2x32x8xf32>
  return %1 : tensor<1x2x32x8xf32>
}
func.func private @append_attention_1_4_2_8_32_float32_0_3535533905932738__where_1(%arg0: tensor<1x2x32xi1>, %arg1: tensor<1x2x2x32xf32>, %arg2: tensor<f32>) -> tensor<1x2x2x32xf32> {
  %0 = stablehlo.convert %arg2 : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x32xf32>
  %2 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2, 3] : (tensor<1x2x32xi1>) -> tensor<1x2x2x32xi1>
  %3 = stablehlo.broadcast_in_dim %1, dims = [1, 2] : (tensor<2x32xf32>) -> tensor<2x2x32xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1, 2, 3] : (tensor<2x2x32xf32>) -> tensor<1x2x2x32xf32>
  %5 = stablehlo.select %2, %arg1, %4 : tensor<1x2x2x32xi1>, tensor<1x2x2x32xf32>
  return %5 : tensor<1x2x2x32xf32>
}
