// SPDX-License-Identifier: Apache-2.0
// Normalisations.
#ifndef ATB_PARAMS_NORM_H_
#define ATB_PARAMS_NORM_H_

#include "atb/params/base.h"

namespace atb {
namespace infer {

struct LayerNormWithStrideParam {
  enum LayerNormType : int {
    LAYER_NORM_UNDEFINED = 0,
    LAYER_NORM_NORM,
    LAYER_NORM_PRENORM,
    LAYER_NORM_POSTNORM,
    LAYER_NORM_MAX,
  };
  struct NormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    int32_t beginNormAxis = 0;
    int32_t beginParamsAxis = 0;
    DynamicQuantType dynamicQuantType = DYNAMIC_QUANT_UNDEFINED;
    uint8_t rsv[20] = {0};
  };
  struct PreNormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    uint64_t opMode = 0;
    float zoomScaleValue = 1.0f;
    uint8_t rsv[20] = {0};
  };
  struct PostNormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    uint64_t opMode = 0;
    float zoomScaleValue = 1.0f;
    uint8_t rsv[20] = {0};
  };
  LayerNormType layerType = LAYER_NORM_UNDEFINED;
  NormParam normParam;
  PreNormParam preNormParam;
  PostNormParam postNormParam;
  uint8_t rsv[8] = {0};
};

struct LayerNormParam {
  enum LayerNormType : int {
    LAYER_NORM_UNDEFINED = 0,
    LAYER_NORM_NORM,
    LAYER_NORM_PRENORM,
    LAYER_NORM_POSTNORM,
    LAYER_NORM_MAX,
  };
  struct NormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    int32_t beginNormAxis = 0;
    int32_t beginParamsAxis = 0;
    DynamicQuantType dynamicQuantType = DYNAMIC_QUANT_UNDEFINED;
    uint8_t rsv[20] = {0};
  };
  struct PreNormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    uint64_t opMode = 0;
    float zoomScaleValue = 1.0f;
    uint8_t rsv[20] = {0};
  };
  struct PostNormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    uint64_t opMode = 0;
    float zoomScaleValue = 1.0f;
    uint8_t rsv[20] = {0};
  };
  LayerNormType layerType = LAYER_NORM_UNDEFINED;
  NormParam normParam;
  PreNormParam preNormParam;
  PostNormParam postNormParam;
  uint8_t rsv[8] = {0};
};

struct RmsNormParam {
  enum RmsNormType : int {
    RMS_NORM_UNDEFINED = 0,
    RMS_NORM_NORM,
    RMS_NORM_PRENORM,
    RMS_NORM_POSTNORM,
  };
  enum PrecisionMode : int {
    HIGH_PRECISION_MODE = 0,
    HIGH_PERFORMANCE_MODE,
  };
  enum ModelType : int {
    LLAMA_MODEL = 0,
    GEMMA_MODEL,
  };
  struct NormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    double layerNormEps = 1e-5;
    bool rstd = false;
    PrecisionMode precisionMode = HIGH_PRECISION_MODE;
    ModelType modelType = LLAMA_MODEL;
    DynamicQuantType dynamicQuantType = DYNAMIC_QUANT_UNDEFINED;
    uint8_t rsv[32] = {0};
  };
  struct PreNormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    bool hasBias = false;
    uint8_t rsv[23] = {0};
  };
  struct PostNormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    bool hasBias = false;
    uint8_t rsv[23] = {0};
  };
  RmsNormType layerType = RMS_NORM_UNDEFINED;
  NormParam normParam;
  PreNormParam preNormParam;
  PostNormParam postNormParam;
  uint8_t rsv[8] = {0};
};

struct RmsNormWithStrideParam {
  enum RmsNormType : int {
    RMS_NORM_UNDEFINED = 0,
    RMS_NORM_NORM,
    RMS_NORM_PRENORM,
    RMS_NORM_POSTNORM,
  };
  enum PrecisionMode : int {
    HIGH_PRECISION_MODE = 0,
    HIGH_PERFORMANCE_MODE,
  };
  enum ModelType : int {
    LLAMA_MODEL = 0,
    GEMMA_MODEL,
  };
  struct NormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    double layerNormEps = 1e-5;
    bool rstd = false;
    PrecisionMode precisionMode = HIGH_PRECISION_MODE;
    ModelType modelType = LLAMA_MODEL;
    DynamicQuantType dynamicQuantType = DYNAMIC_QUANT_UNDEFINED;
    uint8_t rsv[32] = {0};
  };
  struct PreNormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    bool hasBias = false;
    uint8_t rsv[23] = {0};
  };
  struct PostNormParam {
    QuantType quantType = QUANT_UNQUANT;
    float epsilon = 1e-5f;
    bool hasBias = false;
    uint8_t rsv[23] = {0};
  };
  RmsNormType layerType = RMS_NORM_UNDEFINED;
  NormParam normParam;
  PreNormParam preNormParam;
  PostNormParam postNormParam;
  uint8_t rsv[8] = {0};
};

struct CohereLayerNormParam {
  float epsilon = 1e-5f;
  uint8_t rsv[32] = {0};
};

struct GatherPreRmsNormParam {
  float epsilon = 1e-5f;
  uint8_t rsv[28] = {0};
};

struct NormRopeReshapeParam {
  uint32_t precisionMode = 0;
  uint32_t rotaryCoeff = 2;
  float epsilon = 1e-5f;
  uint8_t rsv[16] = {0};
};

}  // namespace infer
}  // namespace atb

#endif  // ATB_PARAMS_NORM_H_
