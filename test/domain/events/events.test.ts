import { describe, expect, it } from 'vitest';
import {
  EVENT_TYPES,
  namesTypes,
  typesNamed,
  slotKindsOf,
  toldLine,
} from '../../../src/domain/events/fleet-event.ts';

describe('lines of a slot’s log as events', () => {
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
  ])('%s (%s) is %s', (kind, line, type, reason, details) => {
    expect(toldLine(kind, line)).toEqual({ type, reason, details });
    expect(slotKindsOf([toldLine(kind, line)!.type])).toContain(kind);
  });

  it.each([
    ['installReported', 'generation 3: Error: disk'],
    ['workFailed', 'ShepherdRecovery: no'],
    ['requestDone', 'reboot: done'],
    ['recoveryAsked', 'rebooting'],
    ['toString', ''],
  ])('%s (%s) is none', (kind, line) => expect(toldLine(kind, line)).toBeNull());
});

describe('types that are named', () => {
  it('are all, one, or those of a group', () => {
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
