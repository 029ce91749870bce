/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the private tables: their slots, context-local storage, the integrity digest. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "cuda_prototypes.h"
#include "sim.h"

static const unsigned char runtime_id[16] = { 0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a,
                                              0x89, 0x87, 0xd9, 0x39, 0x12, 0xfd, 0x9d, 0xf9 };
static const unsigned char tools_id[16] = { 0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74,
                                            0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a, 0x66 };
static const unsigned char storage_id[16] = { 0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11,
                                              0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95, 0x93 };
static const unsigned char interface_id[16] = { 0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43,
                                                0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa, 0x7e };
static const unsigned char integrity_id[16] = { 0xd4, 0x08, 0x20, 0x55, 0xbd, 0xe6, 0x70, 0x4b,
                                                0x8d, 0x34, 0xba, 0x12, 0x3c, 0x66, 0xe1, 0xf2 };
static const unsigned char blas_id[16] = { 0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48,
                                           0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8, 0xf2 };

static const unsigned char fft_id[16] = { 0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d,
                                          0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99, 0x1e };

static void *const *table_of(const unsigned char id[16])
{
        const void *table = NULL;

        CHECK_EQ(cuGetExportTable(&table, (const CUuuid *)id), CUDA_SUCCESS);
        return table;
}

static void start(unsigned gpu_count)
{
        sim_machine("a100-40gb", gpu_count);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
}

SIM_TEST(an_unknown_table_is_refused)
{
        static const unsigned char none[16] = { 1, 2, 3 };
        const void *table = &none;

        start(1);
        CHECK_EQ(cuGetExportTable(&table, (const CUuuid *)none), CUDA_ERROR_INVALID_VALUE);
        CHECK(table == NULL);
        CHECK_EQ(cuGetExportTable(NULL, (const CUuuid *)runtime_id), CUDA_ERROR_INVALID_VALUE);
}

SIM_TEST(a_table_begins_with_its_size_and_has_no_empty_slot)
{
        const unsigned char *const ids[] = { runtime_id,   tools_id, interface_id,
                                             integrity_id, blas_id,  fft_id };

        start(1);
        for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
                void *const *table = table_of(ids[i]);
                size_t words = (size_t)table[0] / sizeof(void *);

                CHECK(words >= 3 && words < 128);
                for (size_t slot = 1; slot < words; slot++)
                        CHECK(table[slot] != NULL);
        }
}

SIM_TEST(the_interface_of_12_3_is_not_in_older_drivers)
{
        struct machine_spec spec;
        const void *table;

        machine_spec_init(&spec);
        spec.preset = "t4-16gb";
        spec.driver_version = 12020;
        sim_machine_from(&spec);
        CHECK_EQ(cuInit(0), CUDA_SUCCESS);
        CHECK_EQ(cuGetExportTable(&table, (const CUuuid *)interface_id), CUDA_ERROR_INVALID_VALUE);
        CHECK_EQ(cuGetExportTable(&table, (const CUuuid *)runtime_id), CUDA_SUCCESS);
}

SIM_TEST(slot_2_gives_the_primary_context_without_retaining_it)
{
        start(2);
        CUresult (*primary)(CUcontext *, CUdevice) =
                (CUresult(*)(CUcontext *, CUdevice))table_of(runtime_id)[2];
        CUcontext early = NULL, context = NULL;
        unsigned flags;
        int is_active = 1;

        CHECK_EQ(primary(&early, 1), CUDA_SUCCESS);
        CHECK(early != NULL);
        CHECK_EQ(cuDevicePrimaryCtxGetState(1, &flags, &is_active), CUDA_SUCCESS);
        CHECK_EQ(is_active, 0);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&context, 1), CUDA_SUCCESS);
        CHECK(context == early);
        CHECK_EQ(primary(&early, 2), CUDA_ERROR_INVALID_DEVICE);
}

