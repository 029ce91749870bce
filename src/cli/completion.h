/* SPDX-License-Identifier: Apache-2.0 */
/* Completion scripts of shells, made from the table of commands. */
#pragma once

#include "command.h"

void completion_bash(void);
void completion_zsh(void);
void completion_fish(void);

/* The words that may follow a group, or vgpu itself (""), each with a space behind it. */
void completion_words(const char *group);
/* The GPUs that a simulated machine may have, likewise. */
void completion_presets(void);
/* The columns of 'ps', with a space between two; several are a list with commas. */
void completion_columns(void);
/* The actions of 'sim inject', each with a space behind it. */
void completion_actions(void);
/* What follows a group's name in a command's; NULL: the command is not of the group. */
const char *completion_second(const char *name, const char *group);
/* Calls it for vgpu's own words, or for the group's: each with the sentence that explains it. A group
 * among them is explained by the words that follow it. */
void completion_each(const char *group, void (*print)(const char *word, const char *summary));
