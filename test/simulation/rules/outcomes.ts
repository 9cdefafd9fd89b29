import type { FinishChange } from '../../../src/adapters/bmdb/port.ts';
import type { MachineRows, RecordedCall } from '../recorder.ts';
import { deedOf, type Deed } from './deeds.ts';
import {
  changesOf,
  isSteady,
  MINUTE,
  tooLong,
  type SimulationRule,
  type RuleScene,
} from './rule.ts';

/** What one lease did to its machine. */
interface LeaseDeed {
  readonly what: Deed['what'] | 'upload' | 'connect';
  readonly call: RecordedCall;
  /** The machine's boot id at that time. */
  readonly bootId: string | null;
}

/** Remembers, for each machine, what its present lease has done. */
function createDone(scene: RuleScene) {
  const done = new Map<string, LeaseDeed[]>();
  const devices = () => scene.world.provider.world.devices();
  const machines = () => [...scene.world.bmdb.tables.machines.values()];
  function machineAt(host: string | null) {
    const device = devices().find(({ addresses }) => addresses.includes(host ?? ''));
    return machines().find(({ row }) => row.provided?.providerId === device?.id);
  }
  return {
    of: (machineId: string): readonly LeaseDeed[] => done.get(machineId) ?? [],
    note(step: Parameters<typeof changesOf>[0]) {
      for (const { machineId, before, after } of changesOf(step, 'machine')) {
        const isNew = after?.leases.some((each) => !before?.leases.includes(each));
        if (isNew) done.set(machineId, []);
      }
      if (step.kind !== 'call') return;
      const { call } = step;
      const deed = deedOf(step, scene);
      const isShell = call.path === 'shell.ssh.upload' || call.path === 'shell.connect';
      const machine = deed ? deed.machine : isShell ? machineAt(call.host) : undefined;
      const what = deed?.what ?? (call.path === 'shell.connect' ? 'connect' : 'upload');
      const bootId = machine ? bootIdOf(scene, machine) : null;
      if (machine) done.get(machine.row.machineId)?.push({ what, call, bootId });
    },
  };
}

const bootIdOf = ({ world }: RuleScene, { row }: MachineRows): string | null =>
  world.hosts.get(`${row.provided?.address}:22`)?.bootId ?? null;

const ASKED: ReadonlySet<LeaseDeed['what']> = new Set(['stop', 'reboot', 'off', 'reinstall']);

/** How work ends, and what it leaves behind. */
export const OUTCOMES: readonly SimulationRule[] = [
  {
    id: 'success-is-true',
    sentence: 'Work is recorded as done only if the machine or its provider has done it',
    watch(scene, say) {
      const done = createDone(scene);
      return (step) => {
        if (step.kind === 'write' && step.call.path === 'bmdb.work.finish') {
          const [change] = step.call.args as [FinishChange];
          for (const { machineId, before } of changesOf(step, 'machine')) {
            const why = before && whyUntrue(change, before, { scene, done: done.of(machineId) });
            if (why) say(`${change.kind} of ${machineId} by ${step.by}: ${why}`);
          }
        }
        done.note(step);
      };
    },
  },
  {
    id: 'power-is-left-on',
    sentence: 'S8: a machine that was switched off for its recovery is switched on again',
    watch(scene, say) {
      const off = new Set<string>();
      const left = tooLong(20 * MINUTE, say);
      return (step) => {
        const { what = null, deviceId = null } = deedOf(step, scene) ?? {};
        // It counts only if the device was on, because somebody else may have powered it off.
        const { world } = scene.world.provider;
        if (what === 'off' && deviceId && world.device(deviceId)?.power === 'on') off.add(deviceId);
        if (step.kind !== 'look' || off.size === 0) return;
        const now = new Map<string, string>();
        for (const id of off) {
          const device = world.device(id);
          if (!device || device.power === 'on') off.delete(id);
          else if (isSteady(scene, step.atMs, 5 * MINUTE)) now.set(id, 'is switched off by us');
        }
        left(now, step.atMs);
      };
    },
  },
  {
    id: 'work-is-not-dropped',
    sentence: 'S9: work ends by its success or its failure, while its daemon and session live',
    watch:
      ({ recorder, daemons }, say) =>
      (step) => {
        for (const { line } of changesOf(step, 'history')) {
          if (step.kind !== 'write' || !step.by || line.event !== 'Canceled') continue;
          // A daemon that shuts down in order may end its own tasks.
          const runs = daemons().some(({ name, played }) => name === step.by && played?.isAlive);
          const isWell = runs && step.atMs - recorder.steadySinceMs(step.by) > 5 * MINUTE;
          const isCut = line.cause === 'the task ended before its time';
          if (isWell && isCut)
            say(`${line.process} of ${line.machineId} by ${step.by}: ${line.cause}`);
        }
      },
  },
  {
    id: 'connections-end',
    sentence: 'S3: a connection to a machine ends with the work it was opened for',
    watch(scene, say) {
      /** The process that holds each connection. */
      const open = new Map<RecordedCall, unknown>();
      const processOf = (by: string) => scene.daemons().find(({ name }) => name === by)?.played;
      const left = tooLong(3 * MINUTE, say);
      return (step) => {
        if (step.kind === 'answer' && step.call.path === 'shell.connect' && !step.call.error) {
          open.set(step.call, processOf(step.call.by));
        }
        if (step.kind === 'call' && step.call.path === 'shell.close') {
          for (const [call] of open) if (call === step.call.args[0]) open.delete(call);
        }
        if (step.kind !== 'look') return;
        const names = new Map<string, string>();
        for (const [call, process] of open) {
          // The connections of a process end when it dies.
          if (processOf(call.by) !== process) open.delete(call);
          // A paused process closes nothing.
          else if (scene.recorder.steadySinceMs(call.by) === Infinity) continue;
          else if (!isWorkedOn(scene, call.host)) {
            names.set(`${call.by} to ${call.host}`, 'is connected without any work');
          }
        }
        left(names, step.atMs);
      };
    },
  },
];

