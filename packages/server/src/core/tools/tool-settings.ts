import type { WebSettings } from "./web-settings.ts";

/** What an agent says of a tool that goes with each call of it: the hands know no agents. */
export type ToolSettings = WebSettings | McpSettings;

/** Which tool of which server a call is for. */
export interface McpSettings {
  readonly type: "mcp";
  readonly server: { readonly name: string; readonly url: string };
  /** As its server calls it. */
  readonly tool: string;
}
