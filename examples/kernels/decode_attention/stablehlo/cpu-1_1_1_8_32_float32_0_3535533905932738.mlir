func.func private @decode_attention_1_1_1_8_32_float32_0_3535533905932738(%arg0: tensor<1x1x8xf32>, %arg1: tensor<1x1x32x8xf32>, %arg2: tensor<1x1x32x8xf32>, %arg3: tensor<1xi32>) -> tensor<1x1x8xf32> {
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %cst_0 = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %cst_1 = stablehlo.constant dense<0.353553385> : tensor<f32>
  %0 = stablehlo.reshape %arg0 : (tensor<1x1x8xf32>) -> tensor<1x1x1x8xf32>
  %1 = stablehlo.dot_general %0, %arg1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<1x1x1x8xf32>, tensor<1x1x32x8xf32>) -> tensor<1x1x1x32xf32>
  %2 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<1x1x1x32xf32>
  %3 = stablehlo.multiply %1, %2 : tensor<1x1x1x32xf32>
  %4 = stablehlo.iota dim = 1 : tensor<1x32xi32>
  %5 = stablehlo.broadcast_in_dim %4, dims = [1, 2] : (tensor<1x32xi32>) -> tensor<1x1x32xi32>
  %6 = stablehlo.broadcast_in_dim %arg3, dims = [0] : (tensor<1xi32>) -> tensor<1x1x1xi32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<1x1x32xi32>
  %8 = stablehlo.compare LT, %5, %7, SIGNED : (tensor<1x1x32xi32>, tensor<1x1x32xi32>) -> tensor<1x1x32xi1>
  %9 = call @decode_attention_1_1_1_8_32_float32_0_3535533905932738__where(%8, %3, %cst_0) : (tensor<1x1x32xi1>, tensor<1x1x1x32xf32>, tensor<f32>) -> tensor<1x1x1x32xf32>
  %10 = stablehlo.reduce(%9 init: %cst_0) applies stablehlo.maximum across dimensions = [3] : (tensor<1x1x1x32xf32>, tensor<f32>) -> tensor<1x1x1xf32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x1x1xf32>
  %12 = stablehlo.broadcast_in_dim %11, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xf32>) -> tensor<1x1x1x32xf32>
  %13 = stablehlo.subtract %9, %12 : tensor<1x1x1x32xf32>
  %14 = stablehlo.exponential %13 : tensor<1x1x1x32xf32>
  %15 = stablehlo.reduce(%14 init: %cst) applies stablehlo.add across dimensions = [3] : (tensor<1x1x1x32xf32>, tensor<f32>) -> tensor<1x1x1xf32>
  %16 = stablehlo.broadcast_in_dim %15, dims = [0, 1, 2] : (tensor<1x1x1xf32>) -> tensor<1x1x1x1xf32>
  %17 = stablehlo.broadcast_in_dim %16, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xf32>) -> tensor<1x1x1x32xf32>
  %18 = stablehlo.divide %14, %17 : tensor<1x1x1x32xf32>
  %19 = stablehlo.dot_general %18, %arg2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<1x1x1x32xf32>, tensor<1x1x32x8xf32>) -> tensor<1x1x1x8xf32>
  %20 = stablehlo.reshape %19 : (tensor<1x1x1x8xf32>) -> tensor<1x1x8xf32>
  return %20 : tensor<1x1x8xf32>
}
func.func private @decode_attention_1_1_1_8_32_float32_0_3535533905932738__where(%arg0: tensor<1x1x32xi1>, %arg1: tensor<1x1x1x32xf32>, %arg2: tensor<f32>) -> tensor<1x1x1x32xf32> {
  %0 = stablehlo.convert %arg2 : tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<1x32xf32>
  %2 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2, 3] : (tensor<1x1x32xi1>) -> tensor<1x1x1x32xi1>
  %3 = stablehlo.broadcast_in_dim %1, dims = [1, 2] : (tensor<1x32xf32>) -> tensor<1x1x32xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [1, 2, 3] : (tensor<1x1x32xf32>) -> tensor<1x1x1x32xf32>
  %5 = stablehlo.select %2, %arg1, %4 : tensor<1x1x1x32xi1>, tensor<1x1x1x32xf32>
  return %5 : tensor<1x1x1x32xf32>
}
