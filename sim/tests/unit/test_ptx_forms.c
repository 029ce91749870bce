/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the interpreter with ptx/forms.ptx: seldom forms, what cannot run, links, bad text. */
#include <errno.h>

#include "ptx_fixture.h"

TEST(bits_go_where_the_manual_says)
{
        struct fixture b;
        uint64_t out;
        const uint32_t x = 0x12345678, y = 0x9abcdef0, z = 0xffff;
        const uint32_t expected[] = {
                0x3579bde0,
                1,
                0x77777788,
                4,
                0x456,
                0xfffffff9,
                0x9abcd780,
                28,
                1,
                6,
                (x & y) | (x & z) | (y & z),
                0x12341234,
                x,
                0x01234567,
                (uint32_t)(UINT64_C(0x345678) * 0xbcdef0 >> 16) + 7,
                10 + 0x5678 * 0xf0 + 0x1234 * 0xde,
                1,
                22,
                0xffffffff,
                1,
                x,
                0x56781234,
                0,
                0xffffffff,
                5,
                255,
                0xffffff80,
                0x7fffffff,
                0xffffffff,
                0x7fffffff,
                107,
                65533,
        };

        fixture_open(&b, "forms.ptx");
        uint32_t *y_out = fixture_array(&b, sizeof expected, &out);
        fixture_kernel(&b, "bits", 1, 1);
        CHECK_EQ(ptx_kernel_footprint(b.launch.kernel)->max_threads, 64);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (unsigned n = 0; n < sizeof expected / 4; n++)
                if (y_out[n] != expected[n])
                        fail_msg("result %u: 0x%x, not 0x%x", n, y_out[n], expected[n]);
        fixture_close(&b);
}

TEST(address_forms_are_distinguished)
{
        struct fixture b;
        uint64_t out;
        float fraction;
        uint32_t word[14];

        fixture_open(&b, "forms.ptx");
        unsigned char *y = fixture_array(&b, 64, &out);
        fixture_kernel(&b, "offsets_of", 1, 1);
        fixture_param_u64(&b, out);
        fixture_param_s32(&b, -9);
        fixture_done(&b);
        memcpy(word, y, sizeof word);
        CHECK_EQ((int32_t)word[0], -9);
        CHECK_EQ((int32_t)word[1], -1);
        CHECK_EQ(word[2], 5);
        memcpy(&fraction, &word[3], sizeof fraction);
        CHECK(fraction == 10.0f);
        CHECK_EQ(word[4], 77);
        CHECK_EQ(word[6], 1);
        CHECK_EQ(word[8], 1);
        CHECK_EQ(word[9], 0);
        CHECK_EQ(word[10], 991);
        CHECK_EQ(word[12], 16);
        CHECK_EQ(word[13], 15);
        fixture_close(&b);
}

TEST(labels_belong_to_their_scope)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "forms.ptx");
        unsigned *y = fixture_array(&b, 40 * 4, &out);
        fixture_kernel(&b, "ways", 1, 40);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (unsigned t = 0; t < 40; t++)
                CHECK_EQ(y[t], 100 * (t % 3 + 1) + t);
        fixture_close(&b);
}

TEST(a_kernel_that_cannot_run_says_why)
{
        struct fixture b;
        const struct ptx_footprint *f;

        fixture_open(&b, "forms.ptx");
        fixture_kernel(&b, "needs_video", 1, 32);
        f = ptx_kernel_footprint(b.launch.kernel);
        CHECK(!f->is_runnable);
        CHECK(strstr(f->reason, "instruction 'vadd4'"));
        CHECK_EQ(fixture_run(&b), PTX_UNSUPPORTED);
        CHECK_STR(b.outcome.reason, f->reason);
        fixture_kernel(&b, "needs_elsewhere", 1, 32);
        CHECK_STR(ptx_kernel_footprint(b.launch.kernel)->reason,
                  "function 'elsewhere' is not defined");
        fixture_close(&b);
}

TEST(threads_arrive_and_do_not_wait)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "forms.ptx");
        unsigned *y = fixture_array(&b, 64 * 4, &out);
        fixture_kernel(&b, "producers", 1, 64);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int t = 0; t < 64; t++)
                CHECK_EQ(y[t], t < 32 ? 0 : 4711);
        fixture_close(&b);
}

