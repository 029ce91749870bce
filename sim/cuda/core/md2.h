/* SPDX-License-Identifier: Apache-2.0 */
/* MD2 (RFC 1319) and its keyed form: the check that CUDA runtimes make on the driver. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { MD2_BYTES = 16 };

struct md2 {
        uint8_t state[48];
        uint8_t checksum[MD2_BYTES];
        uint8_t block[MD2_BYTES];
        size_t length; /* of the block so far */
};

void md2_add(struct md2 *md2, const void *bytes, size_t count);

/* HMAC (RFC 2104) with blocks of 16 bytes: begin, md2_add() the message, end. */
void md2_keyed_init(struct md2 *md2, const uint8_t key[MD2_BYTES]);
void md2_keyed_done(struct md2 *md2, const uint8_t key[MD2_BYTES], uint8_t ret_digest[MD2_BYTES]);
