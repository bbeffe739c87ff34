import type { ServerResponse } from "node:http";
import type { McpSeen } from "./server.ts";

export type OAuthClient =
  | { readonly auth: "none"; readonly id: string }
  | { readonly auth: "basic" | "post"; readonly id: string; readonly secret: string };

interface TokenWorld {
  readonly accessTokens: Set<string>;
  readonly refreshTokens: Set<string>;
  readonly client: OAuthClient | undefined;
}

let count = 0;

/** Exchanges a refresh token for an access token and the next refresh token (RFC 6749 §6). */
export function answerToken(seen: McpSeen, response: ServerResponse, world: TokenWorld): void {
  const form = new URLSearchParams(seen.body);
  if (!isClient(seen, form, world.client)) {
    answer(response, 401, { error: "invalid_client" });
    return;
  }
  const token = form.get("refresh_token") ?? "";
  const isGood = form.get("grant_type") === "refresh_token" && world.refreshTokens.delete(token);
  if (!isGood) {
    answer(response, 400, { error: "invalid_grant", refresh_token: token });
    return;
  }
  count += 1;
  const issued = {
    access_token: `access-${count}-canary`,
    refresh_token: `refresh-${count}-canary`,
  };
  world.accessTokens.add(issued.access_token);
  world.refreshTokens.add(issued.refresh_token);
  answer(response, 200, { ...issued, token_type: "Bearer", expires_in: 3_600 });
}

function isClient(seen: McpSeen, form: URLSearchParams, client: OAuthClient | undefined): boolean {
  if (seen.headers["content-type"] !== "application/x-www-form-urlencoded") return false;
  if (client === undefined) return true;
  const { authorization } = seen.headers;
  switch (client.auth) {
    case "basic": {
      const part = (text: string) => new URLSearchParams({ "": text }).toString().slice(1);
      const pair = `${part(client.id)}:${part(client.secret)}`;
      const isHeader = authorization === `Basic ${Buffer.from(pair).toString("base64")}`;
      return isHeader && !form.has("client_secret");
    }
    case "post":
      return (
        authorization === undefined &&
        form.get("client_id") === client.id &&
        form.get("client_secret") === client.secret
      );
    case "none":
      return (
        authorization === undefined &&
        form.get("client_id") === client.id &&
        !form.has("client_secret")
      );
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}
