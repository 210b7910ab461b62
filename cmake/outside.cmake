# SPDX-License-Identifier: BSD-3-Clause
# Builds a study whose folder lies outside nodewise: cmake -DSTUDY=FOLDER. Installed with nodewise as a CMakeLists.txt
# beside study.cmake and the kernel header.
cmake_minimum_required(VERSION 3.20)
project(nodewise_outside_study LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
find_package(OpenMP REQUIRED COMPONENTS CXX)
include(${CMAKE_CURRENT_LIST_DIR}/study.cmake)
nodewise_add_study(${STUDY} ${CMAKE_CURRENT_LIST_DIR}/include)
