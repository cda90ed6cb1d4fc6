/* THE TABLES of Keras' layers and of TFLite's operators: names by family, sorted by bytes
 * and separated by blanks. What is missing is "other". */
#include "run/op_table_in.h"

#define ROW(text)                                                                      \
    {                                                                                  \
        .names = text, .length = sizeof(text) - 1                                      \
    }

const struct op_family_row op_keras_rows[OP_FAMILY_COUNT] = {
    [OP_FAMILY_CONV] =
        ROW("Conv1D Conv1DTranspose Conv2D Conv2DTranspose Conv3D Conv3DTranspose "
            "Convolution1D Convolution2D Convolution3D DepthwiseConv1D "
            "DepthwiseConv2D LocallyConnected1D LocallyConnected2D SeparableConv1D "
            "SeparableConv2D SeparableConvolution2D"),
    [OP_FAMILY_MATMUL] = ROW("Dense Dot Einsum EinsumDense Matmul Tensordot"),
    [OP_FAMILY_ATTENTION] =
        ROW("AdditiveAttention Attention GroupQueryAttention MultiHeadAttention"),
    [OP_FAMILY_RNN] =
        ROW("Bidirectional ConvLSTM1D ConvLSTM2D ConvLSTM3D CuDNNGRU CuDNNLSTM GRU "
            "GRUCell GRUV2 LSTM LSTMCell LSTMV2 RNN SimpleRNN SimpleRNNCell "
            "StackedRNNCells"),
    [OP_FAMILY_NORM] =
        ROW("BatchNormalization BatchNormalizationV1 BatchNormalizationV2 "
            "GroupNormalization LayerNormalization Normalization RMSNormalization "
            "SpectralNormalization UnitNormalization"),
    [OP_FAMILY_ACTIVATION] =
        ROW("Activation ELU Elu GELU Gelu HardSigmoid HardSilu LeakyReLU LeakyRelu "
            "LogSigmoid LogSoftmax PReLU ReLU Relu Relu6 Selu Sigmoid Silu Softmax "
            "Softplus Softsign Tanh ThresholdedReLU"),
    [OP_FAMILY_ELEMENTWISE] =
        ROW("Abs Absolute ActivityRegularization Add Average Clip Cos Divide Equal "
            "Exp FloorDivide Greater GreaterEqual Less LessEqual Log LogicalAnd "
            "LogicalNot LogicalOr Masking Maximum Minimum Mod Multiply Negative "
            "NotEqual Power Rescaling Round Rsqrt Sign Sin Sqrt Square Subtract "
            "TrueDivide Where"),
    [OP_FAMILY_REDUCTION] =
        ROW("All Any Argmax Argmin Cumsum Max Mean Min Norm Prod Std Sum Var"),
    [OP_FAMILY_POOL] =
        ROW("AdaptiveAveragePooling1D AdaptiveAveragePooling2D "
            "AdaptiveAveragePooling3D AdaptiveMaxPooling1D AdaptiveMaxPooling2D "
            "AdaptiveMaxPooling3D AveragePooling1D AveragePooling2D AveragePooling3D "
            "GlobalAveragePooling1D GlobalAveragePooling2D GlobalAveragePooling3D "
            "GlobalMaxPooling1D GlobalMaxPooling2D GlobalMaxPooling3D MaxPooling1D "
            "MaxPooling2D MaxPooling3D Resizing UpSampling1D UpSampling2D "
            "UpSampling3D"),
    [OP_FAMILY_EMBEDDING] = ROW("Embedding"),
    [OP_FAMILY_INDEX] =
        ROW("CategoryEncoding Concatenate GetItem OneHot SlicingOpLambda Stack Take "
            "TakeAlongAxis TopK"),
    [OP_FAMILY_VIEW] =
        ROW("BroadcastTo ExpandDims Flatten Identity Moveaxis Permute Ravel Reshape "
            "Split Squeeze Swapaxes Transpose Unstack"),
    [OP_FAMILY_COPY] =
        ROW("Cast CenterCrop Cropping1D Cropping2D Cropping3D Flip Pad Repeat "
            "RepeatVector Roll Tile ZeroPadding1D ZeroPadding2D ZeroPadding3D"),
    [OP_FAMILY_RANDOM] =
        ROW("AlphaDropout Dropout GaussianDropout GaussianNoise RandomBrightness "
            "RandomContrast RandomCrop RandomFlip RandomRotation RandomTranslation "
            "RandomZoom SpatialDropout1D SpatialDropout2D SpatialDropout3D"),
};

