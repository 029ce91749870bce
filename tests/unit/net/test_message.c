/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of message: what is honest is read, what only wants memory is not. */
#include "message.h"

#include <stdlib.h>
#include <string.h>

#include "deviceplugin.pb-c.h"
#include "unit.h"

/* A request of one container with so many ids of so many letters. */
static void pack_ids(size_t count, size_t length, struct str *to)
{
        V1beta1__PreStartContainerRequest request = V1BETA1__PRE_START_CONTAINER_REQUEST__INIT;
        char *id = calloc(1, length + 1);

        memset(id, 'x', length);
        request.n_devices_ids = count;
        request.devices_ids = calloc(count + 1, sizeof *request.devices_ids);
        for (size_t i = 0; i < count; i++)
                request.devices_ids[i] = id;
        CHECK_EQ(message_pack(&request.base, to), 0);
        free(request.devices_ids);
        free(id);
}

TEST(honest_messages_of_every_size_are_read)
{
        static const size_t counts[] = { 0, 1, 3000, 60000 };

        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
                for (size_t length = 1; length < 64; length += 31) {
                        struct str bytes = { 0 };
                        ProtobufCMessage *message;

                        pack_ids(counts[i], length, &bytes);
                        message = message_unpack(&v1beta1__pre_start_container_request__descriptor,
                                                 bytes.text, bytes.length);
                        CHECK(message);
                        CHECK_EQ(((V1beta1__PreStartContainerRequest *)message)->n_devices_ids,
                                 counts[i]);
                        message_free(message);
                        str_done(&bytes);
                }
}

TEST(a_message_that_only_wants_memory_is_refused)
{
        const size_t count = 4 << 20;
        char *bytes = malloc(count);
        ProtobufCMessage *message;

        for (size_t i = 0; i < count; i += 2)
                memcpy(bytes + i, "\n", 2); /* an empty device, two million times */
        message = message_unpack(&v1beta1__list_and_watch_response__descriptor, bytes, count);
        CHECK(!message);
        free(bytes);
}

int main(void)
{
        return RUN(CASE(honest_messages_of_every_size_are_read),
                   CASE(a_message_that_only_wants_memory_is_refused));
}
