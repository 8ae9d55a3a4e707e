// NumPy's .npy files, as far as tensors need them: versions 1 to 3, C order, little-endian numbers
// and booleans.
#ifndef TENON_CORE_SUPPORT_NPY_H
#define TENON_CORE_SUPPORT_NPY_H

#include <string>
#include <string_view>

#include "tenon/eval.h"

namespace tenon {

/// TN8101 for anything else than such a file, with what was found. f16 reads as f16; bf16 has no
/// spelling in the format.
Result<Tensor> tensor_from_npy(std::string_view bytes, std::string_view file);
/// Version 1.0, data aligned to 64 bytes. TN8102: a type that the format cannot say.
Result<std::string> npy_from_tensor(const Tensor& t);

}  // namespace tenon

#endif
