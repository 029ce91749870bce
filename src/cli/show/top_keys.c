/* SPDX-License-Identifier: Apache-2.0 */
/* What keys do. */
#include <limits.h>
#include <ncurses.h>
#include <string.h>

#include "cell_text.h"
#include "top_view.h"

enum { KEY_ESCAPE = 27 };

/* Characters beyond ASCII come byte by byte. One that does not fit is not begun. */
static void filter_type(struct top_screen *screen, unsigned char byte)
{
        const size_t length = strlen(screen->filter);
        const size_t needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
        char whole[TOP_FILTER];

        memcpy(whole, screen->filter, sizeof whole);
        cell_text_trim(whole);
        const bool is_begun = strlen(whole) < length, is_more = (byte & 0xc0) == 0x80;

        if (is_begun && !is_more)
                memcpy(screen->filter, whole, sizeof whole);
        if (is_begun != is_more || byte == 0xc0 || byte == 0xc1 || byte > 0xf4 ||
            length + needed >= sizeof screen->filter)
                return;
        screen->filter[length] = (char)byte;
        screen->filter[length + 1] = '\0';
}

/* The last character, whole. */
static void filter_erase(struct top_screen *screen)
{
        size_t length = strlen(screen->filter);

        while (length > 1 && ((unsigned char)screen->filter[length - 1] & 0xc0) == 0x80)
                length--;
        if (length > 0)
                screen->filter[length - 1] = '\0';
}

static void filter_press(struct top_screen *screen, int key)
{
        if (key == '\n' || key == '\r' || key == KEY_ENTER || key == KEY_ESCAPE)
                screen->is_typing = false;
        if (key == KEY_ESCAPE)
                screen->filter[0] = '\0';
        if (key == KEY_BACKSPACE || key == 127 || key == 8)
                filter_erase(screen);
        else if (key >= ' ' && key < 256)
                filter_type(screen, (unsigned char)key);
        if (!screen->is_typing)
                cell_text_trim(screen->filter);
}

/* Help has lines of its own; the rows are then where they were. */
static void help_press(struct top_screen *screen)
{
        screen->is_help = !screen->is_help;
        if (screen->is_help)
                screen->kept_scroll = screen->scroll;
        screen->scroll = screen->is_help ? 0 : screen->kept_scroll;
}

/* Beyond the end the next drawing takes it back. */
static void scroll_press(struct top_screen *screen, int key)
{
        const unsigned page = screen->page > 1 ? screen->page - 1 : 1;

        if (key == KEY_DOWN || key == 'j')
                screen->scroll++;
        if ((key == KEY_UP || key == 'k') && screen->scroll > 0)
                screen->scroll--;
        if (key == KEY_NPAGE)
                screen->scroll += page;
        if (key == KEY_PPAGE)
                screen->scroll -= screen->scroll < page ? screen->scroll : page;
        if (key == KEY_HOME)
                screen->scroll = 0;
        if (key == KEY_END)
                screen->scroll = INT_MAX;
}

static void interval_press(struct top_screen *screen, int key)
{
        if (key == '+')
                screen->interval_ms = screen->interval_ms < 30000 ? screen->interval_ms * 2 : 60000;
        if (key == '-')
                screen->interval_ms = screen->interval_ms > 200 ? screen->interval_ms / 2 : 100;
}

bool top_keys_press(struct top_screen *screen, int key)
{
        static const char sorts[] = {
                [TOP_BY_CORES] = 'c', [TOP_BY_MEMORY] = 'm', [TOP_BY_NAME] = 'n'
        };

        if (key == TOP_KEY_END)
                return false;
        if (screen->is_typing) {
                filter_press(screen, key);
                return true;
        }
        for (unsigned i = 0; i < TOP_SORTS; i++)
                if (key == sorts[i])
                        screen->sort = i;
        if (key == '/') {
                screen->is_typing = true;
                screen->is_help = false;
                screen->scroll = 0;
        }
        if (key == '?' || key == 'h')
                help_press(screen);
        if (key == ' ')
                screen->is_paused = !screen->is_paused;
        if (key == KEY_ESCAPE)
                screen->filter[0] = '\0';
        interval_press(screen, key);
        scroll_press(screen, key);
        return key != 'q';
}
