import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, afterEach } from 'vitest';
import type { Exchange } from '../../emulators/equinix/exchanges.ts';
import { takeExchangesOfChildren } from './children.ts';

/*
 * Runs before every test file: each exchange with an emulator in this process, or in a child that was
 * started with `judgedChild`, is judged by the published description of its API, and the test in which
 * one violates it fails.
 */
const CHANNEL = 'shepherd:equinix:exchange';
/** Violations shown of one test. */
const SHOWN = 20;
const heard: Exchange[] = [];
const listen = (message: unknown) => void heard.push(message as Exchange);

async function giveVerdict(): Promise<void> {
  heard.push(...takeExchangesOfChildren());
  if (heard.length === 0) return;
  // Loaded when the first exchange has come: most files have none.
  const { judge } = await import('./equinix/judge.ts');
  const problems = heard.splice(0).flatMap((exchange) => judge(exchange));
  // The first of each kind: the same field of another item of a list is no news.
  const byKind = Map.groupBy(problems, (problem) => problem.replaceAll(/\[\d+\]/g, '[]'));
  const shown = [...byKind.values()].slice(0, SHOWN).map(([first]) => first);
  if (shown.length > 0) throw new Error(['not as published:', ...shown].join('\n  '));
}

subscribe(CHANNEL, listen);
afterEach(giveVerdict);
afterAll(async () => {
  unsubscribe(CHANNEL, listen);
  await giveVerdict();
});
