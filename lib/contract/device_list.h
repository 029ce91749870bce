/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of devices, as VGPU_DEVICES and the names of other systems have them: what kind of list is it? */
#pragma once

enum device_list {
        DEVICE_LIST_EMPTY,
        DEVICE_LIST_WORD, /* all, none or void */
        DEVICE_LIST_NUMBERS, /* or names of CDI devices with numbers: a container's runtime acts upon them */
        DEVICE_LIST_UUIDS,
        DEVICE_LIST_OTHER, /* a mixture, or nothing that is known */
};

/* Names are divided by commas, with blanks around them; one comma may be last. */
enum device_list device_list_kind(const char *text);
