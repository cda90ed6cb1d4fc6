/* page_file_in.h - helpers of page_file.c. */
#ifndef WEB_PAGE_FILE_IN_H
#define WEB_PAGE_FILE_IN_H

#include "web/web_in.h"

/* The page in one: index.html, its style without the colours, the script with all parts. */
struct page_texts {
    struct str html, style, script;
};
struct page_texts page_texts(void);

/* Appends a JSON string. */
void page_string(struct buf *to, struct str text);
/* The ids of all columns: "params,memory,..." */
void page_columns(struct buf *to);
/* Appends a JSON document without the folders of absolute paths: "/home/me/net.py:3"
 * becomes "net.py:3", also inside a sentence. Also removes `folder`, which ends in
 * '/'. */
void page_without_paths(struct buf *to, struct str document, struct str folder);

#endif
