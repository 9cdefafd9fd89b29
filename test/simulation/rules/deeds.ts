import type { ShellTarget } from '../../../src/adapters/ssh/port.ts';
import type { CreateRequest } from '../../../src/adapters/provider/port.ts';
import type { Process } from '../../../src/domain/machine.ts';
import type { ConditionRow } from '../../../src/domain/conditions.ts';
import { slot } from '../../../src/domain/ids.ts';
import { slotOfRow } from '../../../src/domain/submission/named-fleet.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../../src/domain/provisioning/provider-tags.ts';
import type { MemMachine } from '../../doubles/mem-bmdb/tables.ts';
import { PROVIDER } from '../../support/facts.ts';
import type { RecordedCall, RecordedStep } from '../recorder.ts';
import { heardAtMs, HEARD_WITHIN_MS, isAlive, isHeld, liveLeases, orderOf } from './facts.ts';
import { changesOf, isForeign, MINUTE, type SimulationRule, type RuleScene } from './rule.ts';

/** Something that a machine or its provider is told to do. */
export interface Deed {
  readonly what: keyof typeof WORKERS;
  readonly call: RecordedCall;
  /** Null: the database does not know the machine. */
  readonly machine: MemMachine | null;
  readonly deviceId: string | null;
}

/** Processes whose lease allows each deed. */
const WORKERS = {
  start: ['ShepherdAgentStart'],
  stop: ['ShepherdRecovery', 'ShepherdDeprovision', 'ShepherdAgentStart'],
  reboot: ['ShepherdRecovery'],
  off: ['ShepherdRecovery', 'ShepherdReinstall'],
  on: ['ShepherdRecovery', 'ShepherdReinstall', 'ShepherdDeprovision'],
  reinstall: ['ShepherdReinstall'],
  deprovision: ['ShepherdDeprovision'],
} as const satisfies Readonly<Record<string, readonly Process[]>>;
const SHELL = ['shell.connect', 'shell.ssh.upload', 'shell.ssh.execute'];
const CALLS: Readonly<Record<string, Deed['what']>> = {
  'provider.rebootMachine': 'reboot',
  'provider.reinstallMachine': 'reinstall',
  'provider.deprovisionMachine': 'deprovision',
};
const RUNGS = { reboot: 'rebooting', off: 'powerCycling', reinstall: 'reinstalling' } as const;
const interrupts = (what: Deed['what']): what is keyof typeof RUNGS => what in RUNGS;

const isStopped = (arg: unknown): boolean =>
  arg instanceof AbortSignal
    ? arg.aborted
    : typeof arg === 'object' && arg !== null && 'signal' in arg && isStopped(arg.signal);

/** Commands that only read what a machine knows. */
const READING =
  /^(cat |journalctl -k |uptime$|systemctl --failed |sh -c (dmesg|for file in \/sys\/fs\/pstore))/;

/** The deed that a step begins; null: the step begins none. */
export function deedOf(step: RecordedStep, { world }: RuleScene): Deed | null {
  if (step.kind !== 'call') return null;
  const { call } = step;
  const { path, args } = call;
  // Drivers and shells send nothing for a caller that was stopped before.
  if (args.some(isStopped)) return null;
  const of = (what: Deed['what'], deviceId: string | null): Deed => {
    const machines = [...world.bmdb.tables.machines.values()];
    const machine = machines.find(({ row }) => row.provided?.providerId === deviceId) ?? null;
    return { what, call, machine, deviceId };
  };
  if (path === 'shell.ssh.execute') {
    const [argv] = args as [readonly string[]];
    if (READING.test(argv.join(' '))) return null;
    const devices = world.provider.world.devices();
    const device = devices.find(({ addresses }) => addresses.includes(call.host ?? ''));
    return of(argv.includes('stop-agent') ? 'stop' : 'start', device?.id ?? null);
  }
  if (path === 'provider.setPower') return of(args[1] as 'on' | 'off', String(args[0]));
  const what = CALLS[path];
  return what ? of(what, String(args[0])) : null;
}

/** The lease under which the daemon acts on the machine; null: it has none. */
function leaseFor({ machine, what, call }: Deed, { recorder }: RuleScene) {
  return machine?.leases.find(
    ({ process, sessionId }) =>
      (WORKERS[what] as readonly Process[]).includes(process) &&
      recorder.ownerOf(sessionId) === call.by,
  );
}

