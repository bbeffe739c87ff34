import type { FileMount, SkillMount } from "../ports/hands.ts";
import type { SessionRecord } from "../ports/sessions.ts";
import { oneLine } from "./one-line.ts";

/** Files named one by one; the rest is counted. */
const FILES_SHOWN_MAX = 100;
const NAME_LENGTH_MAX = 255;
const MEMORY_FOLDER_LENGTH = "/mnt/memory/".length;
const DESCRIPTION_LENGTH_MAX = 1_024;
const INSTRUCTIONS_LENGTH_MAX = 4_096;

type Resource = SessionRecord["resources"][number];

/** Which files of the user are in the sandbox; no lines if there are none. */
export function fileLines(session: SessionRecord): readonly string[] {
  const files = session.recipe.mounts.filter((mount) => mount.type === "file");
  if (files.length === 0) return [];
  const rest = files.length - FILES_SHOWN_MAX;
  return [
    "Files of the user, read-only:",
    ...files.slice(0, FILES_SHOWN_MAX).map(fileLine),
    ...(rest > 0 ? [`- and ${rest} more below /mnt/session/uploads`] : []),
  ];
}

function fileLine({ mount_path, filename, size_bytes }: FileMount): string {
  const name = filename === undefined ? "" : `${oneLine(filename, NAME_LENGTH_MAX)}, `;
  return `- ${mount_path} (${name}${size_bytes} bytes)`;
}

/** Which skills there are and how they are loaded; no lines if there are none. */
export function skillLines(session: SessionRecord): readonly string[] {
  const skills = session.recipe.mounts.filter((mount) => mount.type === "skill");
  if (skills.length === 0) return [];
  return [
    "Skills are folders of instructions, scripts and other files for certain tasks, read-only. Only",
    "their descriptions are below. When a task fits one, read its SKILL.md with the tool read before",
    "you begin, and follow it; read what it refers to, relative to its folder, when you need it.",
    ...skills.map(skillLine),
  ];
}

/** The description is its author's, who is not trusted with more than a line. */
function skillLine({ mount_path, description }: SkillMount): string {
  const name = mount_path.slice(mount_path.lastIndexOf("/") + 1);
  const text = oneLine(description, DESCRIPTION_LENGTH_MAX);
  return `- ${name}: ${text} (${mount_path}/SKILL.md)`;
}

/** Which repositories are in the sandbox; no lines if there are none. */
export function repositoryLines(session: SessionRecord): readonly string[] {
  const repositories = session.resources.filter(({ type }) => type === "github_repository");
  if (repositories.length === 0) return [];
  return [
    "Git repositories, cloned when the sandbox is made. The sandbox has no credential for them, so that",
    "private ones cannot be fetched again or pushed to from there:",
    ...repositories.map((repository) => {
      const [path, url] = [repository["mount_path"], repository["url"]];
      const at = checkoutText(repository["checkout"]);
      return `- ${oneLine(String(path), NAME_LENGTH_MAX)}: ${oneLine(String(url), NAME_LENGTH_MAX)}${at}`;
    }),
  ];
}

function checkoutText(checkout: unknown): string {
  if (typeof checkout !== "object" || checkout === null) return "";
  if ("name" in checkout) return `, branch ${oneLine(String(checkout.name), NAME_LENGTH_MAX)}`;
  return "sha" in checkout ? `, commit ${oneLine(String(checkout.sha), NAME_LENGTH_MAX)}` : "";
}

/** Which memory stores there are and what they are for; no lines if there are none. */
export function memoryLines(session: SessionRecord): readonly string[] {
  const mounted = mountedPaths(session);
  const stores = session.resources.filter(
    ({ type, mount_path }) => type === "memory_store" && mounted.has(mount_path),
  );
  if (stores.length === 0) return [];
  return [
    "Memory stores are folders that outlast this session and may be shared with others: what you or",
    "others wrote there in earlier sessions is there. Look at them when you begin a task. Keep there,",
    "in files of text of at most 100 KB, what later sessions should know. Each change is stored when",
    "its call ends; the call's result tells what could not be. Others' changes come before a call.",
    ...stores.map(memoryLine),
  ];
}

/** Name, description and instructions are the operator's or client's own, and get no more than a line. */
function memoryLine(store: Resource): string {
  const field = (name: string, max: number) => oneLine(String(store[name] ?? ""), max);
  const access = store["access"] === "read_only" ? "read-only" : "read and write";
  const texts = [
    field("description", DESCRIPTION_LENGTH_MAX),
    field("instructions", INSTRUCTIONS_LENGTH_MAX),
  ].filter((text) => text !== "");
  const path = field("mount_path", NAME_LENGTH_MAX + MEMORY_FOLDER_LENGTH);
  return [`- ${path} (${field("name", NAME_LENGTH_MAX)}; ${access})`, ...texts].join(": ");
}

function mountedPaths({ recipe }: SessionRecord): ReadonlySet<unknown> {
  const stores = recipe.mounts.filter((mount) => mount.type === "memory_store");
  return new Set(stores.map((mount) => mount.mount_path));
}

/** What the session was made with and this version has no way to give it; no lines if that is nothing. */
export function missingLines(session: SessionRecord): readonly string[] {
  const mounted = mountedPaths(session);
  const missing = session.resources
    .filter(({ mount_path }) => !mounted.has(mount_path))
    .flatMap(missingLine);
  if (missing.length === 0) return [];
  return ["The session was made with these, but they are not there in this version:", ...missing];
}

function missingLine(resource: Resource): readonly string[] {
  const field = (name: string, max: number) => oneLine(String(resource[name] ?? ""), max);
  const path = field("mount_path", NAME_LENGTH_MAX);
  switch (resource["type"]) {
    case "memory_store": {
      const parts = [
        field("description", DESCRIPTION_LENGTH_MAX),
        field("instructions", INSTRUCTIONS_LENGTH_MAX),
      ].filter((part) => part !== "");
      const name = field("name", NAME_LENGTH_MAX);
      const access = field("access", NAME_LENGTH_MAX);
      const store = `the memory store ${name} (${access}), which is not mounted`;
      return [`- ${path}: ${[store, ...parts].join(". ")}`];
    }
    default:
      return [];
  }
}
