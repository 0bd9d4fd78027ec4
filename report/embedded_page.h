#pragma once

#include <span>

#include "core/io/embedded.h"

namespace twinrun {

// index.html, page.css and page.js, as the build made them of report/page/.
std::span<const EmbeddedFile> embedded_page();

}  // namespace twinrun
