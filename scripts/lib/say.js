/** One line for the person or the log that follows a script. */
export function say(text) {
  process.stdout.write(`${text}\n`);
}

/** A stage's heading, easy to find in a long log. */
export function heading(text) {
  say(`\n── ${text} ${"─".repeat(Math.max(3, 76 - text.length))}`);
}

/** Ends the script with one sentence that says what is missing and what to do. */
export function giveUp(sentence) {
  process.stderr.write(`${sentence}\n`);
  process.exit(1);
}
