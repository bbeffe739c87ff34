import { requirements } from "../requirement.ts";
import { ENDPOINTS } from "../support/endpoints.ts";

const answered = ENDPOINTS.map(
  ({ id, method, path }) =>
    [`endpoints.${id}`, ["2", `${method} ${path} is there and answers a right request.`]] as const,
);

export const endpoints = requirements({
  ...Object.fromEntries(answered),
  "endpoints.route-order": ["2", "`/work/poll` and `/work/stats` win over `/work/{work_id}`."],
  "endpoints.unbuilt": [
    "21a",
    "What is not built yet answers 501 by name, with `x-should-retry: false`.",
  ],
  "endpoints.isolation": [
    "1.1",
    "To a key of another workspace nothing is there: a foreign id answers as a made-up one does, lists hold nothing of it.",
  ],
  "endpoints.isolation.references": [
    "1.1",
    "What a request refers to is looked for in the caller's workspace only.",
  ],
  "endpoints.isolation.cursors": ["1.7", "A cursor opens in its own workspace only."],
  "endpoints.read-only": [
    "1.1",
    "A key that may only read is refused with 403 whatever would change something.",
  ],
});
