import { gzipSync } from "node:zlib";
import { type Scenario, scenario } from "../scenario.ts";
import { type Member, tarOf, zipOf } from "../support/archives.ts";
import { accepted } from "../support/expect.ts";
import { DOCUMENT, document, formOf, noSkillOf, sendSkill } from "../support/skills.ts";
import type { Target } from "../target.ts";

const SKILL: Member = { name: "my-skill/SKILL.md", content: document() };

const zipForm = (...members: readonly Member[]) => formOf({ "a.zip": zipOf([SKILL, ...members]) });
const tarForm = (...members: readonly Member[]) => formOf({ "a.tar": tarOf([SKILL, ...members]) });

/** The neighbour of everything that is refused. */
async function acceptsHarmless(t: Target): Promise<void> {
  const member = { name: "my-skill/docs/..a.txt", content: "12345" };
  accepted(await sendSkill(t, zipForm(member)));
  accepted(await sendSkill(t, tarForm(member)));
}

const HOSTILE_NAMES = [
  "my-skill/../../etc/passwd",
  "../my-skill/x",
  "my-skill/./x",
  "/etc/passwd",
  "C:/x",
  "C:x",
  "my-skill\\x",
  "my-skill//x",
  "my-skill/ /x",
  "my-skill/a\u0007b",
  "my-skill/a\nb",
  "my-skill/\u202etxt.exe",
];

/** Archives that are made to do harm. */
export const skillArchives: readonly Scenario[] = [
  scenario(
    "an archive with a name that is none is refused whole",
    { verifies: ["skills.archive.names", "skills.archive.parts"], rows: [112] },
    async (t) => {
      await acceptsHarmless(t);
      for (const name of HOSTILE_NAMES) {
        await noSkillOf(t, zipForm({ name, content: "x" }));
        await noSkillOf(t, tarForm({ name, content: "x" }));
        // A form's header cannot hold a line break.
        if (!name.includes("\n")) await noSkillOf(t, formOf({ ...DOCUMENT, [name]: "x" }));
      }
      await noSkillOf(t, zipForm({ name: "my-skill/a\0b" }));
      await noSkillOf(t, zipForm({ name: `my-skill/${"x".repeat(256)}` }));
      await noSkillOf(t, zipForm({ name: `my-skill/${"x/".repeat(40)}x` }));
      await noSkillOf(t, zipForm({ name: `my-skill/${"long-name/".repeat(110)}x` }));
    },
  ),

  scenario(
    "an archive with anything but files and folders is refused whole",
    { verifies: ["skills.archive.kinds"], rows: [112] },
    async (t) => {
      await acceptsHarmless(t);
      accepted(await sendSkill(t, zipForm({ name: "my-skill/docs/", mode: 0o040755 })));
      accepted(await sendSkill(t, tarForm({ name: "my-skill/docs/", type: "5" })));
      for (const type of [0o120777, 0o060600, 0o020600, 0o010600, 0o140600]) {
        await noSkillOf(t, zipForm({ name: "my-skill/x", mode: type, content: "/etc/passwd" }));
      }
      for (const type of ["1", "2", "3", "4", "6"]) {
        await noSkillOf(t, tarForm({ name: "my-skill/x", type }));
      }
    },
  ),

  scenario(
    "an archive with names that fall together is refused whole",
    { verifies: ["skills.archive.collisions"], rows: [112] },
    async (t) => {
      const pairs = [
        ["my-skill/a", "my-skill/a"],
        ["my-skill/README", "my-skill/readme"],
        ["my-skill/\u00e9", "my-skill/e\u0301"],
        ["my-skill/Docs/a", "my-skill/docs/b"],
        ["my-skill/a", "my-skill/a/b"],
        ["my-skill/a/b", "my-skill/A"],
      ].map((names) => names.map((name) => ({ name, content: "x" })));
      accepted(await sendSkill(t, zipForm({ name: "my-skill/a" }, { name: "my-skill/b/a" })));
      for (const pair of pairs) {
        await noSkillOf(t, zipForm(...pair));
        await noSkillOf(t, tarForm(...pair));
      }
      await noSkillOf(t, zipForm(SKILL));
    },
  ),

  scenario(
    "an archive that is encrypted, lies, or is cut off is refused whole",
    {
      verifies: ["skills.archive.encrypted", "skills.archive.lies", "skills.archive.broken"],
      rows: [112],
    },
    async (t) => {
      await acceptsHarmless(t);
      const member = { name: "my-skill/a", content: "12345" };
      await noSkillOf(t, zipForm({ ...member, isEncrypted: true }));
      for (const lie of [{ size: 4 }, { size: 6 }, { checksum: 1 }]) {
        await noSkillOf(t, zipForm({ ...member, ...lie }));
      }
      await noSkillOf(t, tarForm({ ...member, size: 100_000 }));
      const whole = { zip: zipOf([SKILL]), tar: tarOf([SKILL]), tgz: gzipSync(tarOf([SKILL])) };
      for (const [kind, bytes] of Object.entries(whole)) {
        for (const part of [0.1, 0.5, 0.9]) {
          const cut = new Uint8Array(bytes.subarray(0, Math.floor(bytes.length * part)));
          await noSkillOf(t, formOf({ [`a.${kind}`]: cut }));
        }
      }
      for (const none of ["", "PK", "text", "\x1f\x8btext", "7z\xbc\xaf"]) {
        const bytes = new Uint8Array(Buffer.from(none, "latin1"));
        await noSkillOf(t, formOf({ "a.zip": bytes }));
      }
      await noSkillOf(t, formOf({ "a.zip": zipOf([]) }));
    },
  ),

  scenario(
    "a bomb is refused whole, by its size and by its count",
    { verifies: ["skills.archive.bombs"], rows: [112] },
    async (t) => {
      const half = { name: "my-skill/a", content: "0".repeat(500_000) };
      accepted(await sendSkill(t, zipForm(half)));
      const zeros = { name: "my-skill/a", content: new Uint8Array(20_000_000) };
      await noSkillOf(t, zipForm(zeros));
      const tgz = new Uint8Array(gzipSync(tarOf([SKILL, zeros])));
      await noSkillOf(t, formOf({ "a.tgz": tgz }));
      const many = (count: number, content: string) =>
        Array.from({ length: count }, (_, at) => ({ name: `my-skill/${at}`, content }));
      await noSkillOf(t, zipForm(...many(400, "0".repeat(99_000))), /files/, 413);
      accepted(await sendSkill(t, zipForm(...many(100, ""))));
      await noSkillOf(t, zipForm(...many(5_000, "")));
      await noSkillOf(t, tarForm(...many(5_000, "")));
    },
  ),
];
