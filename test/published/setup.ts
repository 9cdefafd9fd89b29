import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { afterAll, afterEach } from 'vitest';
import type { Exchange } from '../../emulators/equinix/exchanges.ts';
import { takeExchangesOfChildren } from './children.ts';

/*
 * Runs before every test file: judges each exchange with an emulator in this process, or in a child
 * started with `judgedChild`, by the published description of its API, and fails the test with a
 * violation.
 */
const CHANNEL = 'shepherd:equinix:exchange';
/** Maximum violations shown per test. */
const SHOWN = 20;
const heard: Exchange[] = [];
const listen = (message: unknown) => void heard.push(message as Exchange);

async function giveVerdict(): Promise<void> {
  heard.push(...takeExchangesOfChildren());
  if (heard.length === 0) return;
  // Loaded at the first exchange, because most files have none.
  const { judge } = await import('./equinix/judge.ts');
  const problems = heard.splice(0).flatMap((exchange) => judge(exchange));
  // The first of each kind: the same field of another list item is no news.
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
