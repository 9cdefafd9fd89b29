import type { Bmdb } from '../../src/adapters/bmdb/port.ts';
import type { Provider } from '../../src/adapters/provider/port.ts';
import type { RemoteShell } from '../../src/adapters/ssh/port.ts';
import type { SessionId } from '../../src/domain/ids.ts';
import {
  DEFAULT_BUDGET,
  DEFAULT_LOSS,
  fleetBudget,
  groupBudget,
  ORDERS_KEPT,
} from '../../src/domain/policy.ts';
import { SET_ID_TAG, WITNESS_TAG } from '../../src/domain/provisioning/provider-tags.ts';
import { isSessionAlive, liveWork } from '../doubles/mem-bmdb/rows.ts';
import type { MemMachine } from '../doubles/mem-bmdb/tables.ts';
import { PROVIDER } from './facts.ts';
import type { DaemonAbout, PlayedWorld } from './played-world.ts';

/** Looks from outside whether invariants of the fleet hold, by their numbers in ARCHITECTURE.md. */
export interface InvariantWatch {
  /** What was broken, and when. */
  readonly broken: readonly string[];
  /** How often something was done to a machine. */
  readonly deeds: number;
  /** When the provider was called, by any daemon, in milliseconds. */
  readonly calls: readonly number[];
  /** A daemon's ports, by which it is seen what each daemon does to which machine. */
  ports(): Pick<DaemonAbout, 'bmdb' | 'driven' | 'shell'>;
  /** Looks at all that stands in the database and at the provider. Called after each step. */
  look(): void;
}

