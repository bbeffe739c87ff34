import type { z } from "zod";

/** How a list is paged: by a cursor, by one that also goes back, or by the ids at its edges. */
export type ListKind = "cursor" | "bidirectional" | "ids";

/** What a successful answer holds; always with status 200. */
export type Answer =
  | { readonly kind: "object"; readonly of: z.ZodType }
  | { readonly kind: "list"; readonly paged: ListKind; readonly of: z.ZodType }
  /** `{data: […]}`, all of it at once. */
  | { readonly kind: "batch"; readonly of: z.ZodType }
  /** Server-sent events, each with an object of the schema as its data. */
  | { readonly kind: "stream"; readonly of: z.ZodType }
  /** A file's bytes. */
  | { readonly kind: "bytes" };

/** A multipart body: parts with files in them, and text fields beside. */
export interface Form {
  readonly kind: "form";
  /** The name of the parts with content; `files[]` may come many times. */
  readonly part: "file" | "files[]";
  readonly fields: z.ZodObject;
}

/** A body that is a file and nothing else, read as it comes. */
export interface FileBody {
  readonly kind: "file";
  readonly mediaType: string;
}

export interface Operation {
  /** The official client's method, such as `agents.versions.list`. */
  readonly id: string;
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** With parameters in braces, such as `/v1/agents/{agent_id}`. */
  readonly path: string;
  /** Without one, every parameter is refused by name. */
  readonly query?: z.ZodObject;
  /** Without one, the request has no body. */
  readonly body?: z.ZodType | Form | FileBody;
  /** Absent where nothing is built. */
  readonly answer?: Answer;
  /** It answers 501 under this name. */
  readonly unbuilt?: string;
  /** Needs no key. */
  readonly isPublic?: true;
}

export const object = (of: z.ZodType): Answer => ({ kind: "object", of });
export const page = (of: z.ZodType): Answer => ({ kind: "list", paged: "cursor", of });

/** Operations that are not built, as `POST /v1/path` by id. */
export function unbuilt(
  name: string,
  endpoints: Readonly<Record<string, string>>,
): readonly Operation[] {
  return Object.entries(endpoints).map(([id, endpoint]) => {
    const [method = "", path = ""] = endpoint.split(" ");
    return { id, method: method as Operation["method"], path, unbuilt: name };
  });
}
