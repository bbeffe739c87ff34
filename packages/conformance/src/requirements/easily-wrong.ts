import { requirements } from "../requirement.ts";

/** Sentences of §20 that no other area has under its own name. */
export const easilyWrong = requirements({
  "wrong.15.omitted": [
    "20.15",
    "Absent, not null: fields of session.updated that did not change, evaluated_permission, session_thread_id.",
  ],
  "wrong.16.usage": [
    "20.16",
    "Figures of usage are absent until they are tracked, and numbers then.",
  ],
  "wrong.22.system-message": [
    "20.22",
    "A system.message is not allowed among a session's initial events.",
  ],
  "wrong.34.primary-thread": [
    "20.34",
    "The primary thread exists from the start and emits its own thread status events first.",
  ],
});
