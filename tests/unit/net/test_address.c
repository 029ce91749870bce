/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of address: which addresses nobody else can listen to. */
#include "address.h"

#include "unit.h"

static bool is_local(const char *text)
{
        struct address address;

        CHECK_EQ(address_parse(text, &address, NULL), 0);
        return address_is_local(&address);
}

TEST(loopback_and_unix_sockets_are_local)
{
        CHECK(is_local("127.0.0.1:9394"));
        CHECK(is_local("127.255.0.7:9394"));
        CHECK(is_local("[::1]:9394"));
        CHECK(is_local("unix:/run/vgpu/metrics.sock"));
}

TEST(all_else_is_not)
{
        CHECK(!is_local("0.0.0.0:9394"));
        CHECK(!is_local("[::]:9394"));
        CHECK(!is_local("10.127.0.1:9394"));
        CHECK(!is_local("128.0.0.1:9394"));
        CHECK(!is_local("[::2]:9394"));
        CHECK(!is_local("[fe80::1]:9394"));
}

int main(void)
{
        return RUN(CASE(loopback_and_unix_sockets_are_local), CASE(all_else_is_not));
}
