import { z } from "zod";
import { type Operation, object } from "../operation.ts";

/** What is said of the process itself, without a key. */
export const Health = z.object({
  status: z.enum(["ok", "unavailable"]),
  message: z.string().optional(),
});

export const serverOperations: readonly Operation[] = [
  { id: "health", method: "GET", path: "/health", answer: object(Health), isPublic: true },
  { id: "ready", method: "GET", path: "/ready", answer: object(Health), isPublic: true },
  {
    id: "openapi",
    method: "GET",
    path: "/openapi.json",
    answer: object(z.looseObject({ openapi: z.string() })),
    isPublic: true,
  },
];
