// SPDX-License-Identifier: Apache-2.0
#include "tools/plan/drawing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace plan_tool {
namespace {

using millpond::Format;
using millpond::FormatBytes;

constexpr double kLeft = 92;
constexpr double kTop = 64;
constexpr double kWidth = 1100;
constexpr double kHeight = 560;
constexpr double kGap = 46;
constexpr double kLiveHeight = 110;
constexpr double kRight = 24;
constexpr double kBottom = 78;
constexpr size_t kMaxBoxes = 12'000;
constexpr double kCell = 2;  // pixels of a merged cell

// By size, small to large: light to dark, distinguishable by lightness alone.
constexpr std::array<const char*, 8> kPalette = {"#cdeac0", "#9fd8b8", "#6fc3b9", "#46a9b8",
                                                 "#3489b3", "#3a66a8", "#46448f", "#432371"};
constexpr const char* kMergedColour = "#d9d4c7";

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// A step of 1, 2 or 5 times a power of ten (of two, for bytes) that gives about `count` marks.
double NiceStep(double range, double count, bool bytes) {
  const double rough = std::max(range / count, 1.0);
  if (bytes) return std::exp2(std::ceil(std::log2(rough)));
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

class Drawing {
 public:
  Drawing(const ProblemFile& file, const millpond::planner::Plan& plan, size_t capacity)
      : file_(file), plan_(plan), capacity_(capacity) {
    bool first = true;
    for (const Row& row : file.rows) {
      if (row.bytes == 0 || row.lower == row.upper) continue;
      begin_ = first ? static_cast<double>(row.lower) : std::min(begin_, static_cast<double>(row.lower));
      end_ = first ? static_cast<double>(row.upper) : std::max(end_, static_cast<double>(row.upper));
      largest_ = std::max(largest_, row.bytes);
      smallest_ = std::min(smallest_, row.bytes);
      first = false;
    }
    if (end_ <= begin_) end_ = begin_ + 1;
    top_ = static_cast<double>(std::max({plan.peak, capacity, size_t{1}})) * 1.03;
  }

  std::string Draw(const std::string& title) {
    const double width = kLeft + kWidth + kRight;
    const double height = kTop + kHeight + kGap + kLiveHeight + kBottom;
    out_ = Format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" "
        "font-family=\"system-ui, 'DejaVu Sans', sans-serif\" font-size=\"12\" fill=\"#222\">\n",
        width, height, width, height);
    out_ +=
        "<style>.b rect{stroke:#fff;stroke-width:.6;vector-effect:non-scaling-stroke}"
        ".b rect:hover{stroke:#d1495b;stroke-width:2}.g{stroke:#e4e4e4;stroke-width:1}</style>\n";
    out_ += Format("<rect width=\"%g\" height=\"%g\" fill=\"#fff\"/>\n", width, height);
    out_ += Format("<text x=\"%g\" y=\"26\" font-size=\"16\" font-weight=\"600\">%s</text>\n", kLeft,
                   Escaped(title).c_str());
    const double ratio =
        file_.max_live == 0 ? 1 : static_cast<double>(plan_.peak) / static_cast<double>(file_.max_live);
    out_ += Format("<text x=\"%g\" y=\"46\" fill=\"#555\">%zu buffers, peak %s, bound %s, ratio %.4f%s</text>\n", kLeft,
                   file_.rows.size(), FormatBytes(plan_.peak).c_str(), FormatBytes(file_.max_live).c_str(), ratio,
                   plan_.is_optimal ? ", optimal" : "");
    Axes();
    Boxes();
    Line(static_cast<double>(plan_.peak), "#222", "peak", false);
    if (capacity_ != 0) Line(static_cast<double>(capacity_), "#d1495b", "capacity", true);
    Live();
    Legend();
    return out_ + "</svg>\n";
  }

 private:
  double X(double time) const { return kLeft + (time - begin_) / (end_ - begin_) * kWidth; }
  double Y(double offset) const { return kTop + kHeight - offset / top_ * kHeight; }
  double LiveY(double bytes) const {
    return kTop + kHeight + kGap + kLiveHeight -
           bytes / static_cast<double>(std::max<size_t>(1, file_.max_live)) * kLiveHeight;
  }

  void Axes() {
    const double bottom = kTop + kHeight + kGap + kLiveHeight;
    const double step = NiceStep(end_ - begin_, 10, false);
    for (double time = std::ceil(begin_ / step) * step; time <= end_; time += step) {
      out_ += Format("<line class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%g\" y2=\"%g\"/>", X(time), X(time), kTop, bottom);
      out_ += Format("<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%.0f</text>\n", X(time), bottom + 17, time);
    }
    out_ += Format("<text x=\"%g\" y=\"%g\" text-anchor=\"middle\" fill=\"#555\">time</text>\n", kLeft + kWidth / 2,
                   bottom + 35);
    const double bytes = NiceStep(top_, 12, true);
    for (double offset = 0; offset <= top_; offset += bytes) {
      out_ += Format("<line class=\"g\" x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\"/>", kLeft, kLeft + kWidth,
                     Y(offset), Y(offset));
      out_ += Format("<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", kLeft - 8, Y(offset) + 4,
                     FormatBytes(static_cast<size_t>(offset)).c_str());
    }
    out_ +=
        Format("<text transform=\"translate(16 %g) rotate(-90)\" text-anchor=\"middle\" fill=\"#555\">offset</text>\n",
               kTop + kHeight / 2);
  }

  size_t Class(size_t bytes) const {
    const double range = std::log2(static_cast<double>(largest_)) - std::log2(static_cast<double>(smallest_));
    if (range <= 0) return kPalette.size() / 2;
    const double place = (std::log2(static_cast<double>(bytes)) - std::log2(static_cast<double>(smallest_))) / range;
    return std::min(kPalette.size() - 1, static_cast<size_t>(place * static_cast<double>(kPalette.size())));
  }

  void Boxes() {
    std::vector<std::pair<double, size_t>> by_area;
    for (size_t i = 0; i < file_.rows.size(); ++i) {
      const Row& row = file_.rows[i];
      if (row.bytes == 0 || row.lower == row.upper) continue;
      by_area.emplace_back(
          (static_cast<double>(row.upper) - static_cast<double>(row.lower)) * static_cast<double>(row.bytes), i);
    }
    std::sort(by_area.begin(), by_area.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    const size_t drawn = std::min(by_area.size(), kMaxBoxes);
    merged_ = by_area.size() - drawn;
    if (merged_ != 0) Merge(by_area, drawn);
    out_ += "<g class=\"b\">\n";
    for (size_t at = 0; at < drawn; ++at) Box(by_area[at].second);
    out_ += "</g>\n";
  }

  void Box(size_t i) {
    const Row& row = file_.rows[i];
    const double x = X(static_cast<double>(row.lower));
    const double y = Y(static_cast<double>(plan_.offsets[i] + row.bytes));
    out_ += Format(
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\"><title>%s: %s (%zu bytes) at "
        "%zu, live from %lld to %lld</title></rect>\n",
        x, y, X(static_cast<double>(row.upper)) - x, Y(static_cast<double>(plan_.offsets[i])) - y,
        kPalette[Class(row.bytes)], Escaped(row.id).c_str(), FormatBytes(row.bytes).c_str(), row.bytes,
        plan_.offsets[i], static_cast<long long>(row.lower), static_cast<long long>(row.upper));
  }

  // Boxes too small to draw individually become cells of one colour, joined along time.
  void Merge(const std::vector<std::pair<double, size_t>>& by_area, size_t from) {
    const auto columns = static_cast<size_t>(kWidth / kCell);
    const auto rows = static_cast<size_t>(kHeight / kCell);
    std::vector<bool> taken(columns * rows);
    for (size_t at = from; at < by_area.size(); ++at) {
      const Row& row = file_.rows[by_area[at].second];
      const double offset = static_cast<double>(plan_.offsets[by_area[at].second]);
      const auto left = static_cast<size_t>((X(static_cast<double>(row.lower)) - kLeft) / kCell);
      const auto right = static_cast<size_t>((X(static_cast<double>(row.upper)) - kLeft) / kCell);
      const auto low = static_cast<size_t>(offset / top_ * kHeight / kCell);
      const auto high = static_cast<size_t>((offset + static_cast<double>(row.bytes)) / top_ * kHeight / kCell);
      for (size_t y = low; y <= std::min(high, rows - 1); ++y) {
        for (size_t x = left; x <= std::min(right, columns - 1); ++x) taken[y * columns + x] = true;
      }
    }
    out_ += Format("<g fill=\"%s\">\n", kMergedColour);
    for (size_t y = 0; y < rows; ++y) {
      for (size_t x = 0; x < columns; ++x) {
        if (!taken[y * columns + x]) continue;
        const size_t start = x;
        while (x < columns && taken[y * columns + x]) ++x;
        out_ +=
            Format("<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\"/>\n", kLeft + static_cast<double>(start) * kCell,
                   kTop + kHeight - static_cast<double>(y + 1) * kCell, static_cast<double>(x - start) * kCell, kCell);
      }
    }
    out_ += "</g>\n";
  }

  void Line(double offset, const char* colour, const char* name, bool right) {
    out_ += Format(
        "<line x1=\"%g\" x2=\"%g\" y1=\"%.2f\" y2=\"%.2f\" stroke=\"%s\" stroke-width=\"1.4\" "
        "stroke-dasharray=\"6 4\"/>",
        kLeft, kLeft + kWidth, Y(offset), Y(offset), colour);
    out_ += Format("<text x=\"%g\" y=\"%.2f\" fill=\"%s\"%s>%s %s</text>\n", right ? kLeft + kWidth : kLeft + 4,
                   Y(offset) - 5, colour, right ? " text-anchor=\"end\"" : "", name,
                   FormatBytes(static_cast<size_t>(offset)).c_str());
  }

  // The sum of live bytes, the maximum for each pixel.
  void Live() {
    std::map<int64_t, int64_t> change;
    for (const Row& row : file_.rows) {
      change[row.lower] += static_cast<int64_t>(row.bytes);
      change[row.upper] -= static_cast<int64_t>(row.bytes);
    }
    const double base = LiveY(0);
    out_ += Format("<text x=\"%g\" y=\"%g\" fill=\"#555\">live bytes, at most %s</text>\n", kLeft,
                   LiveY(static_cast<double>(file_.max_live)) - 7, FormatBytes(file_.max_live).c_str());
    const auto columns = static_cast<size_t>(kWidth);
    std::vector<double> most(columns + 1, 0);
    int64_t live = 0;
    size_t column = 0;
    for (const auto& [time, bytes] : change) {
      const auto here = std::min(columns, static_cast<size_t>(std::max(0.0, X(static_cast<double>(time)) - kLeft)));
      for (; column <= here; ++column) most[column] = std::max(most[column], static_cast<double>(live));
      live += bytes;
      most[here] = std::max(most[here], static_cast<double>(live));
      column = here;
    }
    out_ += Format("<path fill=\"#b8cfe5\" stroke=\"#3a66a8\" d=\"M%g %g", kLeft, base);
    double before = -1;
    for (size_t x = 0; x <= columns; ++x) {
      if (most[x] != before) out_ += Format("H%.1fV%.1f", kLeft + static_cast<double>(x), LiveY(most[x]));
      before = most[x];
    }
    out_ += Format("H%gV%gZ\"/>\n", kLeft + kWidth, base);
  }

  void Legend() {
    const double y = kTop + kHeight + kGap + kLiveHeight + 58;
    double x = kLeft;
    if (largest_ == 0) return;
    out_ += Format("<text x=\"%g\" y=\"%g\">size: %s</text>", x, y, FormatBytes(smallest_).c_str());
    x += 130;
    for (const char* colour : kPalette) {
      out_ += Format("<rect x=\"%g\" y=\"%g\" width=\"26\" height=\"12\" fill=\"%s\"/>", x, y - 10, colour);
      x += 26;
    }
    out_ += Format("<text x=\"%g\" y=\"%g\">%s</text>\n", x + 8, y, FormatBytes(largest_).c_str());
    if (merged_ == 0) return;
    x += 130;
    out_ += Format(
        "<rect x=\"%g\" y=\"%g\" width=\"26\" height=\"12\" fill=\"%s\"/><text x=\"%g\" y=\"%g\">the %zu smallest "
        "boxes, merged</text>\n",
        x, y - 10, kMergedColour, x + 34, y, merged_);
  }

  const ProblemFile& file_;
  const millpond::planner::Plan& plan_;
  const size_t capacity_;
  double begin_ = 0;
  double end_ = 0;
  double top_ = 1;
  size_t largest_ = 0;
  size_t smallest_ = SIZE_MAX;
  size_t merged_ = 0;
  std::string out_;
};

}  // namespace

std::string Draw(const std::string& title, const ProblemFile& file, const millpond::planner::Plan& plan,
                 size_t capacity) {
  return Drawing(file, plan, capacity).Draw(title);
}

}  // namespace plan_tool