SIM_TEST(no_tool_listens)
{
        start(1);
        void *const *table = table_of(tools_id);

        for (size_t slot = 2; slot <= 6; slot += 4) {
                CUresult (*flags)(const unsigned char **, size_t *) =
                        (CUresult(*)(const unsigned char **, size_t *))table[slot];
                const unsigned char *bytes = NULL;
                size_t size = 0;

                CHECK_EQ(flags(&bytes, &size), CUDA_SUCCESS);
                CHECK(size >= 64 << 10);
                for (size_t i = 0; i < size; i++)
                        CHECK_EQ(bytes[i], 0);
        }
}

SIM_TEST(cublas_gets_nothing_and_success)
{
        start(1);
        CUresult (*slot)(uintptr_t, void **) =
                (CUresult(*)(uintptr_t, void **))table_of(blas_id)[4];
        void *pointer = &pointer;

        CHECK_EQ(slot(0, &pointer), CUDA_SUCCESS);
        CHECK(pointer == NULL);
}

static void keep(void *closure, CUfunction function)
{
        *(CUfunction *)closure = function;
}

SIM_TEST(cufft_gets_the_functions_of_a_module_and_their_number)
{
        static const char ptx[] = ".version 7.0\n.target sm_52\n.address_size 64\n"
                                  ".visible .entry only() { ret; }\n";
        unsigned (*each)(CUcontext, CUmodule, void (*)(void *, CUfunction), void *);
        CUfunction function, found = NULL;
        CUcontext context;
        CUmodule module;

        start(1);
        CHECK_EQ(cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuModuleLoadData(&module, ptx), CUDA_SUCCESS);
        CHECK_EQ(cuModuleGetFunction(&function, module, "only"), CUDA_SUCCESS);
        each = (unsigned (*)(CUcontext, CUmodule, void (*)(void *, CUfunction), void *))table_of(
                fft_id)[7];
        CHECK_EQ(each(context, module, keep, &found), 1);
        CHECK(found == function);
        CHECK_EQ(each(context, NULL, keep, &found), 0);
}

static struct {
        unsigned count;
        CUcontext context;
        void *key, *value;
} destroyed;

static void destructor(CUcontext context, void *key, void *value)
{
        destroyed.count++;
        destroyed.context = context;
        destroyed.key = key;
        destroyed.value = value;
}

typedef CUresult put_fn(CUcontext, void *, void *, void (*)(CUcontext, void *, void *));
typedef CUresult delete_fn(CUcontext, void *);
typedef CUresult get_fn(void **, CUcontext, void *);

