import type { EnvironmentConfig, SessionAgent, SessionCreateParams } from "@drover/api";
import { delegates, type EffectiveAgent } from "../agents/session-agent.ts";

/**
 * What of a new session this version cannot honour, each as a phrase that names it; empty if it can
 * run. Whoever asked for a limit or a question must not get a session that silently goes without. What
 * a session can do without is accepted, and shown by `unhonouredParts`.
 */
export function unsupportedParts(
  agent: EffectiveAgent | SessionAgent,
  environment: EnvironmentConfig,
  params: Pick<SessionCreateParams, "initial_events">,
): string[] {
  return [
    ...unsupportedAgentParts(agent),
    ...unsupportedEnvironmentParts(environment),
    ...unsupportedParamParts(params),
  ];
}

/** The agent's own part, also for changes to a session's agent. */
export function unsupportedAgentParts(agent: EffectiveAgent | SessionAgent): string[] {
  return [
    ...(delegates(agent.multiagent) ? [`agent.multiagent of type ${agent.multiagent?.type}`] : []),
    ...(agent.model.inference_geo === undefined ? [] : ["agent.model.inference_geo"]),
    ...(agent.execution_identity.type === "service_account"
      ? []
      : [`agent.execution_identity of type ${agent.execution_identity.type}`]),
  ];
}

function unsupportedEnvironmentParts(environment: EnvironmentConfig): string[] {
  if (environment.type === "self_hosted") return ["an environment of type self_hosted"];
  return [];
}

function unsupportedParamParts(params: Pick<SessionCreateParams, "initial_events">): string[] {
  return (params.initial_events ?? []).flatMap(({ type }, index) =>
    type === "user.message" ? [] : [`initial_events.${index} of type ${type}`],
  );
}
