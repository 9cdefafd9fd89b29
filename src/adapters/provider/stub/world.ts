import { ProviderError } from '../../../domain/errors.ts';
import { WITNESS_TAG, type Tags } from '../../../domain/provisioning/provider-tags.ts';
import type { Clock } from '../../clock/port.ts';
import type { Log } from '../../log/port.ts';
import type {
  DownCause,
  Fate,
  Installation,
  StubDevice,
  StubMachines,
  StubPlan,
  StubSlot,
} from './device.ts';

export interface WorldTiming {
  /** From a creation or a reinstall to a running machine. */
  readonly provisioningMs: number;
  /** From a reboot, or power on, to a machine that answers. */
  readonly bootMs: number;
  /** From giving back to being gone. */
  readonly deprovisioningMs: number;
}

export interface WorldDeps {
  readonly plans: readonly StubPlan[];
  readonly timing: WorldTiming;
  readonly clock: Clock;
  readonly log: Log;
  readonly machines: StubMachines;
  /** Names of what is made, the same in each run: kind, then what it belongs to. */
  newId(...purpose: readonly (string | number)[]): string;
}

export interface DeviceOrder extends Installation {
  readonly reservationId: string;
  readonly hostname: string;
  readonly tags: Tags;
  /** Given when an id is to come back; a new one when absent. */
  readonly id?: string | undefined;
  readonly fate: Fate;
  /** It runs already. */
  readonly isUp?: boolean;
}

/** The hardware and its virtual time, without faults and without rules of access. */
export interface World {
  slots(): readonly StubSlot[];
  slot(id: string): StubSlot | undefined;
  /** Whether it was ever capacity here. */
  knows(slotId: string): boolean;
  devices(): readonly StubDevice[];
  device(id: string): StubDevice | undefined;
  onSlot(slotId: string): StubDevice | undefined;
  /** The first one made that carries this witness. */
  witnessed(witness: string): StubDevice | undefined;
  /** Ids that were in use once and are not now, latest first. */
  formerIds(): readonly string[];
  change(id: string, change: Partial<StubDevice>): void;
  add(order: DeviceOrder): StubDevice;
  reinstall(id: string, installation: Installation, end: { fate: Fate; progress: number }): void;
  /** Broken, for good. */
  fail(id: string): void;
  /** Boots anew; again and again with a time between the boots. */
  reboot(id: string, loopMs?: number): void;
  power(id: string, want: 'on' | 'off'): void;
  /** Begins to go away. */
  give(id: string): void;
  /** Gone at once; its slot is free again, or gone too, or broken. */
  remove(id: string, slot?: 'free' | 'gone' | 'broken'): void;
  close(): Promise<void>;
}

