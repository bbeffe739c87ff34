import { FileUploadFields } from "@drover/api";
import { InvalidRequestError } from "../core/errors.ts";
import type { BlobRef, Blobs } from "../core/ports/blobs.ts";
import type { AppContext } from "./context.ts";
import { type FormFields, readForm } from "./multipart.ts";
import { parse } from "./parse.ts";

/** Bytes of one uploaded file. */
export const FILE_BYTES_MAX = 500 * 1024 * 1024;

export interface UploadedPart {
  readonly filename: string | undefined;
  readonly mimeType: string | undefined;
  readonly expiresInSeconds: number | undefined;
  readonly blob: BlobRef;
}

/**
 * Streams the part `file` of a multipart body into the blob store. The blob is complete only once the
 * whole body was read and its fields are right: a client that goes away half-way, or asks for what
 * cannot be had, leaves nothing behind.
 */
export async function receiveUpload(c: AppContext, blobs: Blobs): Promise<UploadedPart> {
  const { workspaceId } = c.get("principal");
  const form = await readForm(c, {
    field: "file",
    filesMax: 1,
    bytesMax: FILE_BYTES_MAX,
    isFile: (name) => name === "file",
    take: async ({ filename, mimeType, bytes }, fields) => {
      const blob = await blobs.put(workspaceId, keptBack(bytes, fields));
      return { filename, mimeType, blob };
    },
  });
  const [file] = form.files;
  if (file === undefined) throw new InvalidRequestError("file: the form has no such part");
  const { filename, mimeType, blob } = file;
  return { filename, mimeType, expiresInSeconds: expiryOf(form.fields), blob };
}

/** The file's bytes; ends only when the form did, and fails with it. */
async function* keptBack(
  bytes: AsyncIterable<Uint8Array>,
  fields: () => Promise<FormFields>,
): AsyncGenerator<Uint8Array> {
  yield* bytes;
  expiryOf(await fields());
}

function expiryOf(fields: FormFields): number | undefined {
  return parse(FileUploadFields, fields).expires_in_seconds;
}
