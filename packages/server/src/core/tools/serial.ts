/** Tools that share one shell: their calls run one after another, in the order of the response. */
const SERIAL_TOOLS: ReadonlySet<string> = new Set(["bash"]);

export function isSerialTool(name: string): boolean {
  return SERIAL_TOOLS.has(name);
}
