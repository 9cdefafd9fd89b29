import { describe, expect, it } from 'vitest';
import {
  EVENT_TYPES,
  namesTypes,
  typesNamed,
  slotKindsOf,
  eventOfLine,
  cloudEventOf,
} from '../../../src/domain/events/fleet-event.ts';
import { verdictOn } from '../../../src/domain/events/retries.ts';
import { machineId, providerName } from '../../../src/domain/ids.ts';
import { TEXT_MAX } from '../../../src/lib/texts.ts';

const CONDITION = { condition: 'disk-failing', source: 'token:smart', status: 'True' };
const LINE = { actor: 'token:smart', to: 'True' };

describe('log lines of a slot as events', () => {
  it.each([
    ['adopted', 'device d, intent i', 'machine.created', 'device d, intent i', {}],
    ['agentStarted', '', 'machine.agent_started', '', {}],
    ['fellSilent', 'no heartbeat', 'machine.silent', 'no heartbeat', {}],
    ['heardAgain', '3 heartbeats', 'machine.back', '3 heartbeats', {}],
    ['recovered', 'rebooted', 'machine.recovered', 'rebooted', {}],
    ['quarantined', 'needsHuman: no: more', 'machine.needs_human', 'no: more', {}],
    ['quarantined', 'conflict: key', 'machine.quarantined', 'key', { kind: 'conflict' }],
    ['released', 'seen', 'machine.released', 'seen', {}],
    [
      ...(['installReported', 'generation 3: Success'] as const),
      ...(['machine.handed_over', 'its system was installed', { generation: '3' }] as const),
    ],
    ['deprovisioned', 'device d', 'machine.deprovisioned', 'device d', {}],
    ['held', 'no-start: looked at', 'hold.set', 'looked at', { kind: 'no-start' }],
    ['unheld', 'no-start: done', 'hold.removed', 'done', { kind: 'no-start' }],
    ['conditionSet', 'disk-failing: a: b', 'condition.set', 'a: b', CONDITION],
    ['conditionCleared', 'disk-failing: new', 'condition.cleared', 'new', CONDITION],
    ['conditionUnknown', 'disk-failing: ?', 'condition.unknown', '?', CONDITION],
  ])('turns %s (%s) into %s', (kind, line, type, reason, details) => {
    const told = eventOfLine({ ...LINE, kind, reason: line });
    expect(told).toEqual({ type, reason, details });
    expect(slotKindsOf([told!.type])).toContain(kind);
  });

  it.each([
    ['installReported', 'generation 3: Error: disk'],
    ['workFailed', 'ShepherdRecovery: no'],
    ['requestDone', 'reboot: done'],
    ['recoveryAsked', 'rebooting'],
    ['toString', ''],
  ])('turns %s (%s) into no event', (kind, line) =>
    expect(eventOfLine({ ...LINE, kind, reason: line })).toBeNull(),
  );
});

describe('names of event types', () => {
  it('select all, one, or a group', () => {
    expect(typesNamed(undefined)).toEqual(EVENT_TYPES);
    expect(typesNamed(['guard.*', 'hold.set'])).toEqual([
      ...['hold.set', 'guard.frozen', 'guard.thawed'],
    ]);
    expect(typesNamed([])).toEqual([]);
    expect(namesTypes('machine.*')).toBe(true);
    for (const name of ['machine', 'machine.', '*', 'mach.*', 'machine.gone']) {
      expect(namesTypes(name), name).toBe(false);
    }
  });
});

const answer = (status: number, retryAfterMs: number | null = null) => ({ status, retryAfterMs });

describe('the outcome of a delivery', () => {
  it('is success for 2xx, final for 410, and a retry at the documented times otherwise', () => {
    for (const status of [200, 204, 299]) {
      expect(verdictOn(answer(status), 1, 0)).toEqual({ verdict: 'delivered' });
    }
    expect(verdictOn(answer(410), 1, 0)).toMatchObject({ verdict: 'disabled' });
    const minutes = [1 / 12, 5, 30, 120, 300, 600, 840, 1_200, 1_440];
    for (const [at, minute] of minutes.entries()) {
      for (const chance of [0, 0.5, 1]) {
        const inMs = Math.round(minute * 60_000 * (1 + 0.2 * chance));
        expect(verdictOn(answer(500), at + 1, chance)).toMatchObject({ verdict: 'retry', inMs });
      }
    }
    expect(verdictOn(answer(500), 10, 0)).toMatchObject({ verdict: 'dead', status: 500 });
    expect(verdictOn({ status: null, cause: 'no answer' }, 1, 0)).toMatchObject({
      ...{ verdict: 'retry', status: null, cause: 'no answer' },
    });
    expect(verdictOn(answer(302), 1, 0)).toMatchObject({
      cause: expect.stringContaining('redirect'),
    });
  });

  it('respects a longer requested wait up to a day and ignores a shorter one', () => {
    const inMs = (retryAfterMs: number) =>
      (verdictOn(answer(429, retryAfterMs), 1, 0) as { inMs: number }).inMs;
    expect([inMs(60_000), inMs(1_000), inMs(-5), inMs(90_000_000)]).toEqual([
      ...[60_000, 5_000, 5_000, 86_400_000],
    ]);
  });
});

it('is a small CloudEvent even with long texts', () => {
  const text = 'ü'.repeat(TEXT_MAX);
  for (const type of EVENT_TYPES) {
    const event = cloudEventOf(
      {
        ...{ number: '9223372036854775807', type, atMs: 1_766_000_000_000.25, actor: text },
        ...{ provider: providerName('p'.repeat(31)), slotId: 's'.repeat(128), reason: text },
        machineId: machineId('00000000-0000-4000-8000-000000000001'),
        ...{ from: 'Running · healthy', to: 'Running · silent', details: { key: 'k'.repeat(200) } },
      },
      'urn:shepherd',
    );
    expect(event).toMatchObject({
      ...{ specversion: '1.0', id: '9223372036854775807-1766000000000', source: 'urn:shepherd' },
      ...{ type, data: { number: '9223372036854775807' } },
      ...{ subject: `${'p'.repeat(31)}/${'s'.repeat(128)}`, time: '2025-12-17T19:33:20.000Z' },
      datacontenttype: 'application/json',
    });
    expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(20_000);
  }
});
