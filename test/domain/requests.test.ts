import { describe, expect, it } from 'vitest';
import type { Circumstances } from '../../src/domain/eligibility.ts';
import { machineId, providerName } from '../../src/domain/ids.ts';
import { PROVIDER_STATUSES } from '../../src/domain/machine.ts';
import { isOrder, ORDER_VERBS, type OrderVerb } from '../../src/domain/verbs.ts';
import type { HoldKind, MachineRow, RequestRow } from '../../src/domain/machine.ts';
import { DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { dueRequest, isOnSlot, orderRefusal } from '../../src/domain/requests.ts';
import {
  deprovisionAsked,
  hold,
  liveWork,
  machineRow,
  NOW_MS,
  provided,
  requestRow,
} from '../support/facts.ts';

const now = (...kinds: HoldKind[]): Circumstances => ({
  holds: kinds.map((kind) => hold(kind)),
  nowMs: NOW_MS,
  loss: DEFAULT_LOSS,
});
const refusalOf = (
  verb: OrderVerb,
  row: MachineRow | null,
  moment: Circumstances = now(),
  change: Partial<RequestRow> = {},
) => orderRefusal({ ...requestRow(change), verb }, row, moment);
const OTHER = machineId('aaaaaaaa-0000-4000-8000-000000000002');

describe('an order', () => {
  it('is work', () => {
    expect(ORDER_VERBS.filter(isOrder)).toEqual([...ORDER_VERBS]);
    expect(isOrder('hold')).toBe(false);
    expect(isOrder('freeze')).toBe(false);
  });

  it.each(ORDER_VERBS)('%s waits for its turn until it expires', (verb) => {
    expect(refusalOf(verb, machineRow())).toBeNull();
    const expiresAt = (expiresAtMs: number) =>
      refusalOf(verb, machineRow(), now(), { expiresAtMs });
    expect(expiresAt(NOW_MS + 1)).toBeNull();
    expect(expiresAt(NOW_MS)).toBe('it expired before it was carried out');
  });

  it('that is being carried out is ended by its work alone', () => {
    const busy = (work: Parameters<typeof liveWork>[0]) =>
      machineRow({ work: [liveWork(work)], provided: null });
    const ended = { expiresAtMs: NOW_MS - 1 };
    expect(refusalOf('reboot', busy('ShepherdRecovery'), now(), ended)).toBeNull();
    expect(refusalOf('reinstall', busy('ShepherdReinstall'), now(), ended)).toBeNull();
    expect(refusalOf('reinstall', busy('ShepherdRecovery'), now(), ended)).not.toBeNull();
    expect(refusalOf('reboot', busy('ShepherdAgentStart'))).toBe('it has no hardware');
  });

  it('is about the machine that was named, on the slot that was named', () => {
    const gone = /^machine .* is not on slot stub\/rack-1 any more$/;
    expect(refusalOf('reboot', null)).toMatch(gone);
    expect(refusalOf('reboot', machineRow({ machineId: OTHER }))).toMatch(gone);
    const elsewhere = machineRow({ provided: provided({ reservationId: 'rack-2' }) });
    expect(refusalOf('reboot', elsewhere)).toMatch(gone);
    const unreserved = provided({ reservationId: null, providerId: 'rack-1' });
    expect(refusalOf('reboot', machineRow({ provided: unreserved }))).toBeNull();
    expect(isOnSlot(machineRow(), requestRow({ provider: providerName('other') }))).toBe(false);
    expect(isOnSlot(machineRow({ provided: null }), requestRow())).toBe(false);
  });

  it('is refused for what no wait ends', () => {
    const parked = machineRow({ quarantine: { kind: 'conflict', reason: 'two', untilMs: null } });
    const text = 'it is quarantined (conflict: two): release it first';
    expect(refusalOf('reboot', parked)).toBe(text);
    const over = machineRow({ quarantine: { kind: 'conflict', reason: 'two', untilMs: NOW_MS } });
    expect(refusalOf('reboot', over)).toBeNull();
    const unreadable = 'this program does not know "x"';
    expect(refusalOf('reboot', machineRow({ unreadable }))).toBe(unreadable);
    for (const verb of ORDER_VERBS) {
      expect(refusalOf(verb, machineRow({ deprovision: deprovisionAsked() }))).toBe(
        'it is to be deprovisioned',
      );
      const done = {
        requestGeneration: 1n,
        reportGeneration: 1n,
        reportResult: 'Success',
      } as const;
      const installation = { ...done, handedOutAtMs: null };
      expect(refusalOf(verb, machineRow({ installation }))).toBe('it was handed over');
    }
  });

  it('is refused in every state of a provider in which nothing can be done', () => {
    const refused = (verb: OrderVerb) =>
      PROVIDER_STATUSES.flatMap((status) => {
        const why = refusalOf(verb, machineRow({ provided: provided({ status }) }));
        return why === null ? [] : [why];
      });
    const why = 'its provider status does not allow it';
    for (const verb of ORDER_VERBS) {
      expect(refused(verb)).toEqual([`${why}: Missing`, `${why}: ProvisioningFailedPermanent`]);
    }
  });

  it.each([
    ['no-start', null, null],
    ['no-recover', 'a hold forbids it', 'a hold forbids it'],
    ['no-allocate', null, null],
    ['preserve', null, 'a hold forbids it'],
  ] as const)('under hold %s: reboot %s, reinstall %s', (kind, reboot, reinstall) => {
    expect(refusalOf('reboot', machineRow(), now(kind))).toBe(reboot);
    expect(refusalOf('restart-agent', machineRow(), now(kind))).toBe(reboot);
    expect(refusalOf('reinstall', machineRow(), now(kind))).toBe(reinstall);
  });

  it('waits for a machine that is being installed, whatever bars it beside that', () => {
    const installing = provided({ status: 'Provisioning' });
    expect(refusalOf('reboot', machineRow({ provided: installing }))).toBeNull();
    const parked = { kind: 'needsHuman', reason: 'x', untilMs: null } as const;
    const both = machineRow({ provided: installing, quarantine: parked });
    expect(refusalOf('reboot', both)).toMatch(/release it first$/);
  });
});

describe('what is to be settled of a slot', () => {
  const open = (...requests: Partial<RequestRow>[]) =>
    requests.map((each, at) => requestRow({ key: String(at), ...each }));

  it('is the oldest of its requests', () => {
    const requests = open({ verb: 'hold' }, { verb: 'release' });
    expect(dueRequest(requests, machineRow(), now())?.key).toBe('0');
    expect(dueRequest([], machineRow(), now())).toBeNull();
  });

  it('is no order that may still be carried out', () => {
    const requests = open({ verb: 'reboot' }, { verb: 'clear-backoff' });
    expect(dueRequest(requests, machineRow(), now())?.key).toBe('1');
    expect(dueRequest(requests.slice(0, 1), machineRow(), now())).toBeNull();
    expect(dueRequest(requests, machineRow(), now('no-recover'))?.key).toBe('0');
  });

  it('is what was asked of a machine that is no longer there', () => {
    const requests = open({ verb: 'reboot' });
    expect(dueRequest(requests, null, now())?.key).toBe('0');
    expect(dueRequest(requests, machineRow({ machineId: OTHER }), now())?.key).toBe('0');
  });

  it('is a hold of a slot where no machine is', () => {
    const requests = open({ verb: 'hold', machineId: null });
    expect(dueRequest(requests, null, now())?.key).toBe('0');
  });
});
