# SPDX-License-Identifier: BSD-3-Clause
# Compiles for 64-bit Arm Linux on another machine: libraries and headers beside the C and C++ library's own are those below
# NODEWISE_ARM_ROOT, a variable of the environment, as tools/arm_wheel.py unpacks them.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH $ENV{NODEWISE_ARM_ROOT} /usr/aarch64-linux-gnu)
# programs are this machine's, and so is what Python's packages bring of CMake (nanobind)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(ENV{PKG_CONFIG_SYSROOT_DIR} $ENV{NODEWISE_ARM_ROOT})
set(ENV{PKG_CONFIG_LIBDIR} $ENV{NODEWISE_ARM_ROOT}/usr/lib/aarch64-linux-gnu/pkgconfig:$ENV{NODEWISE_ARM_ROOT}/usr/share/pkgconfig)
# Debian keeps what differs by processor in a folder of its own
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES $ENV{NODEWISE_ARM_ROOT}/usr/include $ENV{NODEWISE_ARM_ROOT}/usr/include/aarch64-linux-gnu)
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${CMAKE_C_STANDARD_INCLUDE_DIRECTORIES})
# what a library of that folder needs lies there, too
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,-rpath-link,$ENV{NODEWISE_ARM_ROOT}/usr/lib/aarch64-linux-gnu")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${CMAKE_EXE_LINKER_FLAGS_INIT}")