TEST(an_asynchronous_copy_fills_with_zeros)
{
        struct fixture b;
        uint64_t in, out;

        fixture_open(&b, "forms.ptx");
        uint64_t *x = fixture_array(&b, 512, &in), *y = fixture_array(&b, 512, &out);
        for (unsigned n = 0; n < 64; n++)
                x[n] = n + 1;
        memset(y, 0xff, 512);
        fixture_kernel(&b, "copies", 1, 32);
        fixture_param_u64(&b, in);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (unsigned n = 0; n < 64; n++)
                CHECK_EQ(y[n], n % 2 ? 0 : n + 1);
        fixture_close(&b);
}

TEST(a_block_that_waits_for_ever_is_ended)
{
        struct fixture b;

        fixture_open(&b, "forms.ptx");
        fixture_kernel(&b, "stuck", 1, 64);
        CHECK_EQ(fixture_run(&b), PTX_LAUNCH_FAILURE);
        CHECK(strstr(b.outcome.reason, "barriers"));
        fixture_close(&b);
}

TEST(threads_meet_in_shared_memory)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "forms.ptx");
        unsigned *y = fixture_array(&b, 64 * 4, &out);
        fixture_kernel(&b, "phases", 1, 64);
        b.launch.budget_instructions = 10000000;
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (int t = 0; t < 64; t++)
                CHECK_EQ(y[t], 63 * 32);
        fixture_close(&b);
}

TEST(a_cluster_of_several_blocks_is_not_computed)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "forms.ptx");
        unsigned *y = fixture_array(&b, 4, &out);
        fixture_kernel(&b, "rank", 2, 32);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        CHECK_EQ(*y, 1);
        b.launch.cluster[0] = 2;
        CHECK_EQ(fixture_run(&b), PTX_UNSUPPORTED);
        CHECK_STR(b.outcome.reason, "clusters of more than one block");
        fixture_close(&b);
}

TEST(eight_bit_floats_come_back)
{
        struct fixture b;
        uint64_t out;

        fixture_open(&b, "forms.ptx");
        uint32_t *y = fixture_array(&b, 256 * 16, &out);
        fixture_kernel(&b, "bytes", 1, 256);
        fixture_param_u64(&b, out);
        fixture_done(&b);
        for (unsigned n = 0; n < 256; n++) {
                CHECK_EQ(y[4 * n + 1], (n & 0x7f) == 0x7f ? 0x7f : n);
                if ((n & 0x7f) <= 0x7c)
                        CHECK_EQ(y[4 * n + 2], n << 8);
                CHECK_EQ(y[4 * n + 3], 0x7ec5); /* 450 is cut to 448, -3.35 rounded to -3.25 */
        }
        CHECK_EQ(y[4 * 0x38], 0x3c00);
        CHECK_EQ(y[4 * 0x7e], 0x5f00);
        CHECK_EQ(y[4 * 0x01], 0x1800);
        fixture_close(&b);
}

static const char user_text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".extern .func (.param .b32 r) triple (.param .b32 v);\n"
        ".extern .global .align 4 .u32 bonus;\n"
        ".global .u32 hidden = 1;\n"
        ".visible .entry go(.param .u64 out) { .reg .b32 %r<5>; .reg .b64 %rd<3>;\n"
        "ld.param.u64 %rd1, [out]; { .param .b32 a; .param .b32 r; st.param.b32 [a], 14;\n"
        "call (r), triple, (a); ld.param.b32 %r1, [r]; }\n"
        "ld.global.u32 %r2, [bonus]; add.u32 %r1, %r1, %r2; ld.global.u32 %r2, [hidden];\n"
        "add.u32 %r1, %r1, %r2; st.global.u32 [%rd1], %r1; ret; }\n";
static const char library_text[] =
        ".version 7.0\n.target sm_70\n.address_size 64\n"
        ".visible .global .align 4 .u32 bonus = 100;\n.global .u32 hidden = 1000;\n"
        ".visible .func (.param .b32 r) triple (.param .b32 v) { .reg .b32 %r<3>;\n"
        "ld.param.b32 %r1, [v]; mul.lo.s32 %r1, %r1, 3; st.param.b32 [r], %r1; ret; }\n";

