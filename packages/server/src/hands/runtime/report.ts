/**
 * Takes notice of something an operator may want to know: a name and plain fields. What writes it
 * where is the composition root's business.
 */
export type Report = (event: string, fields: Readonly<Record<string, unknown>>) => void;
