// Pictures of storage plans: time across, addresses up. One description of what is shown, and three
// ways to show it: a page for a browser, a vector picture for documents, text for a terminal.
#ifndef TENON_CORE_PICTURE_PICTURE_H
#define TENON_CORE_PICTURE_PICTURE_H

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tenon/storage.h"

namespace tenon {

/// A plan as it is shown; what it refers to must outlive the call.
struct ShownPlan {
  std::string title;
  const StorageRequest* request = nullptr;
  const StoragePlan* plan = nullptr;
};

/// One self-contained HTML file: a tab per pool, plans beside each other, search, hover, light and
/// dark. About 100 bytes per token. At least one plan.
std::string picture_page(std::string_view title, std::span<const ShownPlan> plans);

/// An SVG of one pool, plans beside each other at one scale. Readable on light and dark.
std::string picture_svg(std::span<const ShownPlan> plans, std::string_view pool);

/// One pool as `rows` lines of at most `columns` characters, a letter per role; the line below
/// marks the peak step.
std::string picture_text(const ShownPlan& plan, std::string_view pool, std::uint32_t columns,
                         std::uint32_t rows);

}  // namespace tenon

#endif
