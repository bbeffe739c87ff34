import {
  Id,
  Metadata,
  SessionAgent,
  SessionResource,
  SessionStatus,
  text,
  Usage,
} from "@drover/api";
import { z } from "zod";
import { MEDIA_TYPE } from "../files/mime-type.ts";

/**
 * A session as one file: lines of JSON, each an object with one field that says what it is. First `drover`,
 * then `session`, the log's events in their order, each content (in pieces) that its files have, the files,
 * and `end`, by which a file that was cut off is known.
 */

/** Raised with every change that an older server could not read. */
export const FILE_VERSION = 1;

/** Bytes of content in one line, before they are written in base64. */
export const PIECE_BYTES = 48 * 1024;

/** What is never in such a file; it says so itself. */
export const LEFT_OUT = [
  "authorization tokens of repositories and everything else that is secret",
  "input that was not taken up yet",
  "files in the sandbox that are no outputs",
  "the contents of vaults and memory stores",
] as const;

const IdOf = (prefix: string) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_[!-~]{1,120}$`), `must be an id that begins with ${prefix}_`);
const Time = z.iso.datetime({ precision: 3 });
const Sha256 = z.string().regex(/^[0-9a-f]{64}$/, "must be a SHA-256 in lowercase hex");
const Size = z.number().int().min(0);

export const FirstLine = z.strictObject({
  drover: z.literal("session"),
  version: z.number().int(),
  left_out: z.array(z.string()),
});

const content = { mount_path: z.string().max(1024), sha256: Sha256, size_bytes: Size };
const FileMountLine = z.strictObject({
  type: z.literal("file"),
  ...content,
  filename: text(255).exactOptional(),
});
/** Its archive comes along, so it needs no skill to be there where it is imported. */
const SkillMountLine = z.strictObject({
  type: z.literal("skill"),
  ...content,
  mount_path: z
    .string()
    .regex(/^\/mnt\/skills\/(?=.{1,64}$)[a-z0-9]+(?:-[a-z0-9]+)*$/, "must be a skill's place"),
  description: text(1024),
});

export const SessionLine = z.strictObject({
  id: IdOf("sesn"),
  thread_id: IdOf("sthr"),
  status: SessionStatus,
  title: text(2048).nullable(),
  metadata: Metadata,
  environment_id: Id,
  agent: SessionAgent,
  resources: z.array(SessionResource).max(1_000),
  vault_ids: z.array(Id).max(50),
  mounts: z.array(z.discriminatedUnion("type", [FileMountLine, SkillMountLine])).max(1_000),
  totals: z.strictObject({
    usage: Usage,
    stats: z.strictObject({
      active_seconds: z.number().optional(),
      duration_seconds: z.number().optional(),
    }),
  }),
  created_at: Time,
  updated_at: Time,
  archived_at: Time.nullable(),
});

/** The parts that all types of event have; the rest depends on the type. */
export const EventLine = z.strictObject({
  id: IdOf("sevt"),
  type: z.string().max(64),
  thread_id: IdOf("sthr"),
  cross_posted: z.boolean(),
  v: z.number().int().min(1),
  processed_at: Time,
  epoch: z.number().int().min(0).max(1_000_000_000),
  public: z.looseObject({}),
  private: z.looseObject({}),
});

export const ContentLine = z.strictObject({ sha256: Sha256, size_bytes: Size });

export const FileLine = z.strictObject({
  id: IdOf("file"),
  filename: z.string().min(1).max(255),
  mime_type: z.string().regex(MEDIA_TYPE, "must be a media type"),
  size_bytes: Size,
  /** Empty once the content of an expired file is gone. */
  sha256: z.union([Sha256, z.literal("")]),
  created_at: Time,
  expires_at: Time.nullable(),
  downloadable: z.boolean(),
  output_path: z.string().max(4096).nullable(),
});

export const EndLine = z.strictObject({
  events: Size,
  files: Size,
  /** Of all bytes before this line. */
  sha256: Sha256,
});

export const PieceLine = z.base64().min(1);

export type SessionLine = z.infer<typeof SessionLine>;
export type EventLine = z.infer<typeof EventLine>;
export type ContentLine = z.infer<typeof ContentLine>;
export type FileLine = z.infer<typeof FileLine>;
export type EndLine = z.infer<typeof EndLine>;
