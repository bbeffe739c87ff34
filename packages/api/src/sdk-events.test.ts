import type * as sdk from "@anthropic-ai/sdk/resources/beta/sessions/events";
import type { BetaManagedAgentsStreamSessionThreadEvents } from "@anthropic-ai/sdk/resources/beta/sessions/threads/threads";
import { expectTypeOf, test } from "vitest";
import type { z } from "zod";
import type * as api from "./index.ts";

/** Checked by the compiler: the official client's types are the contract. */

type Body<T> = Omit<T, "betas" | "workspace_id">;
/** Clients may send `redacted` by type, but the contract refuses it. */
type SentMessage = Omit<sdk.BetaManagedAgentsUserMessageEventParams, "content"> & {
  content: Exclude<
    sdk.BetaManagedAgentsUserMessageEventParams["content"][number],
    sdk.BetaManagedAgentsRedactedBlock
  >[];
};
type SentEvent =
  | Exclude<sdk.BetaManagedAgentsEventParams, sdk.BetaManagedAgentsUserMessageEventParams>
  | SentMessage;

type SdkEvent = sdk.BetaManagedAgentsStreamSessionEvents;
type Type = api.StreamEvent["type"];
type Ours<T extends Type> = Extract<api.StreamEvent, { type: T }>;
type Theirs<T extends Type> = Extract<SdkEvent, { type: T }>;
/** The categories of refusals are open: a model's new one is passed on. */
type Categorised<Event> = Event extends { stop_details: unknown }
  ? Omit<Event, "stop_details"> & Pick<sdk.BetaManagedAgentsSessionStatusIdleEvent, "stop_details">
  : Event;

/** The types of which an event is not what the official client reads. */
type Unreadable = {
  [T in Type]: Categorised<Ours<T>> extends Theirs<T> ? never : T;
}[Type];
/** The types of which the official client knows a field that the schema has not, or the reverse. */
type OtherFields = {
  [T in Type]: keyof Ours<T> | keyof Theirs<T> extends keyof Ours<T> & keyof Theirs<T> ? never : T;
}[Type];
/** The types of which the schema has no room for all that the official client reads. */
type Narrower = {
  [T in Type]: Theirs<T> extends Ours<T> ? never : T;
}[Type];

test("the events that the official client can send are what the schemas read", () => {
  expectTypeOf<SentEvent>().toExtend<z.input<typeof api.ClientEventParams>>();
  expectTypeOf<Omit<Body<sdk.EventSendParams>, "events"> & { events: SentEvent[] }>().toExtend<
    z.input<typeof api.EventSendParams>
  >();
});

test("there is a schema for each event of the official client, and for no other", () => {
  expectTypeOf<api.SessionEvent["type"]>().toEqualTypeOf<
    sdk.BetaManagedAgentsSessionEvent["type"]
  >();
  expectTypeOf<Type>().toEqualTypeOf<SdkEvent["type"]>();
  expectTypeOf<Type>().toEqualTypeOf<BetaManagedAgentsStreamSessionThreadEvents["type"]>();
  type Echo = NonNullable<sdk.BetaManagedAgentsSendSessionEvents["data"]>[number];
  expectTypeOf<api.ClientEvent["type"]>().toEqualTypeOf<Echo["type"]>();
});

test("each event is what the official client reads, field for field", () => {
  expectTypeOf<Unreadable>().toBeNever();
  expectTypeOf<OtherFields>().toBeNever();
  expectTypeOf<Narrower>().toBeNever();
});

test("what events are made of is what the official client reads", () => {
  expectTypeOf<api.SessionUsage>().toEqualTypeOf<sdk.BetaManagedAgentsSessionUsageSnapshot>();
  expectTypeOf<api.SpanModelUsage>().toEqualTypeOf<sdk.BetaManagedAgentsSpanModelUsage>();
});
