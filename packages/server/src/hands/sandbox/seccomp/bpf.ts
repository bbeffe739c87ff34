/** Classic BPF, as far as a seccomp filter needs it: load a word, compare, mask, return. */

export type BpfStep =
  | { readonly do: "load"; readonly offset: number }
  | { readonly do: "mask"; readonly bits: number }
  /** Goes to `to` if the loaded word stands in the relation, else on with the next step. */
  | {
      readonly do: "jump";
      readonly when: "equal" | "at_least";
      readonly value: number;
      readonly to: string;
    }
  | { readonly do: "goto"; readonly to: string }
  | { readonly do: "return"; readonly value: number }
  | { readonly do: "label"; readonly name: string };

const LOAD_WORD = 0x20;
const AND = 0x54;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ALWAYS = 0x05;
const RETURN = 0x06;
const INSTRUCTION_BYTES = 8;
/** The kernel's BPF_MAXINSNS. */
const INSTRUCTIONS_MAX = 4096;

/**
 * The program as the kernel takes it: `struct sock_filter[]`, little endian. Conditional jumps are made
 * of two instructions, so that no distance is limited to 255. Throws for unknown labels and jumps back.
 */
export function assembleBpf(steps: readonly BpfStep[]): Uint8Array {
  const labels = new Map<string, number>();
  let length = 0;
  for (const step of steps) {
    if (step.do === "label") labels.set(step.name, length);
    else length += step.do === "jump" ? 2 : 1;
  }
  if (length > INSTRUCTIONS_MAX) throw new Error(`a filter of ${length} instructions is too long`);

  const program: Instruction[] = [];
  for (const step of steps) program.push(...instructions(step, program.length, labels));
  const bytes = new DataView(new ArrayBuffer(length * INSTRUCTION_BYTES));
  for (const [index, { code, ifTrue, ifFalse, value }] of program.entries()) {
    const at = index * INSTRUCTION_BYTES;
    bytes.setUint16(at, code, true);
    bytes.setUint8(at + 2, ifTrue);
    bytes.setUint8(at + 3, ifFalse);
    bytes.setUint32(at + 4, value >>> 0, true);
  }
  return new Uint8Array(bytes.buffer);
}

interface Instruction {
  readonly code: number;
  readonly ifTrue: number;
  readonly ifFalse: number;
  readonly value: number;
}

function instructions(
  step: BpfStep,
  at: number,
  labels: ReadonlyMap<string, number>,
): Instruction[] {
  switch (step.do) {
    case "load":
      return [{ code: LOAD_WORD, ifTrue: 0, ifFalse: 0, value: step.offset }];
    case "mask":
      return [{ code: AND, ifTrue: 0, ifFalse: 0, value: step.bits }];
    case "return":
      return [{ code: RETURN, ifTrue: 0, ifFalse: 0, value: step.value }];
    case "goto":
      return [jumpAlways(step.to, at, labels)];
    case "jump": {
      const code = step.when === "equal" ? JUMP_EQUAL : JUMP_AT_LEAST;
      const compare = { code, ifTrue: 0, ifFalse: 1, value: step.value };
      return [compare, jumpAlways(step.to, at + 1, labels)];
    }
    case "label":
      return [];
  }
}

function jumpAlways(label: string, at: number, labels: ReadonlyMap<string, number>): Instruction {
  const target = labels.get(label);
  if (target === undefined) throw new Error(`there is no label ${label}`);
  if (target <= at) throw new Error(`the label ${label} lies behind`);
  return { code: JUMP_ALWAYS, ifTrue: 0, ifFalse: 0, value: target - at - 1 };
}
