import assert from "node:assert/strict";
import { test } from "node:test";

import { inTurns } from "../src/turns";

test("a job begins when the one before it has ended", async () => {
  const seen: string[] = [];
  const job = inTurns(async () => {
    seen.push("begins");
    await new Promise((done) => setTimeout(done, 5));
    seen.push("ends");
  });
  await Promise.all([job(), job()]);
  assert.deepEqual(seen, ["begins", "ends", "begins", "ends"]);
});

test("a job that fails keeps none from its turn", async () => {
  let times = 0;
  const job = inTurns(async () => {
    times += 1;
    throw new Error("no");
  });
  await assert.rejects(job());
  await assert.rejects(job());
  assert.equal(times, 2);
});
