import { z } from "zod";

/** What a resolved toolset says of one of its tools. */
export const ToolSetting = z.object({
  enabled: z.boolean(),
  // A policy that this version does not know is not the one that allows without asking.
  permission_policy: z.object({
    type: z.enum(["always_allow", "always_ask", "auto"]).catch("always_ask"),
  }),
});
