/** Jobs that take turns: one begins when those before it have ended, even if they failed. */

/** Return a function that does a job in its turn. */
export function inTurns(job: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve();
  return () => (last = last.catch(() => undefined).then(job));
}
