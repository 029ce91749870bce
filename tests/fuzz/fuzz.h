/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz: a target is one function; the engine feeds it bytes that nobody wrote.
 *
 * void fuzz_one(const uint8_t *bytes, size_t count) { … }     in fuzz_NAME.c, and a row in meson.build
 *
 * The bytes are an allocation of exactly `count`: reading past them is found by ASan. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void fuzz_one(const uint8_t *bytes, size_t count);

/* Texts that the target's language is made of; the engine puts them in. NULL ends the list.
 * A target that has none leaves it out. */
extern const char *const fuzz_words[] __attribute__((weak));
