import { testBlobs } from "../core/ports/blobs.testsuite.ts";
import { MemoryBlobs } from "./memory-blobs.ts";

testBlobs(async () => ({
  blobs: new MemoryBlobs(),
  [Symbol.asyncDispose]: async () => undefined,
}));
