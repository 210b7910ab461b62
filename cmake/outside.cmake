# SPDX-License-Identifier: BSD-3-Clause
# Builds a study whose folder lies outside nodewise: cmake -DSTUDY=FOLDER. Installed with nodewise as a CMakeLists.txt
# next to study.cmake and the headers.
cmake_minimum_required(VERSION 3.20)
project(nodewise_outside_study LANGUAGES CXX)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
# what is shown of a compiler's words is to be what it refuses
set(NODEWISE_WARNINGS OFF)
include(${CMAKE_CURRENT_LIST_DIR}/options.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/study.cmake)
nodewise_headers(${CMAKE_CURRENT_LIST_DIR}/include ${CMAKE_BINARY_DIR}/nodewise)
nodewise_add_study(${STUDY} ${CMAKE_BINARY_DIR}/nodewise)
