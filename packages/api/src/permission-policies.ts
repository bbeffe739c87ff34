import { z } from "zod";

/** Who decides whether a tool call may run: nobody, the user, or the server (wire §3.1). */
export const PermissionPolicy = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("always_allow") }),
  z.strictObject({ type: z.literal("always_ask") }),
  z.strictObject({ type: z.literal("auto") }),
]);
export type PermissionPolicy = z.infer<typeof PermissionPolicy>;

/** The settings that every tool of a toolset has; absent ones are taken from the toolset's default. */
export const toolSettingsParams = {
  enabled: z.boolean().nullish(),
  permission_policy: PermissionPolicy.nullish(),
};
export const toolSettings = { enabled: z.boolean(), permission_policy: PermissionPolicy };

export const ToolDefaultsParams = z.strictObject(toolSettingsParams);
export const ToolDefaults = z.object(toolSettings);
export type ToolDefaultsParams = z.infer<typeof ToolDefaultsParams>;
export type ToolDefaults = z.infer<typeof ToolDefaults>;
