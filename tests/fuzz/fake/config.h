/* SPDX-License-Identifier: MIT */
/* config.h - for fuzzers: no CUDA, no hwloc, whatever this build has */
