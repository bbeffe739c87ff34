import type Anthropic from "@anthropic-ai/sdk";
import type { Target, WireAnswer } from "../target.ts";
import { assertRefused } from "./expect.ts";

type Skills = Anthropic["beta"]["skills"];
export type Skill = Awaited<ReturnType<Skills["create"]>>;
export type SkillVersion = Awaited<ReturnType<Skills["versions"]["create"]>>;

export type Contents = Readonly<Record<string, string | Uint8Array<ArrayBuffer>>>;

/** SKILL.md with frontmatter. */
export function document(name = "my-skill", description = "Does what it is made for."): string {
  return `---\nname: ${name}\ndescription: ${description}\n---\n# How to\n`;
}

export const DOCUMENT = { "my-skill/SKILL.md": document() };

/** The contents as files that the official client sends under their paths. */
export function filesOf(contents: Contents): File[] {
  return Object.entries(contents).map(([path, content]) => new File([content], path));
}

export async function newSkill(t: Target, contents: Contents = DOCUMENT): Promise<Skill> {
  return await t.client.beta.skills.create({ files: filesOf(contents) });
}

export async function newVersion(
  t: Target,
  { id }: Pick<Skill, "id">,
  description: string,
): Promise<SkillVersion> {
  const contents = { "my-skill/SKILL.md": document("my-skill", description) };
  return await t.client.beta.skills.versions.create(id, { files: filesOf(contents) });
}

/** A form as it is, with parts and fields that the official client would not send. */
export function formOf(
  contents: Contents,
  fields: Readonly<Record<string, string>> = {},
  part = "files[]",
): FormData {
  const form = new FormData();
  for (const file of filesOf(contents)) form.append(part, file);
  for (const [name, value] of Object.entries(fields)) form.append(name, value);
  return form;
}

export async function sendSkill(t: Target, body: FormData): Promise<WireAnswer> {
  return await t.request("POST", "/v1/skills", { body });
}

/** Expects that nothing is made of the form, with a 400 or 413 that names the files or the field. */
export async function noSkillOf(
  t: Target,
  body: FormData,
  says: RegExp = /^(.*: )?files/,
  status = 400,
): Promise<void> {
  assertRefused(await sendSkill(t, body), { status, says });
}
