import type { Policies } from "../core/harness/policies.ts";
import type { FindModel } from "../core/models/offered-models.ts";
import type { Announcements } from "../core/ports/announcements.ts";
import type { Blobs } from "../core/ports/blobs.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Hands } from "../core/ports/hands.ts";
import type { McpListing, McpServers } from "../core/ports/mcp-servers.ts";
import type { MemoryCopies } from "../core/ports/memory-copies.ts";
import type { Model } from "../core/ports/model.ts";
import type { SessionRecord } from "../core/ports/sessions.ts";
import type { Store } from "../core/ports/store.ts";
import type { PriceList } from "../core/pricing/price-list.ts";
import type { OfferedTool } from "../core/tools/offered-tools.ts";
import type { FailPoint } from "../lib/fail-point.ts";
import type { SandboxFirst } from "./sandbox-first.ts";

/** What a driver works with. Nothing in it is a session's: any driver can go on with any session. */
export interface DriveDeps {
  readonly store: Store;
  /** Where the content of files is. */
  readonly blobs: Pick<Blobs, "get">;
  readonly hands: Hands;
  readonly memoryCopies: MemoryCopies;
  readonly mcpServers: McpServers;
  readonly model: Model;
  /** What is known of a model: its limits, prices and abilities. */
  readonly findModel: FindModel;
  readonly announcements: Announcements;
  readonly clock: Clock;
  readonly policies: Policies;
  readonly prices: PriceList;
  /** The tools that the session's agent may use; those of MCP servers as far as they are listed. */
  readonly toolsOf: (session: SessionRecord, listing?: McpListing) => readonly OfferedTool[];
  /** By what hands may ask for the session's credentials; undefined for one that has none. */
  readonly grantOf: (session: SessionRecord) => string | undefined;
  /** The model that judges calls under `auto`; undefined for the session's own. */
  readonly judgeModel?: string;
  /** Only where a benchmark asks for it. */
  readonly sandboxFirst?: SandboxFirst;
  /** In [0, 1): the jitter of retries. */
  readonly random: () => number;
  readonly newId: (prefix: string) => string;
  /** Where a test may end the process. */
  readonly failPoint: (name: FailPoint) => void;
  readonly log: DriveLog;
}

/** What operators are told; one line an event, fields not prose. */
export interface DriveLog {
  info(fields: Readonly<Record<string, unknown>>, message: string): void;
  error(fields: Readonly<Record<string, unknown>>, message: string): void;
}
