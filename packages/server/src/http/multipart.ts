import { pipeline } from "node:stream/promises";
import { Busboy, type BusboyFileStream } from "@fastify/busboy";
import { InvalidRequestError, PlatformError, RequestTooLargeError } from "../core/errors.ts";
import type { AppContext } from "./context.ts";
import { sourceOf } from "./source.ts";

const FIELDS_MAX = 10;
const FIELD_BYTES_MAX = 1024;
/** Boundaries, headers of parts and fields, beside the files themselves. */
const SLACK_BYTES = 1024 * 1024;

export interface FilePart {
  readonly name: string;
  /** As sent, folders and all. */
  readonly filename: string | undefined;
  readonly mimeType: string | undefined;
  /** Fails with the form if that turns out to be refused or cut off. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

export interface FormOptions<T> {
  /** What the files' part is called, for sentences. */
  readonly field: string;
  readonly filesMax: number;
  /** Of all files together. */
  readonly bytesMax: number;
  /** True for the names that files may have; one with such a name is a file whatever else it lacks. */
  readonly isFile: (name: string) => boolean;
  /**
   * Called with each file as it comes. `fields` resolves when the whole form was read and rejects if
   * it cannot be used, so that a file can be kept back until then.
   */
  readonly take: (part: FilePart, fields: () => Promise<FormFields>) => Promise<T>;
}

export type FormFields = Readonly<Record<string, string>>;

export interface Form<T> {
  /** What `take` made of the files, in their order. */
  readonly files: readonly T[];
  readonly fields: FormFields;
}

/**
 * Reads a multipart form as it streams in. What is refused is read on to its end and forgotten: cut
 * off, its sender would not learn why. The listener cuts off who goes on for long.
 */
export async function readForm<T>(c: AppContext, options: FormOptions<T>): Promise<Form<T>> {
  assertForm(c, options);
  const reading = new Reading(options);
  const parser = openParser(c, options);
  parser.on("file", (name, stream, filename, _encoding, mimeType) => {
    reading.addFile({ name, filename, mimeType }, stream);
  });
  parser.on("field", (name, value, isNameCut, isValueCut) => {
    if (isNameCut || isValueCut) reading.fail(tooLong(name));
    reading.addField(name, value);
  });
  for (const limit of ["filesLimit", "fieldsLimit", "partsLimit"] as const) {
    parser.on(limit, () => reading.fail(new InvalidRequestError("the form has too many parts")));
  }
  pipeline(sourceOf(c), parser).then(
    () => reading.end(),
    (error: unknown) => reading.cut(readable(error)),
  );
  return await reading.form();
}

class Reading<T> {
  readonly #options: FormOptions<T>;
  readonly #fields = new Map<string, string>();
  readonly #taking: Promise<T>[] = [];
  readonly #ended = Promise.withResolvers<FormFields>();
  #current: BusboyFileStream | undefined;
  #problem: Error | undefined;
  #size = 0;

  constructor(options: FormOptions<T>) {
    this.#options = options;
    // Whoever awaits it learns of it; until then it must not count as unhandled.
    this.#ended.promise.catch(() => undefined);
  }

  addField(name: string, value: string): void {
    if (this.#fields.has(name)) this.fail(new InvalidRequestError(`${quoted(name)}: comes twice`));
    this.#fields.set(name, value);
  }

  addFile(part: Omit<FilePart, "bytes">, stream: BusboyFileStream): void {
    this.#current = stream;
    // Without a listener a part that is cut off would end the process; destroyed, it tells its reader.
    stream.on("error", (error) => stream.destroy(error));
    const { field, isFile, take } = this.#options;
    if (!isFile(part.name)) {
      this.fail(
        new InvalidRequestError(`${quoted(part.name)}: unknown part; a file's is named ${field}`),
      );
    }
    if (this.#problem !== undefined) {
      stream.resume();
      return;
    }
    const taken = take({ ...part, bytes: this.#bytesOf(stream) }, () => this.#ended.promise);
    taken.catch((error: Error) => {
      this.fail(error);
      stream.resume();
    });
    this.#taking.push(taken);
  }

  /** The first problem is the one that is told. */
  fail(problem: Error): void {
    this.#problem ??= problem;
  }

  /** The form was read to its end. */
  end(): void {
    if (this.#problem === undefined) this.#ended.resolve(Object.fromEntries(this.#fields));
    else this.#ended.reject(this.#problem);
  }

  /** The form ended before its end. */
  cut(problem: Error): void {
    this.fail(problem);
    this.#ended.reject(this.#problem);
    // The parser forgets a file that it was in the middle of.
    this.#current?.destroy(problem);
  }

  async form(): Promise<Form<T>> {
    try {
      const fields = await this.#ended.promise;
      return { files: await Promise.all(this.#taking), fields };
    } catch (error) {
      await Promise.allSettled(this.#taking);
      throw this.#problem ?? error;
    }
  }

  async *#bytesOf(stream: BusboyFileStream): AsyncGenerator<Uint8Array> {
    const { field, bytesMax } = this.#options;
    try {
      // Left alone when its reader leaves: a destroyed part would keep the parser waiting for ever.
      for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
        this.#size += chunk.byteLength;
        if (this.#size > bytesMax) this.fail(tooLarge(field, bytesMax));
        if (this.#problem !== undefined) throw this.#problem;
        yield chunk;
      }
    } catch (error) {
      throw this.#problem ?? readable(error);
    } finally {
      stream.resume();
    }
  }
}

function openParser(c: AppContext, { filesMax, isFile }: FormOptions<unknown>) {
  try {
    return new Busboy({
      headers: { "content-type": c.req.header("content-type") ?? "" },
      preservePath: true,
      isPartAFile: (name, _type, filename) => filename !== undefined || isFile(name ?? ""),
      limits: {
        files: filesMax,
        fields: FIELDS_MAX,
        fieldSize: FIELD_BYTES_MAX,
        parts: FIELDS_MAX + filesMax,
      },
    });
  } catch (cause) {
    throw new InvalidRequestError("content-type: the form has no usable boundary", { cause });
  }
}

function assertForm(c: AppContext, { field, bytesMax }: FormOptions<unknown>): void {
  if (!/^multipart\/form-data\s*;/i.test(c.req.header("content-type") ?? "")) {
    throw new InvalidRequestError("content-type: an upload must be multipart/form-data");
  }
  if (Number(c.req.header("content-length") ?? 0) > bytesMax + SLACK_BYTES) {
    throw tooLarge(field, bytesMax);
  }
}

/** What goes wrong while a body is read is its sender's doing. */
function readable(error: unknown): PlatformError {
  if (error instanceof PlatformError) return error;
  return new InvalidRequestError("the form is malformed or was cut off", { cause: error });
}

function tooLarge(field: string, bytesMax: number): RequestTooLargeError {
  return new RequestTooLargeError(`${field}: larger than ${bytesMax} bytes`);
}

function tooLong(name: string): InvalidRequestError {
  return new InvalidRequestError(`${quoted(name)}: is too long`);
}

function quoted(name: string | undefined): string {
  return JSON.stringify((name ?? "").slice(0, 100));
}
