import type { SessionResource } from "@drover/api";
import type { MemoryMount } from "../ports/hands.ts";
import { mountPathOf } from "./mount-path.ts";

/** What a sandbox is shown of the memory stores among the resources. */
export function memoryMountsOf(resources: readonly SessionResource[]): readonly MemoryMount[] {
  return resources.flatMap((resource) => {
    if (resource.type !== "memory_store") return [];
    return [
      {
        type: "memory_store",
        mount_path: resource.mount_path ?? mountPathOf(resource.name ?? ""),
        memory_store_id: resource.memory_store_id,
        access: resource.access ?? "read_write",
      },
    ];
  });
}