export function createWorld(deps: WorldDeps): World {
  const { clock, timing, machines, newId } = deps;
  const slots = new Map<string, StubSlot>();
  const devices = new Map<string, StubDevice>();
  const bySlot = new Map<string, string>();
  /** Ids of devices that carried a witness at some time, in the order in which they got it. */
  const byWitness = new Map<string, Set<string>>();
  const formerIds: string[] = [];
  const everKnown = new Set<string>();
  /** What happens to a device next: at most one thing. */
  const timers = new Map<string, unknown>();
  let made = 0;

  for (const plan of deps.plans) {
    for (let at = 1; at <= plan.reservations; at += 1) {
      const id = newId('reservation', plan.name, plan.location ?? '', String(plan.spot), at);
      slots.set(id, { id, plan, broken: false });
      everKnown.add(id);
    }
  }

  function need(id: string): StubDevice {
    const device = devices.get(id);
    if (device) return device;
    throw new ProviderError('not-found', `no device ${id}`);
  }

  function change(id: string, patch: Partial<StubDevice>): StubDevice {
    const changed = { ...need(id), ...patch };
    devices.set(id, changed);
    if (patch.tags) noteWitness(changed);
    return changed;
  }

  function noteWitness({ id, tags }: Pick<StubDevice, 'id' | 'tags'>) {
    const witness = tags[WITNESS_TAG];
    if (witness === undefined) return;
    const ids = byWitness.get(witness) ?? new Set();
    byWitness.set(witness, ids.add(id));
  }

  function witnessed(witness: string): StubDevice | undefined {
    const carriers = [...(byWitness.get(witness) ?? [])].flatMap((id) => devices.get(id) ?? []);
    return carriers
      .filter(({ tags }) => tags[WITNESS_TAG] === witness)
      .toSorted((a, b) => a.number - b.number)[0];
  }

  function next(id: string, fn: () => void, delayMs: number) {
    cancel(id);
    const run = () => {
      timers.delete(id);
      if (devices.has(id)) fn();
    };
    timers.set(id, clock.setTimeout(run, delayMs));
  }

  function cancel(id: string) {
    clock.clearTimeout(timers.get(id));
    timers.delete(id);
  }

  function install(id: string, fate: Fate) {
    machines.installed(need(id));
    if (fate === 'stuck') cancel(id);
    else if (fate === 'up' && timing.provisioningMs === 0) comeUp(id);
    else next(id, () => (fate === 'up' ? comeUp(id) : fail(id)), timing.provisioningMs);
  }

  function comeUp(id: string) {
    change(id, { status: 'Running', progress: 100, upAtMs: clock.now() });
    boot(id);
  }

  function fail(id: string) {
    cancel(id);
    change(id, { status: 'ProvisioningFailedPermanent', failed: true, power: 'off' });
  }

  function boot(id: string) {
    const { boots } = need(id);
    const bootId = newId('boot', id, boots + 1);
    const booted = change(id, { power: 'on', boots: boots + 1, bootId });
    const addresses = machines.up(booted);
    if (Array.isArray(addresses)) change(id, { addresses: addresses as readonly string[] });
    else void reachable(id, addresses as Promise<readonly string[]>);
  }

  async function reachable(id: string, addresses: Promise<readonly string[]>) {
    try {
      const known = await addresses;
      if (devices.has(id)) change(id, { addresses: known });
    } catch (err) {
      deps.log.error({ err, device: id }, 'a machine of the stub cannot be reached');
    }
  }

  function down(id: string, cause: DownCause) {
    cancel(id);
    machines.down(need(id), cause);
  }

  function reboot(id: string, loopMs?: number) {
    down(id, 'reboot');
    const again = () => {
      boot(id);
      if (loopMs === undefined) return;
      machines.down(need(id), 'reboot');
      next(id, again, loopMs);
    };
    next(id, again, timing.bootMs);
  }

  function remove(id: string, slot: 'free' | 'gone' | 'broken' = 'free') {
    const device = devices.get(id);
    if (!device) return;
    down(id, 'gone');
    devices.delete(id);
    formerIds.unshift(id);
    const { reservationId } = device;
    bySlot.delete(reservationId);
    const held = slots.get(reservationId);
    if (slot === 'gone') slots.delete(reservationId);
    else if (held) slots.set(reservationId, { ...held, broken: slot === 'broken' });
  }

  return {
    slots: () => [...slots.values()],
    slot: (id) => slots.get(id),
    knows: (slotId) => everKnown.has(slotId),
    devices: () => [...devices.values()],
    device: (id) => devices.get(id),
    onSlot: (slotId) => devices.get(bySlot.get(slotId) ?? ''),
    witnessed,
    formerIds: () => formerIds,
    change: (id, patch) => void change(id, patch),
    add({ reservationId, hostname, tags, fate, id: given, isUp, ...installation }) {
      made += 1;
      const id = given ?? newId('device', made);
      const { plan } = slots.get(reservationId)!;
      const named = { id, number: made, reservationId, hostname, plan, tags, installation };
      devices.set(id, { ...FRESH, ...named });
      noteWitness(named);
      bySlot.set(reservationId, id);
      install(id, fate);
      if (isUp) {
        cancel(id);
        comeUp(id);
      }
      return need(id);
    },
    reinstall(id, installation, { fate, progress }) {
      down(id, 'reinstall');
      change(id, { status: 'Provisioning', failed: false, upAtMs: null, installation, progress });
      install(id, fate);
    },
    fail,
    reboot,
    power(id, want) {
      down(id, 'off');
      if (want === 'off') change(id, { power: 'off', status: 'Stopped' });
      else {
        change(id, { power: 'on', status: 'Running' });
        next(id, () => boot(id), timing.bootMs);
      }
    },
    give(id) {
      if (timing.deprovisioningMs === 0) return remove(id);
      down(id, 'off');
      change(id, { status: 'Missing' });
      next(id, () => remove(id), timing.deprovisioningMs);
    },
    remove,
    async close() {
      for (const id of [...timers.keys()]) cancel(id);
      await machines.close();
    },
  };
}

const FRESH = {
  stale: null,
  status: 'Provisioning',
  failed: false,
  power: 'off',
  progress: 0,
  addresses: [],
  boots: 0,
  bootId: '',
  upAtMs: null,
  leaving: null,
} as const satisfies Partial<StubDevice>;
