import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { EventsQuery, LatestQuery } from '../../src/adapters/bmdb/port.ts';
import type { FleetEvent } from '../../src/domain/events/fleet-event.ts';
import { DEFAULT_BUDGET, DEFAULT_LOSS } from '../../src/domain/policy.ts';
import { DEFAULT_GUARD } from '../../src/domain/recovery/guard-judgement.ts';
import { installationReportCodec } from '../../src/wire/codec.ts';
import { ASKED, KEY, MINUTE, PROVIDER, providedOf, requestedAt, startedAt } from './bmdb-rows.ts';
import { agentStarted, SIGNAL, STEADY } from './bmdb-stage.ts';
import type { BmdbStage } from './bmdb-stage.ts';
import { requestFor } from './requests-of.ts';

const digestOf = (text: string) => createHash('sha256').update(text).digest();

export function fleetEventsContract(s: BmdbStage): void {
  const { add } = s;
  const page = (query: Partial<EventsQuery> = {}) =>
    s.h.other.events.read({ after: '0', limit: 1_000, ...query }, SIGNAL);
  const all = async (query: Partial<EventsQuery> = {}) => (await page(query)).events;
  /** The events since the cursor, without those that always accompany them. */
  const told = async (after: string, not: readonly string[] = []) =>
    (await all({ after }))
      .filter(({ type }) => !not.includes(type.split('.')[0]!))
      .map(({ type, actor, reason }) => `${type} by ${actor}: ${reason}`);
  const now = () => s.h.bmdb.events.newest(SIGNAL);
  const hold = async (slotId: string, untilMs: number | null = null) =>
    s.applyRequest(
      {
        ...{ verb: 'hold', kind: 'no-start', untilMs },
        target: { provider: PROVIDER, slotId, machineId: null },
      },
      { reason: 'being looked at' },
    );

  describe('the order of events', () => {
    it('is one for slots and fleet, and pages have no gaps or repeats', async () => {
      const after = await now();
      for (const slotId of ['a', 'b', 'c']) await hold(slotId);
      const whole = await page({ after });
      expect(whole.more).toBe(false);
      expect(whole.events.map(({ type, slotId }) => `${slotId} ${type}`)).toEqual(
        ['a', 'b', 'c'].flatMap((slotId) => [
          `${slotId} request.filed`,
          // One statement writes both, and its parts have no order.
          ...[expect.stringMatching(/hold.set|request.settled/)],
          ...[expect.stringMatching(/hold.set|request.settled/)],
        ]),
      );
      const numbers = whole.events.map(({ number }) => BigInt(number));
      expect(numbers).toEqual(numbers.toSorted((a, b) => (a < b ? -1 : 1)));
      expect(new Set(numbers).size).toBe(9);
      const paged: FleetEvent[] = [];
      for (let next = after, more = true; more;) {
        const found = await page({ after: next, limit: 2 });
        expect(found.events.length).toBeLessThanOrEqual(2);
        paged.push(...found.events);
        ({ next, more } = found);
      }
      expect(paged).toEqual(whole.events);
      expect(await page({ after: whole.next })).toEqual({
        ...{ events: [], next: whole.next, more: false },
      });
    });

    it('is kept for one type, provider, slot or machine, even if few events match', async () => {
      const after = await now();
      const id = await s.addLost();
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note(ASKED);
      await hold('a');
      await hold('b');
      const types = async (query: Partial<EventsQuery>) =>
        (await all({ after, ...query })).map(({ type }) => type);
      expect(await types({ types: ['hold.set'] })).toEqual(['hold.set', 'hold.set']);
      expect(await types({ types: ['hold.set'], slotId: 'b' })).toEqual(['hold.set']);
      expect(await types({ machineId: id })).toEqual(['machine.recovering']);
      expect((await types({ provider: PROVIDER })).length).toBe(7);
      expect(await types({ types: ['guard.frozen'] })).toEqual([]);
      const { next } = await page({ after, types: ['hold.set'], limit: 1 });
      expect(await all({ after: next, types: ['hold.set'] })).toHaveLength(1);
    });

    it('yields the last matching events, and none from before a moment', async () => {
      const latest = async (query: Partial<LatestQuery>) => {
        const { events, next, more } = await s.h.other.events.latest(
          { limit: 1_000, ...query },
          SIGNAL,
        );
        expect({ next, more }).toEqual({ next: await now(), more: false });
        return events;
      };
      const after = await now();
      await hold('a');
      await s.h.pass(10 * MINUTE);
      await hold('b');
      await s.h.bmdb.events.append({
        ...{ type: 'access.refused', actor: 'anonymous', reason: 'wrong', details: {} },
      });
      const whole = await all({ after });
      expect(await latest({ limit: 3 })).toEqual(whole.slice(-3));
      const sinceMs = whole.find(({ slotId }) => slotId === 'b')!.atMs;
      expect(await latest({ sinceMs })).toEqual(whole.slice(3));
      const types = async (query: Partial<LatestQuery>) =>
        (await latest(query)).map(({ type, slotId }) => `${slotId} ${type}`);
      expect(await types({ types: ['hold.set'], limit: 1 })).toEqual(['b hold.set']);
      expect(await types({ types: ['hold.set'], slotId: 'a' })).toEqual(['a hold.set']);
      expect(await types({ types: ['access.refused'], sinceMs, limit: 1 })).toEqual([
        'null access.refused',
      ]);
      expect(await types({ types: ['hold.set'], provider: PROVIDER, sinceMs })).toEqual([
        'b hold.set',
      ]);
    });

    it('continues at the end for a number that was never used', async () => {
      await hold('a');
      const end = await now();
      expect(await page({ after: String(BigInt(end) + 1_000n) })).toEqual({
        ...{ events: [], next: end, more: false },
      });
    });

    it('includes events that no row change stands for, with plain text', async () => {
      const after = await now();
      const details = { address: '192.0.2.1' };
      await s.h.bmdb.events.append({
        ...{ type: 'access.refused', actor: 'anonymous', reason: 'wrong\u0000token', details },
      });
      expect(await all({ after })).toMatchObject([
        { type: 'access.refused', provider: null, slotId: null, machineId: null, details },
      ]);
      expect((await all({ after }))[0]!.reason).toBe('wrong\ufffdtoken');
    });
  });

  describe('events written with their change', () => {
    it('describe a machine: created, started, recovering, recovered, quarantined, released', async () => {
      const after = await now();
      const slot = { provider: PROVIDER, slotId: 'reservation-1', hostname: 'm-1' };
      const { witness } = await s.session.intents.open(slot);
      const provided = { ...providedOf('1'), reservationId: 'reservation-1' };
      const id = await s.session.intents.adopt(witness, provided);
      const start = await s.session.claim('ShepherdAgentStart', id);
      await start.finish(agentStarted(['no time source']));
      await s.h.pass(DEFAULT_LOSS.firstHeartbeatMs + MINUTE);
      await s.h.bmdb.sweep();
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note(ASKED);
      await work.fail(STEADY, 'no rung is left', {
        quarantine: { kind: 'needsHuman', reason: 'no rung is left' },
      });
      await s.applyRequest({ verb: 'release', target: await s.target(id), forgetHostKey: false });
      const types = (await all({ after })).map(({ type }) => type);
      expect(types.filter((type) => type.startsWith('machine.'))).toEqual([
        ...['machine.created', 'machine.agent_started', 'machine.silent', 'machine.recovering'],
        ...['machine.needs_human', 'machine.released'],
      ]);
      const [created, started, silent, recovering] = await all({ after, machineId: id });
      expect(created).toMatchObject({ slotId: 'reservation-1', provider: PROVIDER, machineId: id });
      expect(started).toMatchObject({ actor: 'shepherd', reason: 'no time source' });
      expect(silent).toMatchObject({ to: 'Running · silent' });
      expect(recovering).toMatchObject({ slotId: 'reservation-1', provider: PROVIDER });
    });

    it('describe a machine: recovered, back, handed over, given back', async () => {
      const lost = await s.addLost();
      await s.h.bmdb.sweep();
      const after = await now();
      const work = await s.session.claim('ShepherdRecovery', lost);
      await work.note(ASKED);
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null });
      const installed = await add(startedAt((await s.now()) - MINUTE));
      await s.h.request(installed, 1n);
      const report = (result: 'Success' | 'Error', generation: bigint) =>
        s.h.other.heartbeats.recordHeartbeats([
          {
            ...{ machineId: installed, publicKey: KEY, bootId: null },
            installationReport: {
              ...{ generation, result },
              raw: installationReportCodec.encode({
                generation,
                result: result === 'Success' ? 'success' : 'error',
              }),
            },
          },
        ]);
      await report('Error', 1n);
      await s.h.request(installed, 2n);
      await report('Success', 2n);
      const given = await add({ deprovision: requestedAt(await s.now()) });
      await (await s.session.claim('ShepherdDeprovision', given)).finish({ kind: 'deprovisioned' });
      const events = await all({ after });
      expect(events.map(({ type }) => type)).toEqual([
        ...['machine.recovering', 'machine.recovered'],
        ...['machine.handed_over', 'machine.deprovisioned'],
      ]);
      expect(events[2]).toMatchObject({ machineId: installed, details: { generation: '2' } });
    });

    it('describe holds: set, removed, and expired when a daemon looks', async () => {
      const at = await s.now();
      const after = await now();
      await hold('a');
      await hold('b', at + MINUTE);
      await s.applyRequest({
        ...{ verb: 'unhold', kind: 'no-start' },
        target: { provider: PROVIDER, slotId: 'a', machineId: null },
      });
      await s.h.bmdb.sweep();
      await s.h.pass(2 * MINUTE);
      await Promise.all([s.h.bmdb.sweep(), s.h.other.sweep()]);
      await s.h.bmdb.sweep();
      expect(await told(after, ['request'])).toEqual([
        'hold.set by ann: being looked at',
        'hold.set by ann: being looked at',
        'hold.removed by ann: no longer needed',
        'hold.expired by ann: being looked at',
      ]);
      const last = (await all({ after })).at(-1);
      expect(last).toMatchObject({ slotId: 'b', details: { kind: 'no-start' } });
      expect((await s.h.bmdb.scan(SIGNAL)).holds).toEqual([]);
    });

    it('describe requests: submitted and applied, with key and verb, also several at once', async () => {
      const after = await now();
      const [one, two] = [await add(), await add()];
      const requests = await Promise.all(
        [one, two].map(async (id, at) =>
          requestFor(
            { verb: 'reboot', target: await s.target(id), force: false },
            { key: `r${at}` },
          ),
        ),
      );
      await s.h.bmdb.requests.submitBatch({ key: 'batch', digest: 'd', requests });
      const submitted = await all({ after, types: ['request.filed'] });
      expect(submitted.map(({ details }) => details['key']).toSorted()).toEqual([
        'batch',
        'r0',
        'r1',
      ]);
      expect(submitted.find(({ machineId }) => machineId === one)).toMatchObject({
        ...{ actor: 'ann', details: { key: 'r0', verb: 'reboot', batch: 'batch' } },
      });
      await s.h.pass(2 * 60 * MINUTE);
      await s.session.applyRequest('r0');
      await s.session.applyRequest('r0');
      const settled = await all({ after, types: ['request.settled'] });
      expect(settled.map(({ details }) => details)).toEqual([
        { key: 'batch', verb: 'reboot', state: 'done' },
        { key: 'r0', verb: 'reboot', state: 'refused' },
      ]);
    });

    it('describe the guard: frozen and thawed, by whom and why, once each', async () => {
      const after = await now();
      const decide = (verb: 'freeze' | 'thaw', reason: string) =>
        s.applyRequest({ verb, scope: PROVIDER }, { reason });
      await decide('freeze', 'fire');
      await decide('freeze', 'more fire');
      await decide('thaw', 'no fire');
      await decide('thaw', 'really none');
      const events = (await all({ after })).filter(({ type }) => type.startsWith('guard.'));
      expect(events.map(({ type, actor, reason }) => [type, actor, reason])).toEqual([
        ['guard.frozen', 'ann', 'fire'],
        ['guard.thawed', 'ann', 'no fire'],
      ]);
      expect(events[0]).toMatchObject({
        ...{ provider: PROVIDER, details: { scope: PROVIDER, kind: 'manual' } },
      });
    });

    it('of a freeze until an end: its end, another one, and that it came', async () => {
      const after = await now();
      const freeze = async (forMs: number) => {
        const untilMs = Math.floor(await s.now()) + forMs;
        await s.applyRequest({ verb: 'freeze-until', scope: PROVIDER, untilMs });
        return untilMs;
      };
      const ends = [await freeze(2 * MINUTE), await freeze(MINUTE)];
      await s.h.pass(MINUTE);
      await s.h.other.guard.assess({ ingestUp: true });
      const events = (await all({ after })).filter(({ type }) => type.startsWith('guard.'));
      expect(events.map(({ type, actor, details }) => [type, actor, details['untilMs']])).toEqual([
        ...ends.map((untilMs) => ['guard.frozen', 'ann', untilMs]),
        ['guard.thawed', 'guard', undefined],
      ]);
      expect(events.at(-1)!.reason).toBe('the freeze has reached its end');
    });

    it('describe the guard’s own decisions: too many machines silent together, and back again', async () => {
      await s.begin(DEFAULT_LOSS, DEFAULT_BUDGET, DEFAULT_GUARD);
      const at = await s.now();
      const silent = {
        ...startedAt(at - 300 * MINUTE),
        heartbeat: { atMs: at - 11 * MINUTE, bootId: null },
      };
      const machines = [await add(silent), await add(silent)];
      await s.h.bmdb.guard.assess({ ingestUp: true });
      await s.h.pass(1_000);
      for (let passed = 0; passed < 16; passed += 0.5) {
        await s.h.pass(MINUTE / 2);
        for (const each of machines) await s.beat(each);
        await s.h.other.guard.assess({ ingestUp: true });
      }
      const told = (await all()).filter(({ type }) => type.startsWith('guard.'));
      expect(told.map(({ type, actor, details }) => [type, actor, details['scope']])).toEqual([
        ...['fleet', PROVIDER].map((scope) => ['guard.frozen', 'guard', scope]),
        ...['fleet', PROVIDER].map((scope) => ['guard.thawed', 'guard', scope]),
      ]);
      expect(told[0]!.details['kind']).toBe('silence');
    });

    it('describe a provider’s hold once for as long as it lasts', async () => {
      const after = await now();
      const impose = (forMs: number) =>
        s.h.bmdb.providerHolds.impose({
          ...{ provider: PROVIDER, kind: 'throttle', key: 'create', forMs, level: 1 },
          cause: 'too many calls',
        });
      await impose(MINUTE);
      await impose(2 * MINUTE);
      await s.h.pass(3 * MINUTE);
      await impose(MINUTE);
      const { witness } = await s.session.intents.open({
        ...{ provider: PROVIDER, slotId: 'shelved', hostname: 'm-1' },
      });
      await s.session.intents.end(witness, { state: 'failed', cause: 'no', penaltyMs: MINUTE });
      const events = await all({ after, types: ['provider.hold_set'] });
      expect(
        events.map(({ slotId, details, reason }) => [details['kind'], slotId, reason]),
      ).toEqual([
        ['throttle', null, 'too many calls'],
        ['throttle', null, 'too many calls'],
        ['penalty', 'shelved', 'no'],
      ]);
    });

    it('describe sessions that expired, but not those that were closed', async () => {
      const [closed, dead] = [await s.openOn(s.h.bmdb, 5_000), await s.openOn(s.h.bmdb, 5_000)];
      const after = await now();
      await closed.close();
      await s.h.expireSession(dead.sessionId);
      await s.h.pass(MINUTE);
      await s.h.other.sweep();
      expect(await all({ after, types: ['session.expired'] })).toMatchObject([
        { actor: 'shepherd', details: { sessionId: dead.sessionId, runtimeInfo: 'host test' } },
      ]);
      await dead.close();
    });

    it('describe a session that is closed after its deadline', async () => {
      const late = await s.openOn(s.h.bmdb, 5_000);
      const after = await now();
      await s.h.expireSession(late.sessionId);
      await late.close();
      expect(await all({ after, types: ['session.expired'] })).toMatchObject([
        { details: { sessionId: late.sessionId } },
      ]);
    });

    it('describe access: logins, tokens created and revoked, and no secret', async () => {
      const after = await now();
      const { tokens, sessions } = s.h.bmdb.access;
      const who = { role: 'operator', providers: null } as const;
      await tokens.add({
        ...{ ...who, id: 'a', name: 'ci', owner: 'oidc:ann', forMs: MINUTE },
        digest: digestOf('a'),
      });
      await tokens.revoke('a', 'oidc:bob');
      await tokens.revoke('a', 'oidc:bob');
      const id = '00000000-0000-4000-8000-000000000001';
      await sessions.open({
        ...{ tokenId: null, identity: null },
        ...{ ...who, id, name: 'oidc:ann', proven: true, renewal: digestOf('renewal') },
        digest: digestOf('cookie'),
      });
      await sessions.used(digestOf('cookie'));
      expect(await told(after)).toEqual([
        'access.token_created by oidc:ann: ',
        'access.revoked by oidc:bob: ',
        'access.login by oidc:ann: ',
      ]);
      expect((await all({ after })).map(({ details }) => details)).toEqual([
        ...Array(2).fill({ tokenId: 'a', name: 'ci', role: 'operator' }),
        { sessionId: id, role: 'operator' },
      ]);
    });
  });
}
