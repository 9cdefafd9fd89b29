import { describe, expect, it } from 'vitest';
import type { Circumstances } from '../../src/domain/eligibility.ts';
import { machineId, providerName } from '../../src/domain/ids.ts';
import type { MachineRow, RequestRow } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { dueRequest, isOnSlot, orderRefusal } from '../../src/domain/requests.ts';
import { isOrder, ORDER_VERBS, type OrderVerb } from '../../src/domain/verbs.ts';
import { machineRow, NOW_MS, provided, requestRow } from '../support/facts.ts';
import { factsOf, rowOf, rowsIn } from '../support/fact-words.ts';
import { testRows } from '../support/rows.ts';

const NOW: Circumstances = { holds: [], nowMs: NOW_MS, loss: DEFAULT_LOSS };
const refusalOf = (
  verb: OrderVerb,
  row: MachineRow | null,
  now = NOW,
  change: Partial<RequestRow> = {},
) => orderRefusal({ ...requestRow(change), verb }, row, now);
const OTHER = machineId('aaaaaaaa-0000-4000-8000-000000000002');

describe('an order to a machine', () => {
  it('is work', () => {
    expect(ORDER_VERBS.filter(isOrder)).toEqual([...ORDER_VERBS]);
    expect([isOrder('hold'), isOrder('freeze')]).toEqual([false, false]);
  });

  it.each(ORDER_VERBS)('%s waits for its turn until it expires', (verb) => {
    const expiresAt = (expiresAtMs: number) => refusalOf(verb, machineRow(), NOW, { expiresAtMs });
    expect(expiresAt(NOW_MS + 1)).toBeNull();
    expect(expiresAt(NOW_MS)).toBe('it expired before it was carried out');
  });

  testRows(
    rowsIn(`
                                      → it may
      quarantine conflict             → it is quarantined (conflict: because): release it first
      quarantine conflict 0           → it may
      unreadable                      → it is new; upgrade
      deprovision                     → it is to be deprovisioned
      install done                    → it was handed over
      status Missing                  → its provider status does not allow it: Missing
      status ProvisioningFailedPermanent → its provider status does not allow it: ProvisioningFailedPermanent
      status Provisioning             → it may
      status Running                  → it may
      status Stopped                  → it may
      status Unknown                  → it may
      status Provisioning, quarantine needsHuman → it is quarantined (needsHuman: because): release it first
      hold no-start                   → it may
      hold no-recover                 → a hold forbids it
      hold no-allocate                → it may`),
  )('is refused when no wait helps: "%s": %s', (words, expected) => {
    const { row, holds } = factsOf(words);
    for (const verb of ORDER_VERBS) {
      expect(refusalOf(verb, row, { ...NOW, holds }) ?? 'it may', verb).toBe(expected);
    }
  });

  it('erases nothing under a hold that preserves the machine', () => {
    const now = { ...NOW, holds: factsOf('hold preserve').holds };
    expect(ORDER_VERBS.filter((verb) => refusalOf(verb, machineRow(), now) !== null)).toEqual([
      'reinstall',
    ]);
  });

  it('is ended only by its work while it is carried out', () => {
    const of = (verb: OrderVerb, words: string) =>
      refusalOf(verb, rowOf(`bare, ${words}`), NOW, { expiresAtMs: NOW_MS - 1 });
    expect(of('reboot', 'work Recovery')).toBeNull();
    expect(of('reinstall', 'work Reinstall')).toBeNull();
    expect(of('reinstall', 'work Recovery')).not.toBeNull();
    expect(refusalOf('reboot', rowOf('bare, work AgentStart'))).toBe('it has no hardware');
  });

  it('applies to the named machine on the named slot', () => {
    const gone = /^machine .* is not on slot stub\/rack-1 any more$/;
    expect(refusalOf('reboot', null)).toMatch(gone);
    expect(refusalOf('reboot', machineRow({ machineId: OTHER }))).toMatch(gone);
    const elsewhere = machineRow({ provided: provided({ reservationId: 'rack-2' }) });
    expect(refusalOf('reboot', elsewhere)).toMatch(gone);
    const unreserved = provided({ reservationId: null, providerId: 'rack-1' });
    expect(refusalOf('reboot', machineRow({ provided: unreserved }))).toBeNull();
    expect(isOnSlot(machineRow(), requestRow({ provider: providerName('other') }))).toBe(false);
    expect(isOnSlot(rowOf('bare'), requestRow())).toBe(false);
  });
});

describe('the next request to apply on a slot', () => {
  const open = (...requests: Partial<RequestRow>[]) =>
    requests.map((each, at) => requestRow({ key: String(at), ...each }));

  it('is the oldest of its requests, or none', () => {
    const requests = open({ verb: 'hold' }, { verb: 'release' });
    expect(dueRequest(requests, machineRow(), NOW)?.key).toBe('0');
    expect(dueRequest([], machineRow(), NOW)).toBeNull();
  });

  it('is never an order that can still be carried out', () => {
    const requests = open({ verb: 'reboot' }, { verb: 'clear-backoff' });
    expect(dueRequest(requests, machineRow(), NOW)?.key).toBe('1');
    expect(dueRequest(requests.slice(0, 1), machineRow(), NOW)).toBeNull();
    const held = { ...NOW, holds: factsOf('hold no-recover').holds };
    expect(dueRequest(requests, machineRow(), held)?.key).toBe('0');
  });

  it('is a request for a machine that is gone, or for a slot without one', () => {
    const requests = open({ verb: 'reboot' });
    expect(dueRequest(requests, null, NOW)?.key).toBe('0');
    expect(dueRequest(requests, machineRow({ machineId: OTHER }), NOW)?.key).toBe('0');
    expect(dueRequest(open({ verb: 'hold', machineId: null }), null, NOW)?.key).toBe('0');
  });
});
