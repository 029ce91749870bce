/* SPDX-License-Identifier: Apache-2.0 */
/* run_folder: where the shares of `vgpu run` live: one folder per user, in it one per share, with the files
 * "share" (the limits), "region" (what is held), "grant" and "want" (the GPU pages). A share lives as long as a process of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "err.h"
#include "gpus.h"
#include "region.h"
#include "share.h"
#include "vec.h"

/* 0, or why the text cannot be a share's name. */
int run_folder_check_name(const char *name, struct err *e);

/* Makes the share that `wanted` describes (its region's path is filled in), or joins the one of
 * that name if it has the same devices and limits. The caller's process holds its lock (watcher.h).
 * *ret_path is the share file. -EEXIST: there is one with other limits or devices. */
int run_folder_take(const struct share_copy *wanted, const struct gpu_list *gpus,
                    char ret_path[SHARE_TEXT], struct err *e);

/* The folder that this share and the user's others lie in. */
void run_folder_root(const char *path, char ret_root[SHARE_TEXT]);
/* The share files in such a folder, in use or not: a vec of char[SHARE_TEXT]. None if others could write
 * to it. */
void run_folder_read(const char *root, struct vec *ret_paths);
/* The share files of this user: a vec of char[SHARE_TEXT]. Those that nobody uses are removed. */
void run_folder_list(struct vec *ret_paths);
/* The share file of that name; false: there is none. */
bool run_folder_find(const char *name, char ret_path[SHARE_TEXT]);
/* Whether it limits anything: only then a share is made. */
bool run_folder_limits(const struct share_copy *wanted);
/* The name in a share file's path, into a buffer of the copy's size. */
void run_folder_name(const char *path, char ret_name[64]);

/* Removes the share unless it is in use (false). */
bool run_folder_remove(const char *path);

/* Opens the region beside the share file, to be read (region_view.h). 0, or a negative errno; -ENOENT, of
 * which `e` says nothing: no process has made it. */
int run_folder_region(const char *path, struct region *ret_region, struct err *e);
/* Says what is wrong with a region that was written by hand; 0, or -EUCLEAN. */
int run_folder_check(const struct share_copy *copy, const struct region *region, struct err *e);

/* Opens the share for a change. No two at a time: the lock is the descriptor *ret_lock. */
int run_folder_open(const char *path, struct share *ret_share, int *ret_lock, struct err *e);
