# SPDX-License-Identifier: BSD-3-Clause
# How native code is compiled: of the engine, of studies that are installed, and of a user's own folder.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(NODEWISE_SANITIZE "" CACHE STRING "address,undefined or thread: instrument all native code")

option(NODEWISE_WARNINGS "let the compiler warn" ON)
if(NODEWISE_WARNINGS)
  add_compile_options(-Wall -Wextra -Wconversion -Wshadow)
endif()
if(NODEWISE_SANITIZE)
  # little optimisation and few symbols: with more, unrolled rounds of many lanes take minutes to compile
  add_compile_options(-fsanitize=${NODEWISE_SANITIZE} -fno-omit-frame-pointer -g1 -O1)
  add_link_options(-fsanitize=${NODEWISE_SANITIZE})
endif()