TEST(texts_are_linked)
{
        const struct ptx_text texts[] = { { user_text, sizeof user_text - 1 },
                                          { library_text, sizeof library_text - 1 } };
        struct ptx_module *module;
        struct err e = { 0 };
        uint64_t out = BENCH_BASE + 4096;
        struct fixture b = { .size = 1 << 16 };
        struct ptx_outcome outcome;

        b.bytes = calloc(1, b.size);
        b.memory = (struct ptx_memory){ .resolve = fixture_resolve, .closure = &b };
        CHECK_EQ(ptx_module_link(texts, 2, &module, &e), 0);
        CHECK_EQ(ptx_module_variable_count(module), 3);
        for (size_t n = 0; n < 3; n++) {
                ptx_module_set_address(module, n, BENCH_BASE + 256 * n);
                CHECK(!ptx_module_variable(module, n)->is_undefined);
        }
        for (size_t n = 0; n < 3; n++)
                ptx_module_write_initial(module, n, b.bytes + 256 * n);
        struct ptx_launch launch = { .kernel = ptx_kernel_find(module, "go"),
                                     .grid = { 1, 1, 1 },
                                     .block = { 1, 1, 1 },
                                     .params = &out,
                                     .params_size = 8,
                                     .memory = &b.memory };
        CHECK_EQ(ptx_launch(&launch, &outcome), 0);
        CHECK_EQ(outcome.status, PTX_DONE);
        CHECK_EQ(*(uint32_t *)(void *)(b.bytes + 4096), 42 + 100 + 1);
        ptx_module_free(module);

        CHECK_EQ(ptx_module_link(texts, 1, &module, &e), 0);
        CHECK(!ptx_kernel_footprint(ptx_kernel_find(module, "go"))->is_runnable);
        CHECK(ptx_module_variable(module, 0)->is_undefined);
        ptx_module_free(module);

        const struct ptx_text twice[] = { texts[1], texts[1] };
        CHECK_EQ(ptx_module_link(twice, 2, &module, &e), -EINVAL);
        CHECK_STR(e.text, "'triple' is defined in two inputs");
        free(b.bytes);
}

TEST(bad_text_gets_one_sentence_with_its_line)
{
        static const struct {
                const char *text, *error;
        } rows[] = {
                { "", "PTX line 1: the text does not begin with .version" },
                { "hello", "PTX line 1: the text does not begin with .version" },
                { ".version 7.0\n.visible .entry k(\n", "PTX line 3: a declaration has no type" },
                { ".version 7.0\n.entry k() { .reg .b32 %r<3>;\n",
                  "PTX line 3: the text ends where '}' was expected" },
                { ".version 7.0\n.entry k() {\n bra nowhere; }",
                  "PTX line 3: label 'nowhere' of line 3 is not defined" },
                { ".version 7.0\n.global .u32 a[2] = { 1, 2, 3 };",
                  "PTX line 2: 'a' has more initial values than elements" },
                { ".version 7.0\n.entry k() { .reg .b32 %r<99999999>; }",
                  "PTX line 2: too many registers" },
                { ".version 7.0\n.entry k() {}\n.entry k() {}",
                  "PTX line 3: 'k' is defined twice" },
                { ".version 7.0\n.global .align 3 .u32 a;",
                  "PTX line 2: alignment 3 is not a power of two" },
        };

        for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
                struct ptx_module *module;
                struct err e = { 0 };

                CHECK_EQ(ptx_module_new(rows[n].text, strlen(rows[n].text), &module, &e), -EINVAL);
                CHECK_STR(e.text, rows[n].error);
        }
}

int main(void)
{
        return RUN(
                CASE(bits_go_where_the_manual_says), CASE(address_forms_are_distinguished),
                CASE(labels_belong_to_their_scope), CASE(a_kernel_that_cannot_run_says_why),
                CASE(threads_arrive_and_do_not_wait), CASE(an_asynchronous_copy_fills_with_zeros),
                CASE(a_block_that_waits_for_ever_is_ended), CASE(threads_meet_in_shared_memory),
                CASE(a_cluster_of_several_blocks_is_not_computed), CASE(eight_bit_floats_come_back),
                CASE(texts_are_linked), CASE(bad_text_gets_one_sentence_with_its_line));
}
