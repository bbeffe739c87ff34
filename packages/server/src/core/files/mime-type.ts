const UNKNOWN = "application/octet-stream";

/** The first extension of a type is the one that a file without a name gets. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  txt: "text/plain",
  log: "text/plain",
  md: "text/markdown",
  csv: "text/csv",
  tsv: "text/tab-separated-values",
  html: "text/html",
  htm: "text/html",
  css: "text/css",
  js: "text/javascript",
  ts: "text/x-typescript",
  py: "text/x-python",
  sh: "text/x-shellscript",
  json: "application/json",
  jsonl: "application/jsonl",
  xml: "application/xml",
  yaml: "application/yaml",
  yml: "application/yaml",
  pdf: "application/pdf",
  zip: "application/zip",
  gz: "application/gzip",
  tar: "application/x-tar",
  docx: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  xlsx: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
  pptx: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
  parquet: "application/vnd.apache.parquet",
  sqlite: "application/vnd.sqlite3",
  png: "image/png",
  jpg: "image/jpeg",
  jpeg: "image/jpeg",
  gif: "image/gif",
  webp: "image/webp",
  svg: "image/svg+xml",
  mp3: "audio/mpeg",
  wav: "audio/wav",
  mp4: "video/mp4",
};

/** A type and subtype without parameters, as RFC 6838 restricts them. */
export const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/;

/**
 * The type a file is stored with: what its sender says, unless that says nothing; then what the
 * extension says. Nothing is ever executed or shown by this type alone.
 */
export function storedMimeType(sent: string | undefined, filename: string | undefined): string {
  const type = sent?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (type !== UNKNOWN && MEDIA_TYPE.test(type)) return type;
  const extension = /\.([^./\\]+)$/.exec(filename ?? "")?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(EXTENSIONS, extension) ? (EXTENSIONS[extension] ?? UNKNOWN) : UNKNOWN;
}

/** `.csv` for `text/csv`; empty for a type that is not known. */
export function extensionOf(mimeType: string): string {
  const entry = Object.entries(EXTENSIONS).find(([, type]) => type === mimeType);
  return entry === undefined ? "" : `.${entry[0]}`;
}
