// SPDX-License-Identifier: Apache-2.0
// Pictures as the media doors know them: a format by its number in the ABI, rows of so many bytes, and the same as
// three planes of whole samples, which is what everything computes on.
//
// Why planes of the picture's full size also for formats with fewer colour samples: cropping, pasting and resizing are
// then the same for all. A sample that stands for several pixels is repeated when read and averaged when written, so
// that what is copied without a change of size comes out as it was.
#ifndef MILLPOND_SRC_MEDIA_PICTURE_H_
#define MILLPOND_SRC_MEDIA_PICTURE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "src/base/status.h"

namespace millpond::media {

// The largest side of a picture: what the largest unit of any card takes.
inline constexpr uint32_t kMaxSide = 16384;

struct Layout {
  int format = 0;
  uint32_t width = 0;
  uint32_t height = 0;
  uint32_t row_bytes = 0;  // from a row to the next
  uint32_t rows = 0;       // from the first plane to the second
};

// Brightness and colour, or red, green and blue. Of a grey picture only the first plane means something.
enum class Space : uint8_t { kGrey, kYuv, kRgb };

struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  Space space = Space::kYuv;
  std::array<std::vector<uint8_t>, 3> planes;

  Picture() = default;
  Picture(uint32_t w, uint32_t h, Space s);
};

// Where the six colour matrices of the ABI differ: the weights of red and blue, and whether brightness has 16 to 235.
struct Matrix {
  double red;
  double blue;
  bool narrow;
};
// `number` is 0 to 5.
const Matrix& MatrixOf(uint32_t number);

// Null when pictures of this format are not computed with.
const char* FormatName(int format);
Status CheckFormat(const char* what, int format);
Space SpaceOf(int format);
// Bytes of a row of `width` pixels: the first plane's, where there are several.
uint64_t RowBytes(int format, uint32_t width);
// Bytes of the whole picture.
uint64_t TotalBytes(const Layout& layout);
// Sizes, strides and whether `bytes` hold it. `what` names the picture in messages.
Status CheckLayout(const char* what, const Layout& layout, uint64_t bytes);

Picture Read(const Layout& layout, const uint8_t* data);
// Over what is at (x, y) of the picture there. pre: it fits, and has the format's space.
void Write(const Picture& picture, const Layout& layout, uint32_t x, uint32_t y, uint8_t* data);

Picture Convert(Picture picture, Space space, const Matrix& matrix);
// pre: the part lies within the picture.
Picture Crop(const Picture& picture, uint32_t x, uint32_t y, uint32_t width, uint32_t height);
Picture Resize(Picture picture, uint32_t width, uint32_t height, bool nearest);

enum class Border : uint8_t { kConstant, kReplicate, kReflect, kReflect101 };
Picture WithBorder(const Picture& picture, Border border, const std::array<double, 4>& value, uint32_t left,
                   uint32_t top, uint32_t right, uint32_t bottom);

}  // namespace millpond::media

#endif  // MILLPOND_SRC_MEDIA_PICTURE_H_
