import { type ConvertOptions, convert } from "html-to-text";

/** The package's own limit is 16 million. */
const HTML_CHARS_MAX = 6 * 1024 * 1024;
/** Elements within each other that are looked into. */
const DEPTH_MAX = 200;
/** Characters at the beginning of a page that its title is looked for in, and of the title itself. */
const TITLE_WITHIN = 200_000;
const TITLE_CHARS_MAX = 300;
const SKIPPED = ["script", "style", "noscript", "template", "svg", "iframe", "img", "select"];
const HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"];

export interface Page {
  /** Empty if it has none. */
  readonly title: string;
  readonly text: string;
}

/**
 * The words of a page, with its headings, lists, tables and the absolute URLs of its links. How long
 * that takes is in the hands of who wrote it: with a million open elements, for example, it takes
 * minutes. Only ever called where it can be ended from outside.
 */
export function pageOf(html: string, url: string): Page {
  return { title: titleOf(html), text: convert(html, optionsFor(url)).trim() };
}

function optionsFor(url: string): ConvertOptions {
  return {
    wordwrap: false,
    limits: { maxDepth: DEPTH_MAX, maxInputLength: HTML_CHARS_MAX },
    formatters: {
      marked: (element, walk, builder) => {
        builder.openBlock({ leadingLineBreaks: 2 });
        builder.addInline(`${"#".repeat(Number(element.name.slice(1)))} `);
        walk(element.children, builder);
        builder.closeBlock({ trailingLineBreaks: 2 });
      },
    },
    selectors: [
      ...SKIPPED.map((selector) => ({ selector, format: "skip" })),
      ...HEADINGS.map((selector) => ({ selector, format: "marked" })),
      { selector: "table", format: "dataTable", options: { uppercaseHeaderCells: false } },
      {
        selector: "a",
        options: {
          hideLinkHrefIfSameAsText: true,
          noAnchorUrl: true,
          linkBrackets: ["<", ">"],
          pathRewrite: (path: string) => (URL.canParse(path, url) ? new URL(path, url).href : path),
        },
      },
    ],
  };
}

function titleOf(html: string): string {
  const [, raw = ""] =
    /<title\b[^>]{0,500}>([^<]{0,2000})/i.exec(html.slice(0, TITLE_WITHIN)) ?? [];
  const title = convert(raw, { wordwrap: false }).replaceAll(/\s+/g, " ").trim();
  return title.slice(0, TITLE_CHARS_MAX);
}
