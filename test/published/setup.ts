import { appendFileSync } from 'node:fs';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, afterEach, inject } from 'vitest';
import type { Exchange } from '../../emulators/equinix/exchanges.ts';
import { takeExchangesOfChildren } from './children.ts';
import type * as Court from './equinix/court.ts';
import { textOfTally } from './tally.ts';

/*
 * Runs before every test file: each exchange with an emulator in this process, or in a child that was
 * started with `judgedChild`, is judged by the published description of its API, and the test in which
 * one violates it fails.
 */
const CHANNEL = 'shepherd:equinix:exchange';

/** Loaded when the first exchange comes: most files have none. */
let loading: Promise<typeof Court> | undefined;
let court: typeof Court | undefined;
const waiting: Exchange[] = [];

async function load(): Promise<typeof Court> {
  court = await import('./equinix/court.ts');
  for (const exchange of waiting.splice(0)) court.hear(exchange);
  return court;
}

function listen(message: unknown): void {
  if (court) return court.hear(message as Exchange);
  waiting.push(message as Exchange);
  loading ??= load();
}

async function giveVerdict(): Promise<void> {
  takeExchangesOfChildren().forEach(listen);
  const problems = (await loading)?.takeProblems() ?? [];
  if (problems.length > 0) throw new Error(['not as published:', ...problems].join('\n  '));
}

subscribe(CHANNEL, listen);
afterEach(giveVerdict);
afterAll(async () => {
  unsubscribe(CHANNEL, listen);
  await giveVerdict();
  const tally = (await loading)?.takeTally();
  if (tally) appendFileSync(inject('publishedTallies'), `${textOfTally(tally)}\n`);
});
