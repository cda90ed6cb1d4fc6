/* plain_locale_in.h - numbers with a decimal point in every locale.
 * printf and strtod use the locale of the process, which may be the user's Python. This
 * changes it for the calling thread only:
 *
 *     locale_t before = plain_locale_enter();
 *     ... strtod, snprintf ...
 *     plain_locale_leave(before); */
#ifndef BASE_PLAIN_LOCALE_IN_H
#define BASE_PLAIN_LOCALE_IN_H

#include <locale.h>

locale_t plain_locale_enter(void);
void plain_locale_leave(locale_t before);

#endif
