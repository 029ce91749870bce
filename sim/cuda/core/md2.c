/* SPDX-License-Identifier: Apache-2.0 */
/* The MD2 message digest, as RFC 1319 describes it. */
#include "md2.h"

#include <string.h>

enum { ROUNDS = 18, IPAD = 0x36, OPAD = 0x5c };

/* A permutation of all bytes that RFC 1319 derives from the digits of pi. */
static const uint8_t pi_bytes[256] = {
        41,  46,  67,  201, 162, 216, 124, 1,   61,  54,  84,  161, 236, 240, 6,   19,  98,  167,
        5,   243, 192, 199, 115, 140, 152, 147, 43,  217, 188, 76,  130, 202, 30,  155, 87,  60,
        253, 212, 224, 22,  103, 66,  111, 24,  138, 23,  229, 18,  190, 78,  196, 214, 218, 158,
        222, 73,  160, 251, 245, 142, 187, 47,  238, 122, 169, 104, 121, 145, 21,  178, 7,   63,
        148, 194, 16,  137, 11,  34,  95,  33,  128, 127, 93,  154, 90,  144, 50,  39,  53,  62,
        204, 231, 191, 247, 151, 3,   255, 25,  48,  179, 72,  165, 181, 209, 215, 94,  146, 42,
        172, 86,  170, 198, 79,  184, 56,  210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116,
        4,   241, 69,  157, 112, 89,  100, 113, 135, 32,  134, 91,  207, 101, 230, 45,  168, 2,
        27,  96,  37,  173, 174, 176, 185, 246, 28,  70,  97,  105, 52,  64,  126, 15,  85,  71,
        163, 35,  221, 81,  175, 58,  195, 92,  249, 206, 186, 197, 234, 38,  44,  83,  13,  110,
        133, 40,  132, 9,   211, 223, 205, 244, 65,  129, 77,  82,  106, 220, 55,  200, 108, 193,
        171, 250, 36,  225, 123, 8,   12,  189, 177, 74,  120, 136, 149, 139, 227, 99,  232, 109,
        233, 203, 213, 254, 59,  0,   29,  57,  242, 239, 183, 14,  102, 88,  208, 228, 166, 119,
        114, 248, 235, 117, 75,  10,  49,  68,  80,  180, 143, 237, 31,  26,  219, 153, 141, 51,
        159, 17,  131, 20,
};

static void block_mix(struct md2 *md2)
{
        uint8_t t = 0, last = md2->checksum[MD2_BYTES - 1];

        for (size_t i = 0; i < MD2_BYTES; i++) {
                md2->checksum[i] ^= pi_bytes[md2->block[i] ^ last];
                last = md2->checksum[i];
                md2->state[MD2_BYTES + i] = md2->block[i];
                md2->state[2 * MD2_BYTES + i] = md2->block[i] ^ md2->state[i];
        }
        for (unsigned round = 0; round < ROUNDS; round++) {
                for (size_t i = 0; i < sizeof md2->state; i++) {
                        md2->state[i] ^= pi_bytes[t];
                        t = md2->state[i];
                }
                t = (uint8_t)(t + round);
        }
}

static void md2_init(struct md2 *md2)
{
        memset(md2, 0, sizeof *md2);
}

void md2_add(struct md2 *md2, const void *bytes, size_t count)
{
        const uint8_t *byte = bytes;

        while (count-- > 0) {
                md2->block[md2->length++] = *byte++;
                if (md2->length == MD2_BYTES) {
                        block_mix(md2);
                        md2->length = 0;
                }
        }
}

static void md2_done(struct md2 *md2, uint8_t ret_digest[MD2_BYTES])
{
        uint8_t pad[MD2_BYTES];
        size_t missing = MD2_BYTES - md2->length;

        memset(pad, (int)missing, sizeof pad);
        md2_add(md2, pad, missing);
        memcpy(pad, md2->checksum, sizeof pad);
        md2_add(md2, pad, sizeof pad);
        memcpy(ret_digest, md2->state, MD2_BYTES);
}

static void pad_add(struct md2 *md2, const uint8_t key[MD2_BYTES], uint8_t pad)
{
        uint8_t padded[MD2_BYTES];

        for (size_t i = 0; i < MD2_BYTES; i++)
                padded[i] = key[i] ^ pad;
        md2_init(md2);
        md2_add(md2, padded, sizeof padded);
}

void md2_keyed_init(struct md2 *md2, const uint8_t key[MD2_BYTES])
{
        pad_add(md2, key, IPAD);
}

void md2_keyed_done(struct md2 *md2, const uint8_t key[MD2_BYTES], uint8_t ret_digest[MD2_BYTES])
{
        uint8_t inner[MD2_BYTES];

        md2_done(md2, inner);
        pad_add(md2, key, OPAD);
        md2_add(md2, inner, sizeof inner);
        md2_done(md2, ret_digest);
}
