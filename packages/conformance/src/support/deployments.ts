import type { APIError } from "@anthropic-ai/sdk";
import type { Target } from "../target.ts";
import { refused } from "./expect.ts";
import { sharedAgent, sharedEnvironment } from "./fixtures.ts";
import { message } from "./turns.ts";

type Deployments = Target["client"]["beta"]["deployments"];
type CreateParams = Parameters<Deployments["create"]>[0];
type UpdateParams = Parameters<Deployments["update"]>[1];

export type Deployment = Awaited<ReturnType<Deployments["create"]>>;

/** Why no scenario about them can pass yet. */
export const NO_DEPLOYMENTS = "deployments and their runs are not built yet: they answer 501";

/** A new deployment with any fields, also ones that the client's types forbid; undefined leaves one out. */
export async function deploymentWith(t: Target, fields: object = {}): Promise<Deployment> {
  const params = {
    name: t.unique("deployment"),
    agent: (await sharedAgent(t)).id,
    environment_id: (await sharedEnvironment(t)).id,
    initial_events: [message("go")],
    ...fields,
  };
  return await t.client.beta.deployments.create(params as CreateParams);
}

export async function noDeploymentWith(t: Target, fields: object, says: RegExp): Promise<APIError> {
  const expected = { status: 400, type: "invalid_request_error", says };
  return await refused(deploymentWith(t, fields), expected);
}

export async function updatedDeployment(
  t: Target,
  { id }: Deployment,
  fields: object,
): Promise<Deployment> {
  return await t.client.beta.deployments.update(id, fields as UpdateParams);
}

export async function notUpdatedDeployment(
  t: Target,
  deployment: Deployment,
  fields: object,
  says: RegExp,
): Promise<APIError> {
  const expected = { status: 400, type: "invalid_request_error", says };
  return await refused(updatedDeployment(t, deployment, fields), expected);
}

export function cron(expression: string, timezone = "UTC") {
  return { schedule: { type: "cron", expression, timezone } };
}
