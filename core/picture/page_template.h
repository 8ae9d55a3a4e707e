// core/picture/page.html, built into the library.
#ifndef TENON_CORE_PICTURE_PAGE_TEMPLATE_H
#define TENON_CORE_PICTURE_PAGE_TEMPLATE_H

#include <string_view>

namespace tenon::picture {

/// Holds the mark @DATA@ once.
std::string_view page_template();

}  // namespace tenon::picture

#endif