const struct op_family_row op_tflite_rows[OP_FAMILY_COUNT] = {
    [OP_FAMILY_CONV] = ROW("CONV_2D CONV_3D CONV_3D_TRANSPOSE DEPTHWISE_CONV_2D "
                           "STABLEHLO_CONVOLUTION TRANSPOSE_CONV"),
    [OP_FAMILY_MATMUL] = ROW("BATCH_MATMUL FULLY_CONNECTED STABLEHLO_DOT_GENERAL"),
    [OP_FAMILY_RNN] =
        ROW("BIDIRECTIONAL_SEQUENCE_LSTM BIDIRECTIONAL_SEQUENCE_RNN LSTM RNN "
            "SVDF UNIDIRECTIONAL_SEQUENCE_LSTM UNIDIRECTIONAL_SEQUENCE_RNN"),
    [OP_FAMILY_NORM] = ROW("L2_NORMALIZATION LOCAL_RESPONSE_NORMALIZATION"),
    [OP_FAMILY_ACTIVATION] =
        ROW("ELU GELU HARD_SWISH LEAKY_RELU LOGISTIC LOG_SOFTMAX PRELU RELU "
            "RELU6 RELU_0_TO_1 RELU_N1_TO_1 SOFTMAX STABLEHLO_LOGISTIC "
            "STABLEHLO_TANH TANH"),
    [OP_FAMILY_ELEMENTWISE] =
        ROW("ABS ADD ADD_N ATAN2 BITWISE_XOR CEIL COMPLEX_ABS COS DIV EQUAL "
            "EXP FLOOR FLOOR_DIV FLOOR_MOD GREATER GREATER_EQUAL LESS "
            "LESS_EQUAL LOG LOGICAL_AND LOGICAL_NOT LOGICAL_OR MAXIMUM MINIMUM "
            "MUL NEG NOT_EQUAL POW RIGHT_SHIFT ROUND RSQRT SELECT SELECT_V2 "
            "SIGN SIN SQRT SQUARE SQUARED_DIFFERENCE STABLEHLO_ABS "
            "STABLEHLO_ADD STABLEHLO_AND STABLEHLO_CBRT STABLEHLO_CLAMP "
            "STABLEHLO_COMPARE STABLEHLO_COSINE STABLEHLO_DIVIDE "
            "STABLEHLO_EXPONENTIAL STABLEHLO_FLOOR STABLEHLO_LOG "
            "STABLEHLO_MAXIMUM STABLEHLO_MINIMUM STABLEHLO_MULTIPLY "
            "STABLEHLO_NEGATE STABLEHLO_OR STABLEHLO_POWER STABLEHLO_REMAINDER "
            "STABLEHLO_RSQRT STABLEHLO_SELECT STABLEHLO_SHIFT_LEFT "
            "STABLEHLO_SUBTRACT SUB"),
    [OP_FAMILY_REDUCTION] =
        ROW("ARG_MAX ARG_MIN CUMSUM MEAN REDUCE_ALL REDUCE_ANY REDUCE_MAX "
            "REDUCE_MIN REDUCE_PROD STABLEHLO_REDUCE SUM"),
    [OP_FAMILY_POOL] =
        ROW("AVERAGE_POOL_2D L2_POOL_2D MAX_POOL_2D REDUCE_WINDOW "
            "RESIZE_BILINEAR RESIZE_NEAREST_NEIGHBOR STABLEHLO_REDUCE_WINDOW"),
    [OP_FAMILY_EMBEDDING] = ROW("EMBEDDING_LOOKUP EMBEDDING_LOOKUP_SPARSE"),
    [OP_FAMILY_INDEX] =
        ROW("CONCATENATION DYNAMIC_UPDATE_SLICE GATHER GATHER_ND ONE_HOT PACK "
            "SCATTER_ND STABLEHLO_CONCATENATE STABLEHLO_DYNAMIC_UPDATE_SLICE "
            "STABLEHLO_GATHER STABLEHLO_SCATTER STABLEHLO_SORT TOPK_V2 UNIQUE "
            "WHERE"),
    [OP_FAMILY_VIEW] =
        ROW("BITCAST BROADCAST_TO EXPAND_DIMS RESHAPE SPLIT SPLIT_V SQUEEZE "
            "STABLEHLO_BROADCAST_IN_DIM STABLEHLO_RESHAPE STABLEHLO_TRANSPOSE "
            "TRANSPOSE UNPACK"),
    [OP_FAMILY_COPY] =
        ROW("BATCH_TO_SPACE_ND CAST DENSIFY DEPTH_TO_SPACE DEQUANTIZE DILATE "
            "FILL MIRROR_PAD PAD PADV2 QUANTIZE RANGE REVERSE_V2 SLICE "
            "SPACE_TO_BATCH_ND SPACE_TO_DEPTH STABLEHLO_CONVERT "
            "STABLEHLO_DYNAMIC_SLICE STABLEHLO_IOTA STABLEHLO_PAD "
            "STABLEHLO_SLICE STRIDED_SLICE TILE ZEROS_LIKE"),
    [OP_FAMILY_RANDOM] = ROW("MULTINOMIAL RANDOM_STANDARD_NORMAL RANDOM_UNIFORM "
                             "STABLEHLO_RNG_BIT_GENERATOR"),
    [OP_FAMILY_LINALG] = ROW("RFFT2D"),
};
