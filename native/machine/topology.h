// SPDX-License-Identifier: BSD-3-Clause
#pragma once
namespace nodewise {
const char* hwloc_version();
}
