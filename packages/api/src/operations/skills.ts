import { type Operation, object, page } from "../operation.ts";
import { PageQuery } from "../pagination.ts";
import {
  Skill,
  SkillCreateFields,
  SkillDeleted,
  SkillListQuery,
  SkillVersion,
  SkillVersionCreateFields,
  SkillVersionDeleted,
} from "../skills.ts";

const SKILL = "/v1/skills/{skill_id}";
const VERSIONS = `${SKILL}/versions`;
const VERSION = `${VERSIONS}/{version}`;

export const skillOperations: readonly Operation[] = [
  {
    id: "skills.create",
    method: "POST",
    path: "/v1/skills",
    body: { kind: "form", part: "files[]", fields: SkillCreateFields },
    answer: object(Skill),
  },
  {
    id: "skills.list",
    method: "GET",
    path: "/v1/skills",
    query: SkillListQuery,
    answer: page(Skill),
  },
  { id: "skills.retrieve", method: "GET", path: SKILL, answer: object(Skill) },
  { id: "skills.delete", method: "DELETE", path: SKILL, answer: object(SkillDeleted) },
  {
    id: "skills.versions.create",
    method: "POST",
    path: VERSIONS,
    body: { kind: "form", part: "files[]", fields: SkillVersionCreateFields },
    answer: object(SkillVersion),
  },
  {
    id: "skills.versions.list",
    method: "GET",
    path: VERSIONS,
    query: PageQuery,
    answer: page(SkillVersion),
  },
  { id: "skills.versions.retrieve", method: "GET", path: VERSION, answer: object(SkillVersion) },
  {
    id: "skills.versions.delete",
    method: "DELETE",
    path: VERSION,
    answer: object(SkillVersionDeleted),
  },
  {
    id: "skills.versions.download",
    method: "GET",
    path: `${VERSION}/content`,
    answer: { kind: "bytes" },
  },
];
