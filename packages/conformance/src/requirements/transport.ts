import { requirements } from "../requirement.ts";

export const transport = requirements({
  "transport.auth.bearer": ["1.1", "A key is accepted as `Authorization: Bearer <key>`."],
  "transport.auth.unknown-key": [
    "1.1",
    "An unknown key is refused with 401 and the error type authentication_error.",
  ],
});