export function watchInvariants(world: PlayedWorld): InvariantWatch {
  const { tables } = world.bmdb;
  const broken: string[] = [];
  const calls: number[] = [];
  let deeds = 0;
  /** What was there when it was looked last. */
  let seen: readonly unknown[] = [];
  let isWritten = true;
  tables.wakes$.subscribe(() => (isWritten = true));
  const tell = (number: number, what: string) =>
    void broken.push(`invariant ${number}: ${what}, at ${world.clock.monotonic()} ms`);

  /** Invariants 3 and 4: whoever acts on a machine holds it, and disturbs none that is well. */
  function act(deed: string, machine: MemMachine | undefined, own: ReadonlySet<SessionId>) {
    deeds += 1;
    if (!machine) return tell(3, `${deed} of a machine that the database does not know`);
    const { machineId, heartbeat, recovery } = machine.row;
    const holds = machine.leases.some(
      ({ sessionId }) => own.has(sessionId) && isSessionAlive(tables, sessionId),
    );
    if (!holds) tell(3, `${deed} of ${machineId} by a daemon that does not hold it`);
    const silentMs = tables.now() - (heartbeat?.atMs ?? Number.NEGATIVE_INFINITY);
    const isOrdered =
      (recovery?.orderKey ?? null) !== null ||
      tables.orders.has(machineId) ||
      machine.row.deprovision !== null;
    if (deed !== 'start' && !isOrdered && silentMs < DEFAULT_LOSS.heartbeatMs) {
      tell(4, `${deed} of ${machineId}, which was heard ${silentMs} ms ago`);
    }
  }
  const machineOf = (deviceId: string | undefined) =>
    [...tables.machines.values()].find(({ row }) => row.provided?.providerId === deviceId);
  const deviceAt = (address: string) =>
    world.provider.account.world.devices().find(({ addresses }) => addresses.includes(address));

  /** Invariant 1: no two of them are the same. */
  function twice(values: Iterable<string | null | undefined>, what: string) {
    const seen = new Set<string>();
    for (const value of values) {
      if (value && seen.has(value)) tell(1, `${what} ${value} twice`);
      if (value) seen.add(value);
    }
  }

  function lookAtDevices() {
    const devices = world.provider.account.world.devices();
    const machines = [...tables.machines.values()];
    const known = new Set(machines.map(({ row }) => row.provided?.providerId));
    twice(
      devices.map(({ reservationId }) => reservationId),
      'reservation',
    );
    twice(
      devices.map(({ tags }) => tags[WITNESS_TAG]),
      'witness',
    );
    twice(
      machines.map(({ row }) => row.provided?.providerId),
      'device of a machine',
    );
    const { instanceSetId } = world.config.providers[PROVIDER]!;
    for (const { id, tags } of devices) {
      // Strangers take free capacity, and put their tags on what was ours.
      if (tags[SET_ID_TAG] !== instanceSetId) continue;
      const intent = tables.intents.get(tags[WITNESS_TAG] as never);
      const isSought = intent?.state === 'open' || intent?.state === 'unresolved';
      if (!known.has(id) && !isSought) tell(2, `device ${id} is unknown`);
    }
  }

  function lookAtWork() {
    const permits = new Map<string, number>();
    const ordered = new Set<string>();
    const started = { fleet: 0 } as Record<string, number>;
    for (const machine of tables.machines.values()) {
      const { location = null } = machine.row.provided ?? {};
      for (const scope of ['fleet', String(location)]) {
        started[scope] = (started[scope] ?? 0) + 1;
        if (machine.permitGrantedAtMs === null) continue;
        permits.set(scope, (permits.get(scope) ?? 0) + 1);
        if (machine.row.recovery?.orderKey) ordered.add(scope);
      }
      const workers = new Set(liveWork(tables, machine).map(({ sessionId }) => sessionId));
      if (workers.size > 1) tell(3, `${machine.row.machineId} has ${workers.size} workers`);
    }
    for (const [scope, held] of permits) {
      const allowed = (scope === 'fleet' ? fleetBudget : groupBudget)(
        DEFAULT_BUDGET,
        started[scope]!,
      );
      if (held > allowed + (ordered.has(scope) ? ORDERS_KEPT : 0))
        tell(5, `${held} machines are recovered in ${scope}`);
    }
  }

  return {
    broken,
    calls,
    get deeds() {
      return deeds;
    },
    look() {
      const devices = world.provider.account.world.devices();
      const isSame =
        devices.length === seen.length && devices.every((each, at) => each === seen[at]);
      if (isSame && !isWritten) return;
      [seen, isWritten] = [devices, false];
      lookAtDevices();
      lookAtWork();
    },
    ports() {
      const own = new Set<SessionId>();
      return {
        bmdb: (bmdb: Bmdb): Bmdb => ({
          ...bmdb,
          async openSession(options) {
            const session = await bmdb.openSession(options);
            own.add(session.sessionId);
            return session;
          },
        }),
        driven: (driven: Provider): Provider => ({
          ...counting(driven, () => calls.push(world.clock.monotonic())),
          rebootMachine: (id, ...about) => {
            act('reboot', machineOf(id), own);
            return driven.rebootMachine(id, ...about);
          },
          reinstallMachine: (id, ...about) => {
            act('reinstallation', machineOf(id), own);
            return driven.reinstallMachine(id, ...about);
          },
          setPower: (id, want, ...about) => {
            if (want === 'off') act('power cycle', machineOf(id), own);
            return driven.setPower!(id, want, ...about);
          },
        }),
        shell: (shell: RemoteShell): RemoteShell => ({
          async connect(target, signal) {
            const session = await shell.connect(target, signal);
            return {
              ...session,
              execute(argv, ...about) {
                const deed = argv.includes('stop-agent') ? 'stop' : 'start';
                if (argv[0] !== 'cat') act(deed, machineOf(deviceAt(target.host)?.id), own);
                return session.execute(argv, ...about);
              },
            };
          },
        }),
      };
    },
  };
}

/** The same, told of each of its calls that are counted against a limit of the provider. */
function counting(driven: Provider, onCall: () => void): Provider {
  const { listMachines, getMachine, createMachine, setTags } = driven;
  const counted =
    <Args extends unknown[], Answer>(call: (...args: Args) => Answer) =>
    (...args: Args) => {
      onCall();
      return call(...args);
    };
  return {
    ...driven,
    listMachines: counted(listMachines),
    getMachine: counted(getMachine),
    createMachine: counted(createMachine),
    setTags: counted(setTags),
  };
}
