#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "core/io/source.h"

namespace twinrun {

// Whether these first bytes are those of a gzip file; no text in UTF-8 begins so.
bool is_gzip(std::span<const char> first_bytes);

// The contents of a gzip stream, unpacked as they are read, in constant memory; several members one
// after the other are one text. Reading throws InputError (E0103) when the file is cut or damaged.
std::unique_ptr<ByteStream> unzipped(std::unique_ptr<ByteStream> stream, std::string name);

}  // namespace twinrun
