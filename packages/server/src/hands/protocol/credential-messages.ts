import { CredentialAuth, type CredentialValidation } from "@drover/api";
import { z } from "zod";

/** What hands ask of servers for the credentials of sessions, and what servers say. See `CredentialBroker`. */

const Id = z.string().min(1).max(256);
const Text = z.string().max(4_096);
const Host = z.string().min(1).max(255);
const Sealed = z
  .string()
  .min(1)
  .max(256 * 1024);

const SessionMessage = z.strictObject({
  workspaceId: Id,
  sessionId: Id,
  grant: z.string().min(1).max(1_024),
});
const UseMessage = z.strictObject({
  id: Id,
  host: Host,
  purpose: z.enum(["egress", "mcp", "git"]),
});
const TicketMessage = z.strictObject({
  workspace_id: Id,
  vault_id: Id,
  id: Id,
  ticket: z.string().min(1).max(1_024),
});
const ClaimFields = { credential: TicketMessage, claim_id: Id };

const QuestionMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("offers"), session: SessionMessage }),
  z.strictObject({ type: z.literal("release"), session: SessionMessage, use: UseMessage }),
  z.strictObject({
    type: z.literal("used"),
    session: SessionMessage,
    use: UseMessage,
    requests: z.int().nonnegative(),
  }),
  z.strictObject({
    type: z.literal("claim_refresh"),
    ...ClaimFields,
    is_second_try: z.boolean(),
  }),
  z.strictObject({
    type: z.literal("store_refresh"),
    ...ClaimFields,
    secrets: z.record(z.string().max(64), Sealed),
    expires_at: z.iso.datetime({ precision: 3 }).nullable(),
  }),
  z.strictObject({ type: z.literal("end_refresh"), ...ClaimFields, is_refused: z.boolean() }),
]);

/** Questions that no server has taken. */
export const QuestionsAnswer = z.strictObject({
  questions: z.array(z.strictObject({ id: Id, question: QuestionMessage })),
});

const CredentialPlace = { credential_id: Id, vault_id: Id };

const OfferMessage = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("environment_variable"),
    ...CredentialPlace,
    secret_name: z.string().min(1).max(1_024),
    placeholder: z.string().min(1).max(256),
    allowed_hosts: z.array(Host).max(64).nullable(),
    injection_location: z.strictObject({ header: z.boolean(), body: z.boolean() }),
    binding: z
      .strictObject({
        methods: z.array(z.string().max(64)).max(64).exactOptional(),
        paths: z.array(z.string().max(1_024)).max(64).exactOptional(),
      })
      .exactOptional(),
  }),
  ...(["static_bearer", "mcp_oauth"] as const).map((type) =>
    z.strictObject({ type: z.literal(type), ...CredentialPlace, mcp_server_url: Text }),
  ),
  z.strictObject({ type: z.literal("repository"), resource_id: Id, url: Text }),
]);

const SecretMessage = z.strictObject({ sealed: Sealed, binding: Text });

const OAuthAuth = z.custom<Extract<CredentialAuth, { type: "mcp_oauth" }>>(
  (value) => CredentialAuth.safeParse(value).data?.type === "mcp_oauth",
);

export const OAuthMessage = z.strictObject({
  ticket: TicketMessage,
  auth: OAuthAuth,
  secrets: z.record(z.string().max(64), SecretMessage),
});

/** What a server says to one question. */
export const AnswerMessage = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("offers"), offers: z.array(OfferMessage).max(4_000) }),
  z.strictObject({ type: z.literal("secret"), secret: SecretMessage }),
  z.strictObject({ type: z.literal("oauth"), credential: OAuthMessage }),
  z.strictObject({ type: z.literal("claimed"), credential: OAuthMessage }),
  z.strictObject({ type: z.literal("busy") }),
  z.strictObject({ type: z.literal("stored"), is_current: z.boolean() }),
  z.strictObject({ type: z.literal("noted") }),
  z.strictObject({ type: z.literal("refused"), message: Text }),
]);

const Verdict = z.custom<Pick<CredentialValidation, "status" | "mcp_probe" | "refresh">>(
  (value) => typeof value === "object" && value !== null && "status" in value,
);

/** What came of trying a credential. */
export const TrialAnswer = z.strictObject({
  type: z.literal("verdict"),
  verdict: Verdict,
  problems: z.array(Text),
});

/** More than a session may have. */
const MOVES_MAX = 1_000;

export const CarryMessage = z.strictObject({
  moves: z
    .array(z.strictObject({ sealed: Sealed, from: Text, to: Text }))
    .min(1)
    .max(MOVES_MAX),
});
export const CarryAnswer = z.strictObject({ sealed: z.array(Sealed).max(MOVES_MAX) });