SIM_TEST(storage_belongs_to_a_context_and_is_destroyed_with_it)
{
        start(1);
        void *const *table = table_of(storage_id);
        put_fn *put = (put_fn *)table[0];
        delete_fn *delete = (delete_fn *)table[1];
        get_fn *get = (get_fn *)table[2];
        CUcontext first, second;
        void *value = NULL;
        int key, other, content;

        CHECK_EQ(put(NULL, &key, &content, NULL), CUDA_ERROR_INVALID_CONTEXT);
        CHECK_EQ(cuDevicePrimaryCtxRetain(&first, 0), CUDA_SUCCESS);
        CHECK_EQ(cuCtxCreate_v2(&second, 0, 0), CUDA_SUCCESS);
        CHECK_EQ(cuCtxSetCurrent(first), CUDA_SUCCESS);

        CHECK_EQ(get(&value, NULL, &key), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(put(NULL, &key, &content, destructor), CUDA_SUCCESS);
        CHECK_EQ(put(first, &other, &other, NULL), CUDA_SUCCESS);
        CHECK_EQ(get(&value, first, &key), CUDA_SUCCESS);
        CHECK(value == &content);
        CHECK_EQ(get(&value, second, &key), CUDA_ERROR_INVALID_HANDLE);
        CHECK_EQ(delete (first, &other), CUDA_SUCCESS);
        CHECK_EQ(delete (first, &other), CUDA_ERROR_INVALID_HANDLE);

        CHECK_EQ(cuCtxDestroy_v2(second), CUDA_SUCCESS);
        CHECK_EQ(destroyed.count, 0);
        CHECK_EQ(cuDevicePrimaryCtxReset_v2(0), CUDA_SUCCESS);
        CHECK_EQ(destroyed.count, 1);
        CHECK(destroyed.context == first);
        CHECK(destroyed.key == &key);
        CHECK(destroyed.value == &content);
}

typedef CUresult integrity_fn(uint32_t, uint64_t, uint64_t[2]);

SIM_TEST(the_first_two_forms_of_the_digest_are_constants)
{
        start(1);
        integrity_fn *digest = (integrity_fn *)table_of(integrity_id)[1];
        uint64_t got[2] = { 0 };

        CHECK_EQ(digest(11080, 1, got), CUDA_SUCCESS);
        CHECK(got[0] == 0x3341181c03cb675c && got[1] == 0x8ed383aa1f4cd1e8);
        CHECK_EQ(digest(11081, 2, got), CUDA_SUCCESS);
        CHECK(got[0] == 0x1841181c03cb675c && got[1] == 0x8ed383aa1f4cd1e8);
}

/* The digest again, by another way: the message is collected first, the substitution is made from
 * the digits of pi as RFC 1319 does it. */

static unsigned pi_digit(void)
{
        /* Rabinowitz and Wagon's spigot. */
        enum { DIGITS = 800, CELLS = DIGITS * 10 / 3 + 2 };
        static int cells[CELLS];
        static unsigned digits[DIGITS + 16], count, next;

        if (count == 0) {
                unsigned nines = 0, held = 0;
                int is_first = 1;

                for (int i = 0; i < CELLS; i++)
                        cells[i] = 2;
                for (int d = 0; d < DIGITS; d++) {
                        int carry = 0;

                        for (int i = CELLS - 1; i > 0; i--) {
                                int sum = cells[i] * 10 + carry * (i + 1);

                                cells[i] = sum % (2 * i + 1);
                                carry = sum / (2 * i + 1);
                        }
                        int sum = cells[0] * 10 + carry;
                        unsigned digit = (unsigned)sum / 10;

                        cells[0] = sum % 10;
                        if (digit == 9) {
                                nines++;
                                continue;
                        }
                        if (!is_first)
                                digits[count++] = held + (digit == 10);
                        for (; nines > 0; nines--)
                                digits[count++] = digit == 10 ? 0 : 9;
                        held = digit == 10 ? 0 : digit;
                        is_first = 0;
                }
        }
        CHECK(next < count);
        return digits[next++];
}

static unsigned pi_below(unsigned n)
{
        for (;;) {
                unsigned x = pi_digit(), y = 10;

                if (n > 10) {
                        x = x * 10 + pi_digit();
                        y = 100;
                }
                if (n > 100) {
                        x = x * 10 + pi_digit();
                        y = 1000;
                }
                if (x < n * (y / n))
                        return x % n;
        }
}

static unsigned char substitution[256];

static void substitution_make(void)
{
        for (unsigned i = 0; i < 256; i++)
                substitution[i] = (unsigned char)i;
        for (unsigned i = 2; i <= 256; i++) {
                unsigned j = pi_below(i);
                unsigned char swapped = substitution[j];

                substitution[j] = substitution[i - 1];
                substitution[i - 1] = swapped;
        }
}

static void md2_of(const unsigned char *message, size_t length, unsigned char ret_digest[16])
{
        unsigned char padded[512], x[48] = { 0 }, *sum;
        size_t missing = 16 - length % 16, total = length + missing;

        CHECK(total + 16 <= sizeof padded);
        memcpy(padded, message, length);
        memset(padded + length, (int)missing, missing);
        sum = padded + total;
        memset(sum, 0, 16);
        for (size_t i = 0, last = 0; i < total; i++) {
                sum[i % 16] ^= substitution[padded[i] ^ last];
                last = sum[i % 16];
        }
        for (size_t block = 0; block < total + 16; block += 16) {
                unsigned t = 0;

                for (size_t i = 0; i < 16; i++) {
                        x[16 + i] = padded[block + i];
                        x[32 + i] = x[16 + i] ^ x[i];
                }
                for (unsigned round = 0; round < 18; round++) {
                        for (size_t i = 0; i < 48; i++)
                                t = x[i] ^= substitution[t];
                        t = (t + round) % 256;
                }
        }
        memcpy(ret_digest, x, 16);
}

static void keyed_md2_of(const unsigned char *message, size_t length, unsigned char ret_digest[16])
{
        static const unsigned char key[16] = { 0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
                                               0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f };
        unsigned char inner[16 + 256], outer[32];

        CHECK(length <= 256);
        for (size_t i = 0; i < 16; i++) {
                inner[i] = key[i] ^ 0x36;
                outer[i] = key[i] ^ 0x5c;
        }
        memcpy(inner + 16, message, length);
        md2_of(inner, 16 + length, outer + 16);
        md2_of(outer, sizeof outer, ret_digest);
}

static size_t put(unsigned char *message, size_t at, const void *bytes, size_t count)
{
        memcpy(message + at, bytes, count);
        return at + count;
}

SIM_TEST(md2_of_known_texts_is_known)
{
        static const unsigned char of_nothing[16] = { 0x83, 0x50, 0xe5, 0xa3, 0xe2, 0x4c,
                                                      0x15, 0x3d, 0xf2, 0x27, 0x5c, 0x9f,
                                                      0x80, 0x69, 0x27, 0x73 };
        static const unsigned char of_abc[16] = { 0xda, 0x85, 0x3b, 0x0d, 0x3f, 0x88, 0xd9, 0x9b,
                                                  0x30, 0x28, 0x3a, 0x69, 0xe6, 0xde, 0xd6, 0xbb };
        unsigned char digest[16];

        substitution_make();
        md2_of((const unsigned char *)"", 0, digest);
        CHECK(memcmp(digest, of_nothing, 16) == 0);
        md2_of((const unsigned char *)"abc", 3, digest);
        CHECK(memcmp(digest, of_abc, 16) == 0);
}

SIM_TEST(the_digest_covers_process_tables_time_and_devices)
{
        start(2);
        const void *runtime = table_of(runtime_id);
        void *const *integrity = table_of(integrity_id);
        uint32_t words[4] = { 13000, 12092, (uint32_t)getpid(), (uint32_t)pthread_self() };
        uint64_t got[2], other[2], seconds = 1700000000;
        unsigned char message[256], wanted[16];
        size_t length = put(message, 0, words, sizeof words);

        length = put(message, length, &runtime, sizeof runtime);
        length = put(message, length, &integrity, sizeof integrity);
        length = put(message, length, &integrity[1], sizeof integrity[1]);
        length = put(message, length, &seconds, sizeof seconds);
        for (int device = 0; device < 2; device++) {
                CUuuid uuid;
                int address[3];

                CHECK_EQ(cuDeviceGetUuid(&uuid, device), CUDA_SUCCESS);
                cuDeviceGetAttribute(&address[0], CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, device);
                cuDeviceGetAttribute(&address[1], CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device);
                cuDeviceGetAttribute(&address[2], CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, device);
                length = put(message, length, &uuid, sizeof uuid);
                length = put(message, length, address, sizeof address);
        }
        substitution_make();
        keyed_md2_of(message, length, wanted);

        integrity_fn *digest = (integrity_fn *)integrity[1];

        CHECK_EQ(digest(12092, seconds, got), CUDA_SUCCESS);
        CHECK(memcmp(got, wanted, 16) == 0);
        CHECK_EQ(digest(12092, seconds + 1, other), CUDA_SUCCESS);
        CHECK(memcmp(got, other, 16) != 0);
}

int main(void)
{
        return RUN(CASE(an_unknown_table_is_refused),
                   CASE(a_table_begins_with_its_size_and_has_no_empty_slot),
                   CASE(the_interface_of_12_3_is_not_in_older_drivers),
                   CASE(slot_2_gives_the_primary_context_without_retaining_it),
                   CASE(no_tool_listens), CASE(cublas_gets_nothing_and_success),
                   CASE(cufft_gets_the_functions_of_a_module_and_their_number),
                   CASE(storage_belongs_to_a_context_and_is_destroyed_with_it),
                   CASE(the_first_two_forms_of_the_digest_are_constants),
                   CASE(md2_of_known_texts_is_known),
                   CASE(the_digest_covers_process_tables_time_and_devices));
}
