// SPDX-License-Identifier: BSD-3-Clause
#include "worker/arrays.h"

#include <array>
#include <stdexcept>
#include <string>

namespace nodewise {
namespace {

constexpr std::array<char, 8> kMagic = {'\x93', 'N', 'U', 'M', 'P', 'Y', '\x01', '\x00'};

const char* descriptor(nw_type type) {
    switch (type) {
        case NW_U8:
            return "|u1";
        case NW_I32:
            return "<i4";
        case NW_I64:
            return "<i8";
        case NW_F32:
            return "<f4";
        default:
            return "<f8";
    }
}

std::string header_of(const nw_buffer& buffer) {
    std::string text = "{'descr': '" + std::string(descriptor(buffer.type)) + "', 'fortran_order': False, 'shape': (" +
                       std::to_string(buffer.count) + ",), }";
    // magic, two bytes of length, text and a line's end: a multiple of 64
    const std::size_t whole = (kMagic.size() + 2 + text.size() + 1 + 63) / 64 * 64;
    text.resize(whole - kMagic.size() - 2 - 1, ' ');
    return text + '\n';
}

}  // namespace

std::size_t size_of(nw_type type) {
    switch (type) {
        case NW_U8:
            return 1;
        case NW_I32:
        case NW_F32:
            return 4;
        default:
            return 8;
    }
}

void write_array(const nw_buffer& buffer, std::FILE* file) {
    const std::string header = header_of(buffer);
    const std::array<unsigned char, 2> length = {static_cast<unsigned char>(header.size() & 0xff),
                                                 static_cast<unsigned char>(header.size() >> 8)};
    const std::size_t size = size_of(buffer.type);
    if (std::fwrite(kMagic.data(), 1, kMagic.size(), file) != kMagic.size() ||
        std::fwrite(length.data(), 1, 2, file) != 2 ||
        std::fwrite(header.data(), 1, header.size(), file) != header.size() ||
        std::fwrite(buffer.data, size, buffer.count, file) != buffer.count || std::fflush(file) != 0) {
        throw std::runtime_error("cannot write the array " + std::string(buffer.name));
    }
}

void read_array(nw_buffer& buffer, std::FILE* file) {
    const std::string name = buffer.name;
    std::array<unsigned char, 10> head{};
    if (std::fread(head.data(), 1, head.size(), file) != head.size()) {
        throw std::runtime_error("the array " + name + " is missing");
    }
    std::string header(head[8] + std::size_t{256} * head[9], '\0');
    if (std::fread(header.data(), 1, header.size(), file) != header.size()) {
        throw std::runtime_error("the array " + name + " is cut off");
    }
    const std::string type = "'descr': '" + std::string(descriptor(buffer.type)) + "'";
    const std::string shape = "'shape': (" + std::to_string(buffer.count) + ",)";
    if (header.find(type) == std::string::npos || header.find(shape) == std::string::npos) {
        throw std::runtime_error("the array " + name + " should have " + type + ", " + shape + ", but is " + header);
    }
    if (std::fread(buffer.data, size_of(buffer.type), buffer.count, file) != buffer.count) {
        throw std::runtime_error("the array " + name + " is cut off");
    }
}

}  // namespace nodewise
