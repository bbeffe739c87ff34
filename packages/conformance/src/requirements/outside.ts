import { requirements } from "../requirement.ts";

export const outside = requirements({
  "outside.webhooks.delivery": [
    "18",
    "Events are delivered signed, with the same id again on a retry.",
  ],
  "outside.token": [
    "19",
    "The token endpoint gives tokens for an assertion and for a refresh token.",
  ],
  "outside.tunnels": ["15", "Tunnels and their certificates are made, listed and archived."],
  "outside.webhooks.endpoints": [
    "18",
    "A webhook endpoint shows its secret once, and can be given another.",
  ],
});
