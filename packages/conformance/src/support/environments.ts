import type { APIError } from "@anthropic-ai/sdk";
import type { Target } from "../target.ts";
import { refused } from "./expect.ts";
import type { Environment } from "./fixtures.ts";

type Environments = Target["client"]["beta"]["environments"];
type CreateParams = Parameters<Environments["create"]>[0];
type UpdateParams = Parameters<Environments["update"]>[1];

export const NO_PACKAGES = {
  type: "packages",
  apt: [],
  cargo: [],
  gem: [],
  go: [],
  npm: [],
  pip: [],
};
export const UNRESTRICTED = { type: "unrestricted" };

/** A new environment with any fields, also ones that the client's types forbid. */
export async function environmentWith(t: Target, fields: object): Promise<Environment> {
  const params = { name: t.unique("environment"), ...fields } as CreateParams;
  return await t.client.beta.environments.create(params);
}

/** Expects that none is made of these fields, with a 400 that names what is wrong. */
export async function noEnvironmentWith(
  t: Target,
  fields: object,
  says: RegExp,
): Promise<APIError> {
  const expected = { status: 400, type: "invalid_request_error", says };
  return await refused(environmentWith(t, fields), expected);
}

/** One with a cloud config of these parts. */
export function cloud(parts: object = {}) {
  return { config: { type: "cloud", ...parts } };
}

export async function updatedEnvironment(
  t: Target,
  { id }: Environment,
  fields: object,
): Promise<Environment> {
  return await t.client.beta.environments.update(id, fields as UpdateParams);
}
