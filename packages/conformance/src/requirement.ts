/** One normative sentence of the contract. */
export interface Requirement {
  /** `<area>.<what>`, stable: scenarios cite it. */
  readonly id: string;
  /** Of the contract, such as `3.2`. */
  readonly section: string;
  /** The sentence, as something a server does. */
  readonly behaviour: string;
}

/** Requirements as data: `{ "agents.model.string": ["3.2", "A model given as a string …"] }`. */
export function requirements(
  sentences: Readonly<Record<string, readonly [section: string, behaviour: string]>>,
): readonly Requirement[] {
  return Object.entries(sentences).map(([id, [section, behaviour]]) => ({
    id,
    section,
    behaviour,
  }));
}
