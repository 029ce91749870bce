/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: gRPC frames, the texts of its fields, and every message that we read. What is read and
 * written again reads the same. */
#include <stdlib.h>
#include <string.h>

#include "deviceplugin.pb-c.h"
#include "fuzz.h"
#include "grpc_wire.h"
#include "message.h"
#include "podresources.pb-c.h"
#include "vgpu.pb-c.h"

static const ProtobufCMessageDescriptor *const types[] = {
        &v1beta1__allocate_request__descriptor,
        &v1beta1__preferred_allocation_request__descriptor,
        &v1beta1__pre_start_container_request__descriptor,
        &v1beta1__register_request__descriptor,
        &v1beta1__list_and_watch_response__descriptor,
        &v1__list_pod_resources_response__descriptor,
        &v1__allocatable_resources_response__descriptor,
        &vgpu__v1__get_allocation_request__descriptor,
        &vgpu__v1__get_allocation_response__descriptor,
        &vgpu__v1__list_shares_response__descriptor,
        &vgpu__v1__list_shares_request__descriptor,
        &vgpu__v1__set_share_request__descriptor,
        &vgpu__v1__set_share_response__descriptor,
        &vgpu__v1__watch_shares_request__descriptor,
};
enum { TYPES = sizeof types / sizeof *types };

static void try_message(const ProtobufCMessageDescriptor *type, const void *bytes, size_t count)
{
        ProtobufCMessage *message = message_unpack(type, bytes, count);
        struct str once = { 0 }, twice = { 0 };

        if (!message)
                return;
        if (message_pack(message, &once) < 0)
                abort();
        message_free(message);
        message = message_unpack(type, once.text, once.length);
        if (message) { /* its budget may be smaller now */
                if (message_pack(message, &twice) < 0 || twice.length != once.length ||
                    memcmp(once.text, twice.text, once.length) != 0)
                        abort();
                message_free(message);
        }
        str_done(&once);
        str_done(&twice);
}

static int on_message(void *owner, const void *message, size_t count)
{
        ++*(unsigned *)owner;
        try_message(types[count % TYPES], message, count);
        return 0;
}

static void try_text(const uint8_t *bytes, size_t count)
{
        char *text = strndup((const char *)bytes, count);
        struct str encoded = { 0 };
        uint64_t ns;

        grpc_timeout_parse(text, &ns);
        grpc_status_parse(text);
        if (grpc_message_encode(text, &encoded) == 0 && encoded.text) {
                grpc_message_decode(encoded.text);
                if (strcmp(encoded.text, text) != 0)
                        abort();
        }
        grpc_message_decode(text);
        str_done(&encoded);
        free(text);
}

void fuzz_one(const uint8_t *bytes, size_t count)
{
        struct grpc_reader reader = { .limit_bytes = 1 << 16 };
        unsigned messages = 0;

        grpc_reader_take(&reader, bytes, count, on_message, &messages);
        grpc_reader_done(&reader);
        if (count)
                try_message(types[bytes[0] % TYPES], bytes + 1, count - 1);
        try_text(bytes, count);
}
