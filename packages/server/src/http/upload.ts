import { basename } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { FileUploadFields } from "@drover/api";
import { Busboy, type BusboyFileStream } from "@fastify/busboy";
import { InvalidRequestError, PlatformError, RequestTooLargeError } from "../core/errors.ts";
import type { BlobRef, Blobs } from "../core/ports/blobs.ts";
import type { AppContext } from "./context.ts";
import { parse } from "./parse.ts";

/** Bytes of one uploaded file. */
export const FILE_BYTES_MAX = 500 * 1024 * 1024;
const FIELDS_MAX = 10;
const FIELD_BYTES_MAX = 1024;
const BOUNDARY_SLACK = 64 * 1024;

export interface UploadedPart {
  readonly filename: string | undefined;
  readonly mimeType: string | undefined;
  readonly expiresInSeconds: number | undefined;
  readonly blob: BlobRef;
}

interface FilePart {
  readonly stream: BusboyFileStream;
  readonly filename: string | undefined;
  readonly mimeType: string | undefined;
}

/**
 * Streams the part `file` of a multipart body into the blob store. The blob is complete only once the
 * whole body was read and its fields are right: a client that goes away half-way, or asks for what
 * cannot be had, leaves nothing behind.
 */
export async function receiveUpload(c: AppContext, blobs: Blobs): Promise<UploadedPart> {
  const source = sourceOf(c);
  const parser = openParser(c);
  const part = Promise.withResolvers<FilePart>();
  const fields = new Map<string, string>();
  let receiving: BusboyFileStream | undefined;
  parser.on("file", (name, stream, filename, _encoding, mimeType) => {
    // Without a listener a part that is cut off would end the process; destroyed, it tells its reader.
    stream.on("error", (error) => stream.destroy(error));
    receiving = stream;
    if (name !== "file") {
      stream.resume();
      parser.destroy(new InvalidRequestError(`${name}: unknown part; the file's is named file`));
      return;
    }
    part.resolve({ stream, filename: filename && basename(filename), mimeType });
  });
  parser.on("field", (name, value, isNameCut, isValueCut) => {
    if (isNameCut || isValueCut) {
      parser.destroy(new InvalidRequestError(`${name.slice(0, 100)}: is too long`));
    }
    fields.set(name, value);
  });
  for (const limit of ["filesLimit", "fieldsLimit", "partsLimit"] as const) {
    parser.on(limit, () => parser.destroy(new InvalidRequestError("the form has too many parts")));
  }
  const parsed = pipeline(source, parser).then(
    () => part.reject(new InvalidRequestError("file: the form has no such part")),
    (error: unknown) => {
      const problem = readable(error);
      part.reject(problem);
      // The parser forgets a file that it was in the middle of.
      receiving?.destroy(problem);
      throw problem;
    },
  );
  // Whoever awaits it learns of it; until then it must not count as unhandled.
  parsed.catch(() => undefined);
  const { stream, filename, mimeType } = await part.promise;
  let expiresInSeconds: number | undefined;
  const complete = async () => {
    await parsed;
    expiresInSeconds = parse(FileUploadFields, Object.fromEntries(fields)).expires_in_seconds;
  };
  const blob = await blobs.put(c.get("principal").workspaceId, contentOf(stream, complete));
  return { filename, mimeType, expiresInSeconds, blob };
}

/** The file's bytes; ends only after `complete`, and fails with it. */
async function* contentOf(
  stream: BusboyFileStream,
  complete: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw readable(error);
  }
  if (stream.truncated) {
    throw new RequestTooLargeError(`file: is larger than ${FILE_BYTES_MAX} bytes`);
  }
  await complete();
}

function openParser(c: AppContext) {
  const contentType = c.req.header("content-type") ?? "";
  if (!/^multipart\/form-data\s*;/i.test(contentType)) {
    throw new InvalidRequestError("content-type: an upload must be multipart/form-data");
  }
  if (Number(c.req.header("content-length") ?? 0) > FILE_BYTES_MAX + BOUNDARY_SLACK) {
    throw new RequestTooLargeError(`file: is larger than ${FILE_BYTES_MAX} bytes`);
  }
  try {
    return new Busboy({
      headers: { "content-type": contentType },
      // A part named `file` is one whatever else it lacks.
      isPartAFile: (name, _type, filename) => name === "file" || filename !== undefined,
      limits: {
        files: 1,
        fields: FIELDS_MAX,
        fieldSize: FIELD_BYTES_MAX,
        fileSize: FILE_BYTES_MAX,
        parts: FIELDS_MAX + 1,
      },
    });
  } catch (cause) {
    throw new InvalidRequestError("content-type: the form has no usable boundary", { cause });
  }
}

/** Node's own request where there is one: a web stream around it costs time and memory. */
function sourceOf(c: AppContext): Readable {
  const incoming = c.env?.incoming;
  if (incoming !== undefined) return incoming;
  const { body } = c.req.raw;
  return body === null ? Readable.from([]) : Readable.fromWeb(body);
}

/** What goes wrong while a body is read is its sender's doing. */
function readable(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error;
  return new InvalidRequestError("the form is malformed or was cut off", { cause: error });
}