/** What is done to machines, as the machines and their providers see it. */
export const DEEDS: readonly SimulationRule[] = [
  {
    id: 'deed-under-lease',
    sentence: 'S3, S4: nothing is done to a machine but under a lease of a live session of its own',
    watch(scene, say) {
      const { tables } = scene.world.bmdb;
      /** By machine: the addresses and host keys that it had under its present lease. */
      const names = new Map<string, Set<string | null>>();
      function noteNames(step: RecordedStep) {
        for (const { machineId, before, after } of changesOf(step, 'machine')) {
          const isNew = after?.leases.some((each) => !before?.leases.includes(each));
          const known = (!isNew && names.get(machineId)) || new Set();
          const { provided = null, hostKey = null } = after?.row ?? {};
          names.set(machineId, known.add(provided?.address ?? null).add(hostKey));
        }
      }
      /** Connecting to a machine and uploading files also need a lease. */
      function touched(step: RecordedStep) {
        if (step.kind !== 'call' || !SHELL.includes(step.call.path)) return;
        if (step.call.args.some(isStopped)) return;
        const { by, host, path } = step.call;
        // A provider may show one machine's address for another machine; the host key tells them
        // apart.
        const pinned = path === 'shell.connect' ? (step.call.args[0] as ShellTarget).hostKey : null;
        const at = [...tables.machines.values()].filter(({ row }) =>
          [host, pinned].some((name) => name && names.get(row.machineId)?.has(name)),
        );
        const isWorkedOn = at.some(({ leases }) =>
          liveLeases(tables, leases, step.atMs).some(
            ({ sessionId }) => scene.recorder.ownerOf(sessionId) === by,
          ),
        );
        // The holder of this job reads evidence from drained machines.
        const { sessionId = '' } = tables.jobs.get('cases') ?? {};
        const isReader =
          path !== 'shell.ssh.upload' &&
          scene.recorder.ownerOf(sessionId) === by &&
          isAlive(tables, sessionId, step.atMs);
        if (at.length > 0 && !isWorkedOn && !isReader)
          say(`${path} to ${host} by ${by}, which does not work on it`);
      }
      return (step) => {
        noteNames(step);
        const deed = deedOf(step, scene);
        if (!deed) return touched(step);
        const { what, call, machine, deviceId } = deed;
        const name = `${what} of ${machine?.row.machineId ?? deviceId} by ${call.by}`;
        if (!machine) return say(`${name}, which the database does not know`);
        const lease = leaseFor(deed, scene);
        if (!lease) return say(`${name}, which it does not hold`);
        if (!isAlive(tables, lease.sessionId, step.atMs)) say(`${name}, whose session is dead`);
      };
    },
  },
  {
    id: 'deed-is-noted',
    sentence: 'S5, S8, I4, I5: what interrupts a machine is noted before, once, under a permit',
    watch(scene, say) {
      /** By machine: the actions since each note. */
      const done = new Map<string, number>();
      return (step) => {
        const deed = deedOf(step, scene);
        if (!deed?.machine) return;
        const { what, call } = deed;
        const { row, permitGrantedAtMs } = deed.machine;
        const tell = (why: string) => say(`${what} of ${row.machineId} by ${call.by}: ${why}`);
        const { recovery, startAttempt, deprovision } = row;
        const once = (atMs: number | null | undefined) => {
          if (typeof atMs !== 'number') return tell('it is not noted');
          if (step.atMs - atMs > 3 * MINUTE) tell(`it was noted ${step.atMs - atMs} ms before`);
          const key = `${what} ${row.machineId}`;
          if (done.get(key) === atMs) tell('for the second time');
          done.set(key, atMs);
        };
        if (what === 'start') once(startAttempt?.atMs);
        if (what === 'on' && !recovery) tell('it was not switched off');
        if (what === 'deprovision') once(deprovision?.askedAtMs);
        if (!interrupts(what)) return;
        once(recovery?.askedRung === RUNGS[what] ? recovery.askedAtMs : null);
        if (permitGrantedAtMs === null) tell('without a permit');
      };
    },
  },
  {
    id: 'nobody-well-is-disturbed',
    sentence: 'I4, S5: a machine that was heard within the deadline is left alone unless ordered',
    watch: (scene, say) => (step) => {
      const deed = deedOf(step, scene);
      if (!deed?.machine || !(interrupts(deed.what) || deed.what === 'stop')) return;
      const { row } = deed.machine;
      const heard = heardAtMs(row);
      const isOrdered =
        row.deprovision !== null ||
        (row.recovery?.orderKey ?? null) !== null ||
        orderOf(scene.world.bmdb.tables, row, step.atMs) !== null;
      // A heartbeat that arrived after the request was noted does not count against it.
      const askedAtMs = row.recovery?.askedAtMs ?? step.atMs;
      if (isOrdered || heard === null || heard > askedAtMs) return;
      const silentMs = step.atMs - heard;
      if (silentMs < HEARD_WITHIN_MS)
        say(`${deed.what} of ${row.machineId}, heard ${silentMs} ms ago`);
    },
  },
  {
    id: 'condition-interrupts-nobody',
    sentence: 'a condition, such as a failed acceptance, interrupts nobody and gives nothing back',
    watch: (scene, say) => (step) => {
      const deed = deedOf(step, scene);
      if (!deed?.machine || !(interrupts(deed.what) || deed.what === 'deprovision')) return;
      const { row } = deed.machine;
      const { tables } = scene.world.bmdb;
      const isOn = (each: ConditionRow) =>
        each.status === 'True' && slot(each.provider, each.slotId) === slotOfRow(row);
      const found = [...tables.conditions.values()].find(isOn);
      const heard = heardAtMs(row);
      const isWell = heard !== null && step.atMs - heard < HEARD_WITHIN_MS;
      const isAsked =
        row.deprovision !== null ||
        (row.recovery?.orderKey ?? null) !== null ||
        orderOf(tables, row, step.atMs) !== null ||
        (heard ?? 0) > (row.recovery?.askedAtMs ?? step.atMs);
      if (found && isWell && !isAsked) say(`${deed.what} of ${row.machineId}: ${found.type}`);
    },
  },
  {
    id: 'left-out-is-left-alone',
    sentence: 'nothing is done to a chronic or retired machine, unless a person asks',
    watch: (scene, say) => (step) => {
      const deed = deedOf(step, scene);
      if (!deed?.machine || deed.what === 'deprovision' || deed.what === 'stop') return;
      const { row } = deed.machine;
      const { cause = null } = row.quarantine ?? {};
      // A daemon that switched it off switches it on again at the end.
      if (cause === null || deed.what === 'on' || row.deprovision) return;
      const askedAtMs = row.recovery?.askedAtMs ?? row.startAttempt?.atMs ?? 0;
      const events = scene.world.bmdb.tables.events;
      const leftAtMs = events.findLast(
        ({ kind, machineId }) =>
          machineId === row.machineId && (kind === 'quarantined' || kind === 'retired'),
      )?.atMs;
      if ((leftAtMs ?? 0) < askedAtMs) say(`${deed.what} of ${row.machineId}, which is ${cause}`);
    },
  },
  {
    id: 'ours-and-not-held',
    sentence: 'S13 (I6): every mutating call is on a device with our tag and under no hold',
    watch: (scene, say) => {
      const { tables } = scene.world.bmdb;
      return (step) => {
        const deed = deedOf(step, scene);
        if (!deed?.machine) return;
        const { what, call, machine, deviceId } = deed;
        const tell = (why: string) =>
          say(`${what} of ${machine.row.machineId} by ${call.by}: ${why}`);
        if (isForeign(scene, deviceId ?? '') && call.path.startsWith('provider')) {
          tell(`device ${deviceId} has no tag of ours`);
        }
        const { askedAtMs } = machine.row.recovery ?? {};
        const holds = tables.holds.filter(({ kind }) => !isNewHold(tables, kind, askedAtMs));
        const isBarred = (...kinds: readonly ('no-recover' | 'preserve' | 'no-start')[]) =>
          kinds.some((kind) => isHeld(machine.row, kind, holds, step.atMs));
        if (interrupts(what) && isBarred('no-recover')) tell('a hold forbids it');
        if ((what === 'reinstall' || what === 'deprovision') && isBarred('preserve')) {
          tell('a hold preserves it');
        }
      };
    },
  },
  {
    id: 'creation-is-announced',
    sentence: 'S1, S2 (I1, I2): a creation has an open intent of its own, whose witness it carries',
    watch(scene, say) {
      const { tables } = scene.world.bmdb;
      const { provider } = scene.world;
      const tried = new Map<string, number>();
      return (step) => {
        if (step.kind !== 'call' || step.call.path !== 'provider.createMachine') return;
        const { args, by } = step.call;
        const [request, options] = args as [CreateRequest, { readonly operationId: string }];
        const slotId = request.unused.reservationId ?? request.unused.id;
        const tell = (why: string) => say(`creation on ${slotId} by ${by}: ${why}`);
        const witness = request.tags[WITNESS_TAG];
        const intent = tables.intents.get(witness as never);
        if (!intent || (intent.state !== 'open' && intent.state !== 'unresolved')) {
          return tell(`no intent is open for its witness ${witness}`);
        }
        if (options.operationId !== witness)
          tell(`its key ${options.operationId} is not its witness`);
        if (request.tags[SET_ID_TAG] === undefined) tell('without our tag');
        if (intent.slotId !== slotId) tell(`its intent is for ${intent.slotId}`);
        if (scene.recorder.ownerOf(intent.sessionId) !== by) tell('its intent is of somebody else');
        if (!isAlive(tables, intent.sessionId, step.atMs))
          tell('the session of its intent is dead');
        const times = (tried.get(intent.witness) ?? 0) + 1;
        tried.set(intent.witness, times);
        // Each request is noted just before it is sent.
        if (intent.attempts > 0 && !request.resumed) {
          tell(`request ${intent.attempts + 1} is sent as if it were the first`);
        }
        const device = provider.world.onSlot(slotId ?? '');
        if (
          device &&
          device.tags[WITNESS_TAG] !== witness &&
          device.tags[SET_ID_TAG] !== undefined
        ) {
          tell(`device ${device.id} of ours is on it`);
        }
        const held = tables.holds.find(
          (hold) => hold.slotId === slotId && ['no-allocate', 'retired'].includes(hold.kind),
        );
        if (held && times === 1 && (held.untilMs ?? Infinity) > step.atMs)
          tell('a hold forbids it');
        const shelf = tables.penalties.get(`${intent.provider}/${slotId}`);
        if (shelf && times === 1 && shelf.untilMs > step.atMs) tell('its slot is in cooldown');
      };
    },
  },
  {
    id: 'one-connection-each',
    sentence: 'S3: a daemon has one connection to a machine, so that no task outlives its actor',
    watch(_, say) {
      const executing = new Map<string, RecordedCall>();
      return (step) => {
        if (step.kind === 'call' && step.call.path === 'shell.ssh.execute') {
          const key = `${step.call.by} on ${step.call.host}`;
          const other = executing.get(key);
          if (other && other.endedAtMs === null) say(`${key} executes two commands at once`);
          executing.set(key, step.call);
        }
      };
    },
  },
  {
    id: 'devices-are-known',
    sentence:
      'S1, S2 (I1, I2): no two devices share a slot or a witness, and each of ours is known',
    watch({ world }, say) {
      const { tables } = world.bmdb;
      const told = new Set<string>();
      const tell = (why: string) => {
        if (!told.has(why)) say(why);
        told.add(why);
      };
      function twice(values: readonly (string | null | undefined)[], what: string) {
        for (const [at, value] of values.entries()) {
          if (value && values.indexOf(value) < at) tell(`${what} ${value} twice`);
        }
      }
      return (step) => {
        const isAbout = changesOf(step, 'machine').length + changesOf(step, 'intent').length > 0;
        if (step.kind !== 'look' && !isAbout) return;
        const devices = world.provider.world.devices();
        const known = [...tables.machines.values()].map(({ row }) => row.provided?.providerId);
        twice(
          devices.map(({ reservationId }) => reservationId),
          'slot',
        );
        twice(
          devices.map(({ tags }) => tags[WITNESS_TAG]),
          'witness',
        );
        twice(known, 'device of a machine');
        const { instanceSetId } = world.config.providers[PROVIDER]!;
        for (const { id, tags } of devices) {
          // Strangers take free capacity and put their tags on devices that were ours.
          if (tags[SET_ID_TAG] !== instanceSetId) continue;
          const state = tables.intents.get(tags[WITNESS_TAG] as never)?.state;
          const isSought = state === 'open' || state === 'unresolved';
          if (!known.includes(id) && !isSought) tell(`device ${id} is unknown`);
        }
      };
    },
  },
];

/**
 * Tells whether the hold was requested after the decision about the deed, and so does not reach it.
 */
function isNewHold(
  { requests }: RuleScene['world']['bmdb']['tables'],
  kind: string,
  askedAtMs: number | null | undefined,
): boolean {
  if (typeof askedAtMs !== 'number') return false;
  const last = [...requests.values()].findLast(
    ({ verb, parameters }) => verb === 'hold' && parameters['kind'] === kind,
  );
  return last?.settledAtMs !== undefined && (last.settledAtMs ?? 0) >= askedAtMs;
}