function isWorkedOn({ world }: RuleScene, host: string | null): boolean {
  const { machines } = world.bmdb.tables;
  return [...machines.values()].some(
    ({ row, leases }) => row.provided?.address === host && leases.length > 0,
  );
}

function whyUntrue(
  change: FinishChange,
  rows: MachineRows,
  { scene, done }: { readonly scene: RuleScene; readonly done: readonly LeaseDeed[] },
): string | null {
  const { recovery, provided } = rows.row;
  const did = (what: LeaseDeed['what']) =>
    done.some((each) => each.what === what && each.call.endedAtMs !== null && !each.call.error);
  const device = scene.world.provider.world.device(provided?.providerId ?? '');
  if (change.kind === 'agentStarted') {
    if (!did('start')) return 'no agent was executed';
    if (!did('upload')) return 'no agent was uploaded';
    // Not at the address of the row: the provider may have shown a wrong one.
    const host = scene.world.hosts.get(`${device?.addresses[0]}:22`);
    const isKnown = !host || change.hostKey === null || change.hostKey === host.hostKey;
    return isKnown ? null : 'its host key is another one';
  }
  if (change.kind === 'deprovisioned') {
    return device && !device.leaving ? `device ${device.id} is there` : null;
  }
  if (change.kind !== 'recovered' || change.unasked) return null;
  const { askedRung = null, bootIdBefore = null, askedAtMs = null } = recovery ?? {};
  const bootId = bootIdOf(scene, rows);
  // A boot ended the old agent, so it needs no stop.
  const ran = rows.row.heartbeat?.bootId ?? rows.row.agentStarted?.bootId ?? bootId;
  switch (askedRung) {
    case null: {
      // A person who releases the machine meanwhile clears the note.
      const last = done.findLast(({ what, call }) => ASKED.has(what) && !call.error);
      if (!last) return 'nothing was asked for';
      return last.what !== 'stop' && last.bootId === bootId ? 'it has not booted' : null;
    }
    case 'restartingAgent':
      return did('stop') || ran !== bootId ? null : 'no agent was stopped';
    case 'reinstalling': {
      const device = scene.world.provider.world.device(provided?.providerId ?? '');
      const isNew = (device?.upAtMs ?? 0) >= (askedAtMs ?? Infinity);
      return isNew ? null : 'no new system has come up';
    }
    default:
      return bootIdBefore !== null && bootId === bootIdBefore ? 'it has not booted' : null;
  }
}
