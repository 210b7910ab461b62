// SPDX-License-Identifier: BSD-3-Clause
// Texts of JSON to values and back. The reader and the writer are compiled here alone: they are most of what the
// library costs to compile.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace nodewise {

using nlohmann::json;

// Throws json::parse_error for what is no JSON, and std::invalid_argument, which names `what`, for more than 50 levels:
// values are taken apart by recursion, and a deep one would find the end of the stack.
json parse_json(const std::string& text, const char* what);

// In one line. Bytes that are no UTF-8, as what a program prints may have, are replaced.
std::string to_text(const json& value);

// An object, which is not empty, as a line of the sample protocol: its version comes first, which a sorted object would
// not keep.
std::string protocol_line(const json& object);

}  // namespace nodewise
