import type { ToolEvaluation } from "@drover/api";
import type { Judgement } from "../session/log-event.ts";
import type { OfferedTool } from "../tools/offered-tools.ts";

/** Said where no judge could be asked, or none could tell: then the user is asked. */
export const INDETERMINATE: Judgement = { type: "ask", reason_code: "indeterminate" };

/** Whether a call of the hands' may run, and which policy says so. */
export interface Permission {
  readonly evaluated_permission: "allow" | "ask" | "deny";
  /** Absent where the tool is not the agent's, so that no policy applies. */
  readonly evaluation?: ToolEvaluation;
}

/** The permission of one call of `tool`, which is not the client's; undefined is a tool that the agent does not have. */
export function permissionOf(
  tool: Extract<OfferedTool, { runBy: "hands" | "loop" }> | undefined,
  judgement: Judgement = INDETERMINATE,
): Permission {
  switch (tool?.runBy === "loop" ? "always_allow" : tool?.policy) {
    case undefined:
      return { evaluated_permission: "deny" };
    case "always_allow":
      return { evaluated_permission: "allow", evaluation: { type: "always_allow" } };
    case "always_ask":
      return { evaluated_permission: "ask", evaluation: { type: "always_ask" } };
    case "auto":
      return {
        evaluated_permission: judgement.type,
        evaluation: { type: "auto", evaluated_permission: judgement },
      };
  }
}
