/**
 * Something that the person who runs the server can mend. The message is a whole sentence that says
 * what is wrong and what to do; the command line shows it alone, without a stack.
 */
export class OperatorError extends Error {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.name = "OperatorError";
  }
}
