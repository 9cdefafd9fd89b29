import { Subject } from 'rxjs';
import { expect, test } from 'vitest';
import { codeOf } from '../../src/domain/errors.ts';
import { advance, createSimulatedClock } from '../doubles/simulated-clock.ts';
import { createCallFaults, type CallFault } from './call-faults.ts';
import type { PortCall } from './intercept.ts';
import { testRows } from '../support/rows.ts';

/** Makes one call and returns its times, its end and its result. */
async function callWith(fault: Omit<CallFault, 'path'>, call: Partial<PortCall> = {}) {
  const clock = createSimulatedClock();
  const faults = createCallFaults(clock, () => undefined);
  const path = call.path ?? 'bmdb.session.applyRequest';
  const told: string[] = [];
  const tell = (what: string) => void told.push(`${what} ${clock.monotonic()}`);
  faults.add({ times: 2, forMs: 700, ...fault, path, strikeCaller: () => tell('dies') });
  const around = faults.around({ path, args: [], ...call }, async () => {
    tell('done');
    return { close: () => tell('closed') };
  });
  void around.then(
    () => tell('answered'),
    (error: unknown) => tell(codeOf(error)),
  );
  await advance(clock, 60_000);
  return told.join(', ');
}
const claim = { path: 'bmdb.session.claim' };
const finish = { path: 'bmdb.work.finish' };

/** Each fault of a call with the error that its port allows, and what the caller learns. */
testRows([
  ['refused', 'unreachable 0', { effect: 'refused' }],
  ['read-only', 'unreachable 0', { effect: 'read-only' }],
  ['lost with its commit', 'done 0, ambiguous-commit 0', { effect: 'lost' }],
  ['lost without one', 'done 0, unreachable 0', { effect: 'lost' }, { path: 'bmdb.session.poke' }],
  [
    'a connection, lost',
    'done 0, closed 0, unreachable 0',
    { effect: 'lost' },
    { path: 'shell.connect' },
  ],
  ['late', 'done 0, answered 700', { effect: 'late' }],
  ['delayed', 'done 700, answered 700', { effect: 'delayed' }],
  ['conflict', 'retry-exhausted 12000', { effect: 'conflict' }],
  ['dies before', 'dies 0', { effect: 'dies-before' }],
  ['dies after', 'done 0, dies 0, answered 0', { effect: 'dies-after' }],
  ['dies answered', 'done 0, answered 0, dies 0', { effect: 'dies-answered' }],
  ['a claim, found out', 'done 0, answered 250', { effect: 'lost', times: 1 }, claim],
  ['a claim, not found out', 'done 0, unreachable 5000', { effect: 'lost' }, claim],
  [
    'a claim of a dead session',
    'done 0, session-expired 700',
    { effect: 'late' },
    { ...claim, signal: AbortSignal.abort() },
  ],
  ['an end, repeated', 'done 400, answered 400', { effect: 'refused' }, finish],
  ['an end, given up', 'unreachable 4800', { effect: 'refused', times: 99 }, finish],
  [
    'a cancel, given up',
    'answered 4800',
    { effect: 'refused', times: 99 },
    { path: 'bmdb.work.cancel' },
  ],
  ['of a provider', 'done 0, transient 0', { effect: 'lost' }, { path: 'provider.rebootMachine' }],
  ['only the third', 'done 0, answered 0', { effect: 'refused', skip: 2 }],
] as [string, string, Omit<CallFault, 'path'>, Partial<PortCall>?][])(
  '%s: %s',
  async (_, told, fault, call) => {
    expect(await callWith(fault, call)).toBe(told);
  },
);

test('loses, delays and doubles notifications', async () => {
  const clock = createSimulatedClock();
  const faults = createCallFaults(clock, () => undefined);
  const wakes$ = new Subject<number>();
  const heard: string[] = [];
  faults
    .stream('bmdb.wakes$', wakes$)
    .subscribe((wake) => heard.push(`${wake} at ${clock.monotonic()}`));
  for (const effect of ['lost', 'late', 'doubled'] as const) {
    faults.add({ effect, path: 'bmdb.wakes$', times: 1, forMs: 700 });
  }
  for (const wake of [1, 2, 3, 4]) wakes$.next(wake);
  await advance(clock, 1_000);
  expect(heard).toEqual(['3 at 0', '3 at 0', '4 at 0', '2 at 700']);
});
