import { z } from "zod";
import { pageQuery } from "./pagination.ts";
import { text } from "./text.ts";

/** Skills and their versions (wire §11). */

const displayNameMax = 255;

const SkillSource = z.enum(["custom", "anthropic", "anthropic_example", "plugin"]);

export const Skill = z.object({
  id: z.string(),
  type: z.literal("skill"),
  display_name: z.string(),
  /** What `latest` means; there always is one. */
  latest_version_id: z.string(),
  source: z.object({ type: SkillSource }),
  created_at: z.string(),
  updated_at: z.string(),
});

export const SkillVersion = z.object({
  id: z.string(),
  type: z.literal("skill_version"),
  skill_id: z.string(),
  /** The skill's slug, the same in all versions. */
  name: z.string(),
  /** From SKILL.md. */
  description: z.string(),
  created_at: z.string(),
});

export const SkillDeleted = z.object({ id: z.string(), type: z.literal("skill_deleted") });
export const SkillVersionDeleted = z.object({
  id: z.string(),
  type: z.literal("skill_version_deleted"),
});

export const SkillListQuery = z.strictObject({ ...pageQuery, source: SkillSource.optional() });

/** The text fields beside the files of a new skill; an empty one counts as left out. */
export const SkillCreateFields = z.strictObject({
  display_name: text(displayNameMax)
    .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, "must be a single line")
    .transform((name) => name.trim() || undefined)
    .optional(),
});

/** A new version has files alone. */
export const SkillVersionCreateFields = z.strictObject({});

export type Skill = z.infer<typeof Skill>;
export type SkillVersion = z.infer<typeof SkillVersion>;
export type SkillDeleted = z.infer<typeof SkillDeleted>;
export type SkillVersionDeleted = z.infer<typeof SkillVersionDeleted>;
export type SkillListQuery = z.infer<typeof SkillListQuery>;
export type SkillCreateFields = z.infer<typeof SkillCreateFields>;
