/* page_file_in.h - texts for page_file.c. */
#ifndef WEB_PAGE_FILE_IN_H
#define WEB_PAGE_FILE_IN_H

#include "web/web_in.h"

/* The page in one: index.html, its style without the colours, the script with all parts. */
struct page_texts {
    struct str html, style, script;
};
struct page_texts page_texts(void);

/* As a JSON string. */
void page_string(struct buf *to, struct str text);
/* The ids of all columns: "params,memory,..." */
void page_columns(struct buf *to);
/* A JSON document without the folders of absolute paths: "/home/me/net.py:3" becomes
 * "net.py:3", also inside a sentence. `folder` is one more to remove, with its '/'. */
void page_without_paths(struct buf *to, struct str document, struct str folder);

#endif
