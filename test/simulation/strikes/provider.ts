import { PROVIDER_STATUSES } from '../../../src/domain/machine.ts';
import {
  CALL_FAULTS,
  DEVICE_FAULTS,
  FAULTS,
  OPERATIONS,
  type FaultKind,
} from '../../doubles/provider/faults.ts';
import type { SimulatedDevice } from '../../doubles/provider/world.ts';
import type { Simulation } from '../simulation.ts';
import { deviceAt, slotAt } from '../targets.ts';
import {
  between,
  figures,
  lasting,
  MINUTE,
  minutes,
  pick,
  target,
  type Figures,
  type StrikeKindSpec,
} from './kind.ts';

const kindsOf = <Kind extends FaultKind>(
  faults: Readonly<Record<Kind, unknown>>,
): readonly Kind[] => Object.keys(faults) as Kind[];
/** Faults that hit a single operation, with each such operation. */
const OPERATION_FAULTS = kindsOf(FAULTS).flatMap((kind) =>
  (FAULTS[kind].operations ?? []).map((operation) => [kind, operation] as const),
);
const LIST_FAULTS = OPERATION_FAULTS.filter(([, operation]) => operation === 'list');
const ACTION_FAULTS = OPERATION_FAULTS.filter(([, operation]) => operation !== 'list');
/** Reasons for which all calls fail; `unauthorized`: a token or certificate expired. */
const OUTAGES: readonly FaultKind[] = ['server-error', 'unauthorized', 'rate-limit', 'hangs'];

const onDevice = (
  perHour: number,
  draw: StrikeKindSpec['draw'],
  strike: (device: SimulatedDevice, numbers: Figures, simulation: Simulation) => string | null,
): StrikeKindSpec => ({
  perHour,
  draw,
  strike(simulation, numbers) {
    const device = deviceAt(simulation, numbers['which']!);
    return device && strike(device, numbers, simulation);
  },
});

export const PROVIDER = {
  'provider-call-fails': {
    perHour: 4,
    draw: (random) => ({ ...figures('fault', 'operation')(random), times: between(random, 1, 6) }),
    strike({ world }, { fault, operation, times }) {
      const rule = {
        fault: pick(kindsOf(CALL_FAULTS), fault!),
        operation: pick([undefined, ...OPERATIONS], operation!),
        times: times!,
      };
      world.provider.inject(rule);
      return `${rule.fault} on the next ${times} calls ${rule.operation ?? 'of any kind'}`;
    },
  },
  'provider-lists-wrongly': {
    perHour: 2,
    draw: (random) => ({ fault: random.next(), times: between(random, 1, 8) }),
    strike({ world }, { fault, times }) {
      const [kind] = pick(LIST_FAULTS, fault!);
      world.provider.inject({ fault: kind, times: times! });
      return `${kind} in the next ${times} listings`;
    },
  },
  'provider-acts-wrongly': {
    perHour: 1.5,
    draw: (random) => ({ fault: random.next(), times: between(random, 1, 4) }),
    strike({ world }, { fault, times }) {
      const [kind, operation] = pick(ACTION_FAULTS, fault!);
      world.provider.inject({ fault: kind, operation, times: times! });
      return `${kind} on the next ${times} calls ${operation}`;
    },
  },
  'provider-away': {
    perHour: 0.3,
    draw: lasting(MINUTE, 40 * MINUTE, 'fault'),
    strike({ world, later }, { fault, forMs }) {
      const kind = pick(OUTAGES, fault!);
      // Drivers obey a reported rate limit, so it is no longer than the outage.
      world.provider.inject({ fault: kind, ...(kind === 'rate-limit' && { amount: forMs! }) });
      later(() => world.provider.faults.clear(kind), forMs!);
      return `every call ends with ${kind} for ${minutes(forMs!)}`;
    },
  },
  'device-shown-wrongly': onDevice(
    0.4,
    lasting(5 * MINUTE, 60 * MINUTE, 'fault'),
    ({ id }, { fault, forMs }, { world, later }) => {
      const kind = pick(kindsOf(DEVICE_FAULTS), fault!);
      world.provider.inject({ fault: kind, device: id });
      later(() => world.provider.faults.clear(kind), forMs!);
      return `${kind} of device ${id} for ${minutes(forMs!)}`;
    },
  ),
  'power-unknown': onDevice(
    0.3,
    lasting(5 * MINUTE, 120 * MINUTE),
    ({ id }, { forMs }, { world, later }) => {
      world.provider.powerUnknown.add(id);
      later(() => world.provider.powerUnknown.delete(id), forMs!);
      return `whether device ${id} has power is unknown for ${minutes(forMs!)}`;
    },
  ),
  'controller-hangs': onDevice(0.4, target, ({ id }, _, { world }) => {
    world.provider.hung.add(id);
    return `the controller of device ${id} hangs until it is restarted`;
  }),
  'status-changes': onDevice(0.3, figures('which', 'status'), ({ id }, { status }, { world }) => {
    const now = pick(PROVIDER_STATUSES, status!);
    world.provider.setStatus(id, now);
    return `device ${id} is shown as ${now}`;
  }),
  'switched-off': onDevice(0.2, target, ({ id, power }, _, { world }) => {
    if (power === 'off') return null;
    world.provider.world.power(id, 'off');
    return `somebody switches device ${id} off`;
  }),
  'device-vanishes': onDevice(0.3, figures('which', 'slot'), ({ id }, { slot }, { world }) => {
    const withReservation = slot! < 0.3;
    world.provider.remove(id, { withReservation });
    return `device ${id} vanishes${withReservation ? ' with its reservation' : ''}`;
  }),
  'slot-is-snatched': {
    perHour: 0.3,
    draw: figures('which', 'away'),
    strike(simulation, { which, away }) {
      const { world } = simulation;
      const slot = slotAt(simulation, which!);
      const device = deviceAt(simulation, which!);
      if (!slot || (device && away! < 0.5)) return null;
      if (device) world.provider.remove(device.id);
      world.provider.snatch(slot);
      return `a stranger's device takes ${slot}${device ? ' in place of ours' : ''}`;
    },
  },
  'tag-vanishes': onDevice(0.2, figures('which', 'whose'), ({ id }, { whose }, { world }) => {
    const owner = whose! < 0.5 ? null : 'other-other-otherotherothero';
    world.provider.setOwner(id, owner);
    return `device ${id} ${owner ? 'gets the tag of another owner' : "loses its owner's tag"}`;
  }),
  'address-changes': onDevice(
    0.3,
    (random) => ({ which: random.next(), last: between(random, 1, 250) }),
    ({ id, addresses: [before] }, { last }, { world }) => {
      const address = `198.51.100.${last}`;
      if (!before || world.hosts.has(`${address}:22`)) return null;
      if (!world.hosts.has(`${before}:22`)) return null;
      world.move(id, address);
      return `device ${id} moves from ${before} to ${address}`;
    },
  ),
} satisfies Record<string, StrikeKindSpec>;
