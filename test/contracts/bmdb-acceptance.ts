import { describe, expect, it } from 'vitest';
import type { AcceptanceCheck, AcceptanceReport } from '../../src/domain/acceptance.ts';
import { CASE_RULE } from '../../src/domain/cases.ts';
import type { HeartbeatRecord } from '../../src/domain/heartbeat.ts';
import type { MachineId } from '../../src/domain/ids.ts';
import { hardwareReportCodec } from '../../src/wire/codec.ts';
import { ASKED, KEY, ladderOn, MINUTE } from './bmdb-rows.ts';
import { agentStarted, SIGNAL, STEADY, type BmdbStage } from './bmdb-stage.ts';

const OK: AcceptanceCheck = { name: 'memory', expected: '64 GiB', found: '64 GiB', status: 'ok' };
const LACKS: AcceptanceCheck = { ...OK, found: '32 GiB', status: 'failed' };

/** Acceptances: what makes them due, the hand-out to agents, and the results. */
export function acceptanceContract(s: BmdbStage): void {
  const { add, addWell, applyRequest, read } = s;
  const why = { reason: 'memory replaced' };
  const start = async (id: MachineId) => {
    const work = await s.session.claim('ShepherdAgentStart', id);
    await work.finish(agentStarted());
  };
  const send = async (id: MachineId, change: Partial<HeartbeatRecord> = {}) => {
    const record = { machineId: id, publicKey: KEY, bootId: 'boot-2', ...change };
    const [outcome] = await s.h.bmdb.heartbeats.recordHeartbeats([record]);
    if (outcome?.kind !== 'accepted') return expect.fail(outcome?.kind ?? 'no answer');
    return outcome.acceptance ?? null;
  };
  const answer = async (id: MachineId, report: Partial<AcceptanceReport> = {}) => {
    const request = await send(id);
    const acceptance = { id: request!.id, checks: [OK], found: {}, ...report };
    return send(id, { acceptance });
  };
  const accept = async (id: MachineId) => {
    const outcome = await applyRequest({ verb: 'accept', target: await s.target(id) }, why);
    expect(await send(id)).toBeNull();
    expect((await read(id)).acceptance).toMatchObject({ state: 'waiting', cause: 'asked' });
    await s.h.bmdb.acceptances.begin([id]);
    return outcome;
  };
  const linesOf = async (id: MachineId) =>
    (await s.h.events(id)).filter((line) => line.startsWith('accept'));
  const conditionsOf = async (id: MachineId) => {
    const { provided } = await read(id);
    const place = { provider: provided!.provider, slotId: provided!.reservationId! };
    const rows = await s.h.bmdb.conditions.ofSlot(place, SIGNAL);
    return rows.map(({ type, source, status }) => `${type} ${source} ${status}`);
  };

  describe('acceptance', () => {
    it('is due with the first start of an agent, whatever was tried before', async () => {
      const id = await add({ recovery: ladderOn('rebooting') });
      await start(id);
      expect((await read(id)).acceptance).toMatchObject({ state: 'due', cause: 'first' });
    });

    it('is not due with later starts, nor on a machine that was in use before', async () => {
      const [id, before] = [await add(), await addWell()];
      await send(before, { hardwareReport: hardwareReportCodec.encode({ report: {} }) });
      expect((await read(id)).acceptance).toBeNull();
      await start(id);
      const acceptance = { state: 'due', cause: 'first', held: true, handedOutAtMs: null };
      expect((await read(id)).acceptance).toMatchObject(acceptance);
      await answer(id);
      await applyRequest({ verb: 'restart-agent', target: await s.target(before) }, why);
      const work = await s.session.claim('ShepherdRecovery', before);
      await work.note({ ...ASKED, rung: 'restartingAgent' });
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null });
      await start(before);
      expect((await read(before)).acceptance).toBeNull();
      expect((await read(id)).acceptance).toMatchObject({ state: 'passed', cause: 'first' });
    });

    it('is due after a reinstallation, and keeps the machine out meanwhile', async () => {
      const at = await s.now();
      const recovery = ladderOn('reinstalling', { askedAtMs: at, askedRung: 'reinstalling' });
      const [id, rebooted] = [await s.addLost({ recovery }), await s.addLost()];
      for (const each of [id, rebooted]) {
        const work = await s.session.claim('ShepherdRecovery', each);
        if (each === rebooted) await work.note(ASKED);
        await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: 60 });
      }
      expect((await read(id)).acceptance).toMatchObject({ cause: 'reinstalled', held: true });
      expect((await read(rebooted)).acceptance).toBeNull();
    });

    it('is due after unretire', async () => {
      const id = await addWell();
      await applyRequest({ verb: 'retire', target: await s.target(id) }, why);
      await applyRequest({ verb: 'unretire', target: await s.target(id) }, why);
      expect((await read(id)).acceptance).toMatchObject({ cause: 'unretired', held: true });
    });

    it('is handed to the agent with the profile until the agent answers', async () => {
      const id = await addWell();
      expect(await send(id)).toBeNull();
      expect(await accept(id)).toMatchObject({ state: 'done' });
      const request = await send(id);
      expect(request).toMatchObject({ profile: { memoryGiB: 64 } });
      expect(await send(id)).toEqual(request);
      const { handedOutAtMs } = (await read(id)).acceptance!;
      expect(handedOutAtMs).not.toBeNull();
      expect(await answer(id)).toBeNull();
      expect(await send(id)).toBeNull();
      const detail = await s.h.bmdb.acceptances.read(id, SIGNAL);
      expect(detail).toEqual({ profile: { memoryGiB: 64 }, checks: [OK] });
      expect(await linesOf(id)).toEqual([
        'acceptanceAsked memory replaced',
        'accepted no check failed',
      ]);
    });

    it('is not handed out for longer than half an hour, but to the next agent', async () => {
      const id = await add();
      await start(id);
      expect(await send(id)).not.toBeNull();
      await s.h.pass(31 * MINUTE);
      expect(await send(id)).toBeNull();
      expect((await read(id)).acceptance).toMatchObject({ state: 'due' });
      await applyRequest({ verb: 'restart-agent', target: await s.target(id) }, why);
      const work = await s.session.claim('ShepherdRecovery', id);
      await work.note({ ...ASKED, rung: 'restartingAgent' });
      await work.finish({ kind: 'recovered', coolDown: STEADY, bootSeconds: null });
      await start(id);
      expect(await send(id)).not.toBeNull();
    });

    it('fails with a condition, which only a passed one clears', async () => {
      const id = await addWell();
      await accept(id);
      await answer(id, { checks: [OK, LACKS] });
      expect((await read(id)).acceptance).toMatchObject({
        ...{ state: 'failed', reason: 'memory: 32 GiB, expected 64 GiB' },
      });
      expect(await conditionsOf(id)).toEqual(['acceptance-failed acceptance True']);
      await accept(id);
      expect(await conditionsOf(id)).toEqual(['acceptance-failed acceptance True']);
      await answer(id);
      expect(await conditionsOf(id)).toEqual(['acceptance-failed acceptance False']);
      expect((await s.h.events(id)).filter((line) => /acceptance-?failed/i.test(line))).toEqual([
        'acceptanceFailed memory: 32 GiB, expected 64 GiB',
        'conditionSet acceptance-failed: memory: 32 GiB, expected 64 GiB',
        'conditionCleared acceptance-failed: no check failed',
      ]);
    });

    it('waits from the opening of a case by Shepherd until its repair is over', async () => {
      const id = await addWell();
      const { provided } = await read(id);
      const at = { provider: provided!.provider, slotId: provided!.reservationId! };
      const report = { ...at, machineId: id, type: 'disk-failing', source: 'agent', detail: '' };
      const disk = { ...report, status: 'True', reason: 'sda', validForMs: null } as const;
      await s.h.bmdb.conditions.report([disk]);
      const opened = { ...at, machineId: id, title: 'disk-failing: sda' };
      const first = await s.h.bmdb.cases.open({ ...opened, by: 'anna' });
      expect((await read(id)).acceptance).toBeNull();
      await s.h.bmdb.cases.close(first!.caseId, { by: 'anna', outcome: 'no case' });
      await s.h.bmdb.cases.open({ ...opened, by: CASE_RULE });
      const waiting = { state: 'waiting', cause: 'repaired', held: false };
      expect((await read(id)).acceptance).toMatchObject(waiting);
      expect(await send(id)).toBeNull();
      const { askedAtMs } = (await read(id)).acceptance!;
      await s.h.pass(MINUTE);
      await s.h.bmdb.acceptances.begin([id]);
      await s.h.bmdb.acceptances.begin([id]);
      const { acceptance } = await read(id);
      expect(acceptance).toMatchObject({ ...waiting, state: 'due' });
      expect(acceptance!.askedAtMs).toBeGreaterThan(askedAtMs);
      const ok: AcceptanceCheck = { ...OK, name: 'disk-failing', found: 'OK' };
      await answer(id, { checks: [OK, ok] });
      expect((await read(id)).acceptance).toMatchObject({ state: 'passed' });
      expect(await conditionsOf(id)).toContain('disk-failing agent False');
      await s.h.bmdb.acceptances.request([id]);
      expect((await read(id)).acceptance, 'it passed before').toMatchObject({
        ...{ state: 'waiting', cause: 'repaired', held: true },
      });
      await s.h.bmdb.acceptances.begin([id]);
      await s.h.bmdb.acceptances.request([id]);
      expect((await read(id)).acceptance).toMatchObject({ state: 'due' });
    });

    it('counts an answer only for the present request', async () => {
      const id = await addWell();
      await accept(id);
      const old = await send(id);
      await accept(id);
      await send(id, { acceptance: { id: old!.id, checks: [OK], found: {} } });
      expect((await read(id)).acceptance).toMatchObject({ state: 'due' });
      await answer(id, { checks: [LACKS] });
      await send(id, { acceptance: { id: old!.id, checks: [OK], found: {} } });
      expect((await read(id)).acceptance).toMatchObject({ state: 'failed' });
    });

    it('keeps a machine in service while a person asks again, unless it had failed', async () => {
      const id = await addWell();
      const heldOf = async () => (await read(id)).acceptance!.held;
      await accept(id);
      expect(await heldOf()).toBe(false);
      await answer(id, { checks: [LACKS] });
      await accept(id);
      expect(await heldOf()).toBe(true);
      await accept(id);
      expect(await heldOf()).toBe(true);
      await answer(id);
      await accept(id);
      expect(await heldOf()).toBe(false);
    });

    it('expects what the last accepted inventory had, except for what is configured', async () => {
      const id = await addWell();
      await accept(id);
      const found = { memoryGiB: 128, cpus: 16, disks: [{ sizeGB: 480, count: 2 }] };
      await answer(id, { found });
      await accept(id);
      expect(await send(id)).toMatchObject({ profile: { ...found, memoryGiB: 64 } });
      await answer(id, { checks: [LACKS], found: { cpus: 8 } });
      await accept(id);
      expect(await send(id)).toMatchObject({ profile: { cpus: 16 } });
    });

    it('accepts the present parts, and nothing that the agent still reports', async () => {
      const id = await addWell();
      const disk = (name: string) => ({ name, serialNumber: name });
      const hardware = (...names: string[]) =>
        hardwareReportCodec.encode({ report: { blockDevice: names.map(disk) } });
      const failing = { type: 'disk-failing', status: 'True', reason: 'sda', detail: '' } as const;
      await send(id, { hardwareReport: hardware('a', 'b') });
      await send(id, { hardwareReport: hardware('a'), conditions: [failing] });
      expect(await conditionsOf(id)).toEqual([
        ...['disk-failing agent True', 'hardware-missing agent True'],
      ]);
      await accept(id);
      await answer(id);
      expect(await conditionsOf(id)).toEqual([
        ...['disk-failing agent True', 'hardware-missing agent False'],
      ]);
    });
  });
}
